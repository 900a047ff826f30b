"""One run, checked and summed up."""

from dataclasses import dataclass
from pathlib import Path

from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.summary.allowed import allowed_of_queue
from zonelab.analysis.summary.queue_summary import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A run that was checked: the heading of its column, its directory, its verdict and its figures."""

    title: str
    directory: Path
    verdict: Verdict
    summary: Summary

    @property
    def lacking_means(self) -> tuple[str, ...]:
        """The classes that are not judged, but for those that need a bound that the scenario does not give."""
        return tuple(name for name in self.verdict.not_judged if name != MessageClass.LATE)

    @property
    def allowed(self) -> tuple[str, ...]:
        """Classes that the scenario allows, with too many cases to be left out of the headline, in words."""
        return allowed_of_queue(self.verdict)

    @property
    def words(self) -> str:
        """The verdict in one word."""
        return self.verdict.word
