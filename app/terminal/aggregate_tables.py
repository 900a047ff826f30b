"""The figures of many runs as tables on the terminal."""

from collections.abc import Iterator, Mapping

from rich.table import Table

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.number_text import counted, digits, share_interval
from zonelab.analysis.spark.aggregates import Aggregates, OperationFigures, OrderFigures, SettingFigures
from zonelab.analysis.spark.inputs import left_out_words


def words_before(aggregates: Aggregates) -> Iterator[str]:
    """Yield what must be known before the tables are read: what was left out, and what the settings differ in."""
    if aggregates.left_out:
        yield left_out_words(aggregates.left_out.values())
    for left in aggregates.left_out.values():
        yield f"  {left.why}"
    for setting, differs in aggregates.differs.items():
        yield f"{setting}: {differs}" if differs else setting


def message_table(aggregates: Aggregates, *, title: str = "messages") -> Table:
    """A column a setting; of classes also in how many runs there was a case, with its interval if there are several."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for row in aggregates.settings:
        table.add_column(f"{row.setting} ({counted(row.runs, 'run')})", justify="right")
    first = aggregates.settings[0]
    for name in first.totals:
        table.add_row(name, *(f"{row.totals[name]:,}" for row in aggregates.settings))
    table.add_section()
    for name in first.counts:
        table.add_row(name, *(_cases(row, name) for row in aggregates.settings))
    order = list(dict.fromkeys(name for row in aggregates.settings for name in row.order))
    if order:
        table.add_section()
    for name in order:
        label = f"{name} {Property(name).label}"
        table.add_row(label, *(_order_cases(row.order.get(name)) for row in aggregates.settings))
    return table


def _order_cases(figures: OrderFigures | None) -> str:
    """Cases and opportunities; without an opportunity there is nothing to say."""
    if figures is None:
        return "-"
    if not figures.chances and not figures.cases:
        return "not exercised"
    found = f"{figures.cases:,}, {figures.chances:,} chances"
    if figures.runs == 1:
        return found
    return f"{found} in {counted(figures.runs_with, 'run')} ({share_interval(figures.runs_with, figures.runs)})"


def _cases(row: SettingFigures, name: str) -> str:
    if row.runs == 1:
        return f"{row.counts[name]:,}"
    hits = row.runs_with[name]
    return f"{row.counts[name]:,} in {counted(hits, 'run')} ({share_interval(hits, row.runs)})"


def operation_table(aggregates: Aggregates, *, title: str = "operations") -> Table:
    headings = ("setting", "operation", "zone", "ok", "fail", "info", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms")
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in headings[:3] else "right")
    for row in aggregates.operations:
        table.add_row(
            row.setting, row.f, row.zone, *(f"{count:,}" for count in (row.ok, row.fail, row.info)), *_latencies(row)
        )
    return table


def _latencies(row: OperationFigures) -> list[str]:
    latency_ms: Mapping[str, float] = row.latency_ms
    return [digits(latency_ms.get(name)) for name in ("p50", "p90", "p99", "p999")]
