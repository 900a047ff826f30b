"""Confirmation of the best settings on real zones: predicted and measured medians, as a table and as JSON."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.comparison.confirmation import ConfirmationStatus, MedianPair
from zonelab.scenarios.arms import ZoneKind
from zonelab.studies.reporting.footer import INTERRUPTED
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.settings import lines_of

ONLY_SIMULATED = (
    "Nothing here confirms a throughput limit or power failures, which only simulation has, "
    "or slow servers, which wait in another way here."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmationRow:
    """One setting with one kind of run. ``why``: it is not confirmed. ``runs``: directories of those on real zones."""

    setting: str
    kind: str
    status: ConfirmationStatus
    why: str = ""
    pairs: tuple[MedianPair, ...] = ()
    runs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "kind": self.kind,
            "status": str(self.status),
            "why": self.why,
            "medians": [pair.to_json() for pair in self.pairs],
            "runs": list(self.runs),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """``cautions``: what must be said of the machine, a line a run. ``complete`` is False if Ctrl-C ended it.

    ``failure``: why real zones could not be run.
    """

    on: ZoneKind
    rows: tuple[ConfirmationRow, ...]
    cautions: tuple[str, ...] = ()
    complete: bool = True
    failure: str | None = None

    @property
    def holds(self) -> bool:
        """Return whether all is confirmed that can be."""
        wanted = [row for row in self.rows if row.status is not ConfirmationStatus.NOT_CONFIRMABLE]
        return self.complete and bool(wanted) and all(row.status is ConfirmationStatus.CONFIRMED for row in wanted)

    def to_json(self) -> dict[str, Any]:
        return {
            "on": str(self.on),
            "holds": self.holds,
            "complete": self.complete,
            "failure": self.failure,
            "rows": [row.to_json() for row in self.rows],
            "sentences": list(self.sentences()),
        }

    def print(self) -> None:
        """Print a line a median; the first one of a row has the rest."""
        lines = [(row, pair) for row in self.rows for pair in row.pairs or (None,)]
        ReportTable(columns=_COLUMNS, rows=lines, names=3).print()

    def sentences(self) -> Iterator[str]:
        """Yield what the runs on real zones showed, in the words of the report."""
        in_words = {status: sum(row.status is status for row in self.rows) for status in ConfirmationStatus}
        counted = ", ".join(f"{count} {status}" for status, count in in_words.items() if count)
        yield f"On real zones ({self.on}): {counted}. Medians are geometric means over runs, with 95 % intervals."
        if self.cautions:
            others = f" So it was in {len(self.cautions) - 1} more runs." if self.cautions[1:] else ""
            yield (
                f"{self.cautions[0]}{others} Such runs count only where too few others are of their kind, and are made "
                "again next time."
            )
        yield ONLY_SIMULATED
        if not self.complete and self.failure is None:
            yield INTERRUPTED


_Line = tuple[ConfirmationRow, MedianPair | None]


def _once(value: Callable[[ConfirmationRow], str]) -> Callable[[_Line], str]:
    return lambda line: value(line[0]) if line[1] is None or line[1] is line[0].pairs[0] else ""


def _of_pair(value: Callable[[MedianPair], object]) -> Callable[[_Line], str]:
    return lambda line: "" if line[1] is None else str(value(line[1]))


_COLUMNS = (
    Column("setting", _once(lambda row: lines_of(row.setting))),
    Column("runs with", _once(lambda row: row.kind)),
    Column("median of", _of_pair(lambda pair: pair.operation)),
    Column("predicted, ms", _of_pair(lambda pair: pair.predicted)),
    Column("measured, ms", _of_pair(lambda pair: pair.measured)),
    Column("apart", _of_pair(lambda pair: pair.difference)),
    Column("", _once(lambda row: f"{row.status}: {row.why}" if row.why else str(row.status))),
)
