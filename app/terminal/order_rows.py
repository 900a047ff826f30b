"""Results on the order of messages: rows of a table of results, and a table of partitions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.section import Standstill
from zonelab.analysis.number_text import counted, digits
from zonelab.analysis.summary.partitions import PartitionState
from zonelab.analysis.summary.result import Result
from zonelab.engine.units import NS_PER_MS
from zonelab.studies.reporting.console import BAD, Cell, styled
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.reporting.side_by_side import FigureRow


def order_figures() -> Iterator[FigureRow[Result]]:
    """Yield a row a property, with how often it could have been broken, and one of the partitions that stood still."""
    for name in Property:
        yield FigureRow(f"{name} {name.label}", partial(_cell, name), "order")
    yield FigureRow("partitions stood still", _blocked, "order")


def _cell(name: Property, result: Result) -> Cell:
    order = result.verdict.order
    if order is None:
        return "no order"
    held, tries = order.of(name), order.opportunities[name]
    if held == "not exercised":
        return "not exercised"
    if held == "holds":
        return f"holds in {tries:,}"
    cases = order.counts[name]  # one opportunity, such as a takeover, may bring many
    text = f"broken {cases:,} in {tries:,}" if cases <= tries else f"broken {cases:,} times"
    return styled(text, BAD) if name in order.forbid else text


def _blocked(result: Result) -> str:
    order = result.verdict.order
    if order is None:
        return "no order"
    causes = Counter(one.cause for one in order.blocked)
    return ", ".join(f"{count:,} {cause}" for cause, count in causes.items()) or "none"


def partition_table(states: Sequence[PartitionState], *, title: str) -> ReportTable[PartitionState]:
    """Return a row for each group and partition, with the longest standstill, and how many there were."""
    return ReportTable(columns=_COLUMNS, rows=states, title=title, names=2)


def _stood(standstills: Sequence[Standstill]) -> str:
    if not standstills:
        return "no"
    longest = standstills[0]
    begun_s = longest.begin_ns / NS_PER_MS / 1000
    lasted = "to the end" if longest.end_ns is None else f"for {digits(longest.lasted_ns / NS_PER_MS)} ms"
    behind = f"{counted(longest.messages, 'message')}, {counted(longest.keys, 'other key')} behind"
    more = f"; {len(standstills) - 1:,} more" if len(standstills) > 1 else ""
    return f"{longest.cause}: offset {longest.offset:,} from {begun_s:.2f} s {lasted}, {behind}{more}"


_COLUMNS = (
    Column[PartitionState]("group", lambda state: state.group),
    Column[PartitionState]("partition", lambda state: state.partition),
    Column[PartitionState]("owner", lambda state: state.owner or "none"),
    Column[PartitionState]("token", lambda state: None if state.token is None else ".".join(map(str, state.token))),
    Column[PartitionState]("cursor", lambda state: state.cursor, number=True),
    Column[PartitionState]("end of log", lambda state: state.log_end, number=True),
    Column[PartitionState]("lag", lambda state: state.lag, number=True),
    Column[PartitionState]("stood still", lambda state: _stood(state.standstills)),
)
