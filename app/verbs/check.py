"""Steps after a run, from its directory alone: verdict, figures, plots, report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import result_table
from zonelab.app.terminal.workload_table import access_table, counterexamples
from zonelab.scenarios.errors import explain
from zonelab.scenarios.logs import LOGGER
from zonelab.studies.reporting.console import print_lines, print_table

if TYPE_CHECKING:
    from zonelab.analysis.report import Lenses


@dataclass(frozen=True, kw_only=True, slots=True)
class Illustrations:
    """Files made for the eye; ``problem`` says what kept them from being made. The verdict does not depend on them."""

    plots: tuple[Path, ...] = ()
    report: Path | None = None
    problem: str | None = None

    @classmethod
    def kept(cls, directory: Path) -> "Illustrations":
        """Return those that are in the directory of a run."""
        report = directory / "report.html"
        if not report.exists():
            return cls(problem=f"no report; zonelab report {directory} makes one")
        return cls(plots=tuple(sorted((directory / "plots").glob("*.png"))), report=report)

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.plots, *([self.report] if self.report else []))


def print_result(result: Result, *, title: str) -> None:
    """Print the table of a run, the sentences on it, and the smallest counterexamples of a register as pictures."""
    queue = "queue" in result.verdict.sections
    print_table((result_table if queue else access_table)([result], title=title))
    print_lines("", *narrative([result]), *([] if queue else counterexamples(result.verdict)), "")


def illustrate(directory: Path, *, lenses: "Lenses | None" = None, stage: Stage = unheard) -> Illustrations:
    """Draw a checked run and write its report, plots included, with the ``lenses`` that there are."""
    from zonelab.analysis.report import build_report  # loads matplotlib

    pa.default_memory_pool().release_unused()  # what checking a long run took, some 50 MB
    try:
        report = build_report(directory, lenses=lenses, stage=stage)
    except Exception as error:  # whatever keeps a run from being drawn must not hide its verdict
        LOGGER.error("the report of %s could not be made", directory, exc_info=error)
        return Illustrations(problem=f"the report could not be made: {explain(error)}")
    return Illustrations.kept(report.parent)


def compare(results: Sequence[Result], folder: Path) -> Illustrations:
    """Draw what distinguishes checked runs, into ``folder``. Raises ``zonelab.analysis.runs.errors.RunError``."""
    from zonelab.analysis.figures.plots import plot_comparison
    from zonelab.analysis.report import build_comparison

    runs = [result.directory for result in results]
    folder.mkdir(parents=True, exist_ok=True)
    return Illustrations(
        plots=tuple(plot_comparison(runs, folder)), report=build_comparison(runs, folder / "report.html")
    )
