"""One run, checked and summed up."""

from dataclasses import dataclass
from pathlib import Path

from analysis.checkers.verdict import Verdict
from analysis.summary.queue_summary import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A run that was checked: the heading of its column, its directory, its verdict and its figures."""

    title: str
    directory: Path
    verdict: Verdict
    summary: Summary

    @property
    def words(self) -> str:
        """The verdict in one word."""
        return {True: "valid", False: "invalid", "unknown": "unknown"}[self.verdict.valid]
