"""Steps after a run, from its directory alone: verdict, figures, plots, report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from rich.table import Table

from zonelab.analysis.checkers.check import check
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.access_summary import summarise_accesses
from zonelab.analysis.summary.conclusions import meanings, overload_words
from zonelab.analysis.summary.queue_summary import summarise
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import result_table
from zonelab.app.terminal.workload_table import AccessResult, access_table
from zonelab.scenarios.errors import explain
from zonelab.scenarios.logs import LOGGER


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


def examine(directory: Path, *, title: str) -> Result | AccessResult:
    """Check the run, write ``verdict.json`` and ``summary.json``. Raises ``zonelab.analysis.runs.errors.RunError``."""
    verdict = check(directory)
    if "consistency" in verdict.sections:
        return AccessResult(title=title, directory=directory, verdict=verdict, summary=summarise_accesses(directory))
    return Result(title=title, directory=directory, verdict=verdict, summary=summarise(directory))


def tabulated(result: Result | AccessResult, *, title: str) -> Table:
    if isinstance(result, AccessResult):
        return access_table([result], title=title)
    return result_table([result], title=title)


def sentences(result: Result | AccessResult) -> list[str]:
    """Sentences beside the table: on overload first, then the verdict's reasons, then their meaning."""
    if isinstance(result, AccessResult):
        return [*result.verdict.reasons, *_allowed(result), *result.notes]
    return [*overload_words([result]), *result.verdict.reasons, *_allowed(result), *meanings([result])]


def _allowed(result: Result | AccessResult) -> list[str]:
    return [f"Allowed by this scenario, and more than 1 in 100: {', '.join(result.allowed)}."] if result.allowed else []


def illustrate(directory: Path) -> Illustrations:
    """Draw a checked run and write its report, plots included."""
    from zonelab.analysis.report import build_report  # loads matplotlib

    pa.default_memory_pool().release_unused()  # what checking a long run took, some 50 MB
    try:
        report = build_report(directory)
    except Exception as error:  # whatever keeps a run from being drawn must not hide its verdict
        LOGGER.error("the report of %s could not be made", directory, exc_info=error)
        return Illustrations(problem=f"the report could not be made: {explain(error)}")
    return Illustrations(plots=tuple(sorted((report.parent / "plots").glob("*.png"))), report=report)


def compare(results: Sequence[Result], folder: Path) -> Illustrations:
    """Draw what distinguishes checked runs, into ``folder``. Raises ``zonelab.analysis.runs.errors.RunError``."""
    from zonelab.analysis.figures.plots import plot_comparison
    from zonelab.analysis.report import build_comparison

    runs = [result.directory for result in results]
    folder.mkdir(parents=True, exist_ok=True)
    return Illustrations(
        plots=tuple(plot_comparison(runs, folder)), report=build_comparison(runs, folder / "report.html")
    )
