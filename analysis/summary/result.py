"""One run, checked and summed up."""

from dataclasses import dataclass
from pathlib import Path

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.summary.allowed import allowed_of
from zonelab.analysis.summary.run_summary import Summary, checked, load_summary, summarise


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A run that was checked: the heading of its column, its directory, its verdict and its figures."""

    title: str
    directory: Path
    verdict: Verdict
    summary: Summary

    @classmethod
    def examined(cls, directory: Path, *, title: str, stage: Stage = unheard) -> "Result":
        """Check the run and write ``verdict.json`` and ``summary.json``. Raises ``RunError``."""
        verdict = check(directory, stage=stage)
        return cls(title=title, directory=directory, verdict=verdict, summary=summarise(directory))

    @classmethod
    def recorded(cls, run: RunDirectory) -> "Result":
        """Return the result of a run as last checked, under the name of its level. Raises ``RunError``."""
        return cls(title=run.info.level, directory=run.path, verdict=checked(run), summary=load_summary(run))

    @property
    def lacking_means(self) -> tuple[str, ...]:
        """The classes that are not judged, but for those that need a bound that the scenario does not give."""
        return tuple(name for name in self.verdict.not_judged if name != MessageClass.LATE)

    @property
    def allowed(self) -> tuple[str, ...]:
        """Classes that the scenario allows, with too many cases to be left out of the headline, in words."""
        return allowed_of(self.verdict)

    @property
    def words(self) -> str:
        """The verdict in one word."""
        return self.verdict.word
