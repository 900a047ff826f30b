"""What became of the best settings on real zones: predicted and measured medians, as a table and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.comparison.confirmation import Confirmed, MedianPair
from zonelab.scenarios.arms import ZoneKind
from zonelab.studies.reporting.console import print_rows
from zonelab.studies.sweep.settings import lines_of

HEADINGS = ("setting", "runs with", "median of", "predicted, ms", "measured, ms", "apart", "")

ONLY_SIMULATED = (
    "Nothing here confirms a throughput limit or power failures, which only simulation has, "
    "or slow servers, which wait in another way here."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmedRow:
    """One setting with one kind of run. ``why``: it is not confirmed. ``runs``: directories of those on real zones."""

    setting: str
    kind: str
    status: Confirmed
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

    def lines(self) -> Iterator[tuple[str, ...]]:
        """A line a median; the first one has the rest."""
        named = (lines_of(self.setting), self.kind)
        verdict = f"{self.status}: {self.why}" if self.why else str(self.status)
        for pair in self.pairs:
            yield *named, str(pair.operation), str(pair.predicted), str(pair.measured), pair.difference, verdict
            named, verdict = ("", ""), ""
        if not self.pairs:
            yield *named, "", "", "", "", verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """``cautions``: what must be said of the machine, a line a run. ``complete`` is False if Ctrl-C ended it.

    ``failure``: why real zones could not be run.
    """

    on: ZoneKind
    rows: tuple[ConfirmedRow, ...]
    cautions: tuple[str, ...] = ()
    complete: bool = True
    failure: str | None = None

    @property
    def holds(self) -> bool:
        """Whether all is confirmed that can be."""
        wanted = [row for row in self.rows if row.status is not Confirmed.NOT_CONFIRMABLE]
        return self.complete and bool(wanted) and all(row.status is Confirmed.CONFIRMED for row in wanted)

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
        print_rows(HEADINGS, (line for row in self.rows for line in row.lines()), ())

    def sentences(self) -> Iterator[str]:
        """What the runs on real zones showed, in the words of the report."""
        in_words = {status: sum(row.status is status for row in self.rows) for status in Confirmed}
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
            yield "The confirmation was broken off: the same command goes on from here."
