"""Results on the order of messages: rows of a table of results, and a table of partitions."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.section import OrderSection, Standstill
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.summary.partitions import PartitionState
from zonelab.engine.units import NS_PER_MS
from zonelab.studies.reporting.console import BAD, Cell, styled
from zonelab.studies.reporting.report_table import Column, ReportTable


def order_rows(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, list[Cell]]]:
    """A row a property, with how often it could have been broken, and one of the partitions that stood still."""
    for name in Property:
        yield f"{name} {name.label}", [_cell(verdict.order, name) for verdict in verdicts]
    yield "partitions stood still", [_blocked(verdict.order) for verdict in verdicts]


def _cell(order: OrderSection | None, name: Property) -> Cell:
    if order is None:
        return "no order"
    held, tries = order.of(name), order.opportunities[name]
    if held == "not exercised":
        return "not exercised"
    if held == "holds":
        return f"holds in {tries:,}"
    text = f"broken {order.counts[name]:,} in {tries:,}"
    return styled(text, BAD) if name in order.forbid else text


def _blocked(order: OrderSection | None) -> str:
    if order is None:
        return "no order"
    causes = Counter(one.cause for one in order.blocked)
    return ", ".join(f"{count:,} {cause}" for cause, count in causes.items()) or "none"


def partition_table(states: Sequence[PartitionState], *, title: str) -> Table:
    """Return a row for each group and partition, with the longest standstill, and how many there were."""
    return ReportTable(columns=_COLUMNS, rows=states, title=title).terminal()


def _stood(standstills: Sequence[Standstill]) -> str:
    if not standstills:
        return "no"
    longest = standstills[0]
    begun_s = longest.begin_ns / NS_PER_MS / 1000
    lasted = "to the end" if longest.end_ns is None else f"for {longest.lasted_ns / NS_PER_MS:,.0f} ms"
    behind = f"{longest.messages:,} messages, {longest.keys:,} other keys behind"
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
