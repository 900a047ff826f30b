"""Rows of the table of known failures: how often each failed at a version, as it was measured."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import share_interval
from zonelab.analysis.proportions import share_json
from zonelab.analysis.whole_files import write_whole
from zonelab.cluster.process.file_lock import lock_held
from zonelab.studies.reporting.report_table import Column, ReportTable

MEASURED = Path(__file__).parent / "measured.json"
"""The rows that ship."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """Runs of one failure at one version, at one level on so many zones, with its fault, or without as the ``control``.

    ``hit``: runs in which each fault of a program found its command, None if there is no such fault; of others nothing
    follows. ``runs``: those of them with a verdict; ``failing``: those that showed it; ``undecided``: all others.
    ``took_s``: median length of a run. ``date``: when the last was made.
    """

    failure: str
    queue: str
    version: str
    control: bool
    level: str
    runs: int
    failing: int
    undecided: int
    hit: int | None
    took_s: float
    date: str
    zones: int = 1

    @property
    def key(self) -> tuple[str, str, bool, int, str]:
        """Return the parts in which a later measurement of the same is equal."""
        return self.failure, self.version, self.control, self.zones, self.level

    @property
    def share(self) -> str:
        return f"{self.failing} of {self.runs}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "interval": share_json(self.failing, self.runs)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "MeasuredRow":
        return cls(**{name: one for name, one in value.items() if name != "interval"})


def read_rows(path: Path = MEASURED) -> list[MeasuredRow]:
    """Return the rows in a file; none if it is not there."""
    if not path.is_file():
        return []
    return [MeasuredRow.from_json(one) for one in json.loads(path.read_text(encoding="utf-8"))["rows"]]


def keep_rows(rows: Iterable[MeasuredRow], path: Path = MEASURED) -> None:
    """Put ``rows`` into the file, a line each, in place of older ones of the same version, level and zones.

    Rows of no run at all, as of a queue that did not start, are left out. Raises ``OSError``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_held(path.parent):
        by_key = {row.key: row for row in (*read_rows(path), *rows) if row.runs or row.undecided}
        lines = ",\n".join(json.dumps(by_key[key].to_json()) for key in sorted(by_key))
        write_whole(path, f'{{"rows": [\n{lines}\n]}}\n')


def quickest(rows: Iterable[MeasuredRow], number: int) -> list[str]:
    """Return the names of ``number`` failures: those whose longest runs on one zone are the shortest."""
    longest_s: dict[str, float] = {}
    for row in rows:
        if row.zones == 1:
            longest_s[row.failure] = max(row.took_s, longest_s.get(row.failure, 0.0))
    return sorted(longest_s, key=lambda name: longest_s[name])[:number]


def rows_table(rows: Sequence[MeasuredRow]) -> ReportTable[MeasuredRow]:
    """Return the table of ``rows``: those with the fault, each beside its control."""
    controls = {row.key: row for row in rows if row.control}
    shown = [row for row in rows if not row.control]

    def control_of(row: MeasuredRow) -> str | None:
        found = controls.get(replace(row, control=True).key)
        return None if found is None else found.share

    columns: list[Column[MeasuredRow]] = [
        Column("failure", lambda row: row.failure),
        Column("version", lambda row: row.version),
        Column("zones", lambda row: row.zones, number=True),
        Column("level", lambda row: row.level),
        Column("failing", lambda row: row.share, number=True),
        Column("share (95 %)", lambda row: share_interval(row.failing, row.runs), number=True),
        Column("undecided", lambda row: row.undecided, number=True),
        Column("control", control_of, number=True),
        Column("date", lambda row: row.date),
    ]
    return ReportTable(columns=columns, rows=shown, section=lambda row: row.failure)
