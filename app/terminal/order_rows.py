"""What became of the order of messages: rows of a table of results, and a table of partitions."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table

from zonelab.analysis.checkers.order.properties import LABELS, Property
from zonelab.analysis.checkers.order.verdict import OrderVerdict
from zonelab.analysis.checkers.order.waiting import Standstill
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.summary.partitions import PartitionState
from zonelab.engine.units import NS_PER_MS
from zonelab.studies.reporting.console import BAD, Cell, styled


def order_rows(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, list[Cell]]]:
    """A row a property, with how often it could have been broken, and one of the partitions that stood still."""
    for name in Property:
        yield f"{name} {LABELS[name]}", [_cell(verdict.order, name) for verdict in verdicts]
    yield "partitions stood still", [_blocked(verdict.order) for verdict in verdicts]


def _cell(order: OrderVerdict | None, name: Property) -> Cell:
    if order is None:
        return "no order"
    held, tries = order.of(name), order.opportunities[name]
    if held == "not exercised":
        return "not exercised"
    if held == "holds":
        return f"holds in {tries:,}"
    text = f"broken {order.counts[name]:,} in {tries:,}"
    return styled(text, BAD) if name in order.forbid else text


def _blocked(order: OrderVerdict | None) -> str:
    if order is None:
        return "no order"
    causes = Counter(one.cause for one in order.blocked)
    return ", ".join(f"{count:,} {cause}" for cause, count in causes.items()) or "none"


def partition_table(states: Sequence[PartitionState], *, title: str) -> Table:
    """A row for each group and partition; the longest standstill is told, and how many there were."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for heading in ("group", "partition", "owner", "token"):
        table.add_column(heading, overflow="fold")
    for heading in ("cursor", "end of log", "lag"):
        table.add_column(heading, justify="right")
    table.add_column("stood still", overflow="fold")
    for state in states:
        token = "–" if state.token is None else ".".join(map(str, state.token))
        cursor = "–" if state.cursor is None else f"{state.cursor:,}"
        where = (state.group, state.partition, state.owner or "none", token)
        table.add_row(*where, cursor, f"{state.log_end:,}", f"{state.lag:,}", _stood(state.standstills))
    return table


def _stood(standstills: Sequence[Standstill]) -> str:
    if not standstills:
        return "no"
    longest = standstills[0]
    begun_s = longest.begin_ns / NS_PER_MS / 1000
    lasted = "to the end" if longest.end_ns is None else f"for {longest.lasted_ns / NS_PER_MS:,.0f} ms"
    behind = f"{longest.messages:,} messages, {longest.keys:,} other keys behind"
    more = f"; {len(standstills) - 1:,} more" if len(standstills) > 1 else ""
    return f"{longest.cause}: offset {longest.offset:,} from {begun_s:.2f} s {lasted}, {behind}{more}"
