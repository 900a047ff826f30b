"""What follows a run, from its directory alone: verdict, figures, plots, report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.checkers.queue import check
from analysis.rundir import RunDirectory
from analysis.summary import summarise
from scenarios.runner import explain
from scenarios.table import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Illustrations:
    """Files made for the eye; ``problem`` says what kept them from being made. The verdict does not depend on them."""

    plots: tuple[Path, ...] = ()
    report: Path | None = None
    problem: str | None = None

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
    """Draw a checked run."""
    from analysis.plots import plot_run  # loads matplotlib

    try:
        return Illustrations(plots=tuple(plot_run(directory)))
    except Exception as error:  # whatever keeps a run from being drawn must not hide its verdict
        return Illustrations(problem=f"the plots could not be drawn: {explain(error)}")


def compare(results: Sequence[Result], folder: Path) -> tuple[Path, ...]:
    """Draw what distinguishes checked runs, into ``folder``. Raises ``analysis.rundir.RunError``."""
    from analysis.plots import plot_comparison

    folder.mkdir(parents=True, exist_ok=True)
    return tuple(plot_comparison([result.directory for result in results], folder))
