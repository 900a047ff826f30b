"""The report of a study of twins: one table, whose columns each kind of study declares."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self

from zonelab.analysis.number_text import NONE, estimate
from zonelab.analysis.proportions import proportion_interval, share_json
from zonelab.studies.guarantees.paired import PairedStudy, Pairs, Row, RowResult
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedReport(StudyReport, Generic[Row]):
    """A study of twins; a row of the table is one of the study's with its result."""

    study: PairedStudy[Row]

    @classmethod
    def of_pairs(
        cls, pairs: Pairs[Row], *, runs: Path, command: str, out: Path | None = None, where: Where = HERE
    ) -> Self:
        """Conduct the experiment of ``pairs`` and compare them; see ``StudyReport.of``."""
        return cls.of(
            pairs.experiment,
            lambda done, _: {"study": pairs.compared(done)},
            runs=runs,
            command=command,
            out=out,
            where=where,
        )

    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[tuple[Row, RowResult]]]:
        return [ReportTable(columns=self._columns(), rows=[row for row in self.study.rows.items() if self._shown(row)])]

    def _results(self) -> dict[str, Any]:
        return {"rows": ReportTable(columns=self._columns(), rows=list(self.study.rows.items())).to_json()}

    def _shown(self, row: tuple[Row, RowResult]) -> bool:
        """Return whether the table shows ``row``; the JSON has every row."""
        return True

    @abstractmethod
    def _columns(self) -> list[Column[tuple[Row, RowResult]]]:
        """Return the columns of the table."""

    def _failing(self) -> list[Column[tuple[Row, RowResult]]]:
        """Return the columns of how many runs fail."""
        return [
            Column("failing per 1,000 seeds (95 %)", lambda row: _failing_per_1000(row[1])),
            Column(None, lambda row: row[1].runs, name="runs"),
            Column(None, lambda row: row[1].failed_runs, name="failing"),
            Column(None, lambda row: share_json(row[1].failed_runs, row[1].runs), name="share"),
        ]


def per_1000(hits: float, runs: float) -> str:
    """Return ``hits`` of ``runs`` as a whole number of 1,000; a dash without runs."""
    return f"{1000 * hits / runs:,.0f}" if runs else NONE


def _failing_per_1000(result: RowResult) -> str:
    if not result.runs:
        return NONE
    interval, value = proportion_interval(result.failed_runs, result.runs), result.failed_runs / result.runs
    return estimate(value, interval, lambda share: f"{1000 * share:,.0f}")
