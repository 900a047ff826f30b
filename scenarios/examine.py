"""What follows a run, from its directory alone: verdict, figures, plots, report."""

from dataclasses import dataclass
from pathlib import Path

from analysis.checkers.queue import check
from analysis.rundir import RunDirectory
from analysis.summary import summarise
from scenarios.table import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Illustrations:
    """Files made for the eye."""

    plots: tuple[Path, ...] = ()
    report: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.plots, *([self.report] if self.report else []))


def title_of(directory: Path) -> str:
    return RunDirectory.open(directory).info.level


def examine(directory: Path, *, title: str) -> Result:
    """Check the run, write ``verdict.json`` and ``summary.json``. Raises ``analysis.rundir.RunError``."""
    verdict = check(directory)
    return Result(title=title, directory=directory, verdict=verdict, summary=summarise(directory))


def illustrate(directory: Path) -> Illustrations:
    return Illustrations()
