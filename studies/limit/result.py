"""Throughput limits as a table on the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.studies.limit.rows import LimitRow
from zonelab.studies.limit.search import PRECISION
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.reporting.report_table import Column, ReportTable

MEANS = (
    f"The limit is of all zones together, between a rate that was kept up with and one at most {PRECISION - 1:.0%} "
    "above it that was not. Only simulated work takes time: 5 µs a command on servers, unless simulation.service says "
    "otherwise."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitResult(StudyReport):
    """A table of the settings, a row each, and what its figures are."""

    rows: tuple[LimitRow, ...]

    _TITLE = "Throughput limits"
    _PAGE = "docs/limit.md"
    _UNIT = ("search", "searches")

    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[LimitRow]]:
        return [limit_table(self.rows)]

    def sentences(self) -> Iterator[str]:
        yield f"{MEANS} Seeds {self.seeds.start} to {self.seeds.stop - 1}."
        yield from (f"no limit: {problem}" for problem in self.problems)

    def _results(self) -> dict[str, Any]:
        return {"scenario": self.name, "settings": [row.to_json() for row in self.rows]}


def limit_table(rows: Sequence[LimitRow]) -> ReportTable[LimitRow]:
    """Return a row a setting: the limit, its ratio to the first row's and to the given rate, and what fell behind."""
    first = rows[0].value_per_s

    def ratio(row: LimitRow, other: float | None) -> float | None:
        return None if row.value_per_s is None or other is None else row.value_per_s / other

    return ReportTable(
        columns=[
            Column("setting", lambda row: row.setting),
            Column("limit a second (95 %)", lambda row: row.words),
            Column("beside the first", lambda row: ratio(row, first), number=True),
            Column("beside the load", lambda row: ratio(row, row.given_per_s), number=True),
            Column("what is behind above it", lambda row: sorted(row.behind) or None),
        ],
        rows=rows,
    )
