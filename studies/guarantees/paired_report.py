"""A study of twins as a table on the terminal, as a page of the documentation, and as JSON."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic

from zonelab.analysis.proportions import proportion_interval, share_json
from zonelab.studies.guarantees.page import markdown_rows, provenance
from zonelab.studies.guarantees.paired import PairedStudy, Row, RowResult
from zonelab.studies.guarantees.study_report import StudyReport
from zonelab.studies.reporting.console import print_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedReport(StudyReport[PairedStudy[Row]], Generic[Row]):
    """What every such report has; one kind of study adds its columns and its words.

    ``_PAGE`` has a place for ``{provenance}``, ``{interrupted}``, ``{seeds}``, ``{table}`` and for each of ``_words``.
    """

    _HEADINGS: ClassVar[tuple[str, ...]]
    _PAGE: ClassVar[str]
    _INTERRUPTED: ClassVar[str]

    def print(self) -> None:
        print_rows(self._HEADINGS, self._rows(), self._sentences())

    def page(self, path: Path) -> str:
        return self._PAGE.format(
            provenance=provenance(self.command, runs=self.study.runs, took_s=self.took_s, known=self.study.known),
            interrupted="" if self.study.complete else self._INTERRUPTED,
            seeds=max(result.runs for result in self.study.rows.values()),
            table=markdown_rows(self._HEADINGS, self._rows()),
            **self._words(),
        )

    def _results(self) -> dict[str, Any]:
        return {"rows": [self._json(row, result) for row, result in self.study.rows.items()]}

    @abstractmethod
    def _rows(self) -> Iterator[tuple[str, ...]]:
        """The cells under ``_HEADINGS``."""

    @abstractmethod
    def _json(self, row: Row, result: RowResult) -> dict[str, Any]: ...

    @abstractmethod
    def _words(self) -> dict[str, object]:
        """What only this kind of page says."""

    @abstractmethod
    def _sentences(self) -> Iterator[str]:
        """What stands below the table on the terminal."""


def failing_per_1000(result: RowResult) -> str:
    if not result.runs:
        return "–"
    interval = proportion_interval(result.failed_runs, result.runs)
    low, high = 1000 * interval.low, 1000 * interval.high
    return f"{1000 * result.failed_runs / result.runs:.0f} ({low:.0f} to {high:.0f})"


def failing_json(result: RowResult) -> dict[str, Any]:
    return {
        "runs": result.runs,
        "failing": result.failed_runs,
        "share": share_json(result.failed_runs, result.runs),
    }
