"""The figures of many runs as tables on the terminal."""

from collections.abc import Iterator
from functools import partial

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.number_text import NONE, counted, share_interval
from zonelab.analysis.spark.aggregates import Aggregates, OperationFigures, SettingFigures
from zonelab.analysis.spark.inputs import left_out_words
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.reporting.side_by_side import FigureRow, side_by_side


def words_before(aggregates: Aggregates) -> Iterator[str]:
    """Yield what must be known before the tables are read: what was left out, and what the settings differ in."""
    if aggregates.left_out:
        yield left_out_words(aggregates.left_out.values())
    for left in aggregates.left_out.values():
        yield f"  {left.why}"
    for setting, differs in aggregates.differs.items():
        yield f"{setting}: {differs}" if differs else setting


def message_table(aggregates: Aggregates, *, title: str = "messages") -> ReportTable[FigureRow[SettingFigures]]:
    """A column a setting; of classes also in how many runs there was a case, with its interval if there are several."""
    first, order = aggregates.settings[0], (name for row in aggregates.settings for name in row.order)
    figures = [
        *(FigureRow[SettingFigures](name, partial(_total, name), "totals") for name in first.totals),
        *(FigureRow[SettingFigures](name, partial(_cases, name), "classes") for name in first.counts),
        *(
            FigureRow(f"{name} {Property(name).label}", partial(_order_cases, name), "order")
            for name in dict.fromkeys(order)
        ),
    ]
    return side_by_side(
        figures, aggregates.settings, heading=lambda row: f"{row.setting} ({counted(row.runs, 'run')})", title=title
    )


def _total(name: str, row: SettingFigures) -> int:
    return row.totals[name]


def _order_cases(name: str, row: SettingFigures) -> str:
    """Cases and opportunities; without an opportunity there is nothing to say."""
    figures = row.order.get(name)
    if figures is None:
        return NONE
    if not figures.chances and not figures.cases:
        return "not exercised"
    return f"{figures.cases:,}, {counted(figures.chances, 'chance')}{_in_runs(figures.runs_with, figures.runs)}"


def _cases(name: str, row: SettingFigures) -> str:
    return f"{row.counts[name]:,}{_in_runs(row.runs_with[name], row.runs)}"


def _in_runs(hits: int, runs: int) -> str:
    return "" if runs == 1 else f" in {counted(hits, 'run')} ({share_interval(hits, runs)})"


def operation_table(aggregates: Aggregates, *, title: str = "operations") -> ReportTable[OperationFigures]:
    """Return a row for each operation of each setting and zone."""
    return ReportTable(columns=_OPERATIONS, rows=aggregates.operations, title=title, names=3)


def _latency(heading: str, name: str) -> Column[OperationFigures]:
    return Column(heading, lambda row: row.latency_ms.get(name), number=True)


_OPERATIONS = (
    Column[OperationFigures]("setting", lambda row: row.setting),
    Column[OperationFigures]("operation", lambda row: row.f),
    Column[OperationFigures]("zone", lambda row: row.zone),
    Column[OperationFigures]("ok", lambda row: row.ok, number=True),
    Column[OperationFigures]("fail", lambda row: row.fail, number=True),
    Column[OperationFigures]("info", lambda row: row.info, number=True),
    _latency("p50 ms", "p50"),
    _latency("p90 ms", "p90"),
    _latency("p99 ms", "p99"),
    _latency("p99.9 ms", "p999"),
)
