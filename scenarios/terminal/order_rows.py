"""What became of the order of messages, as rows of a table of results."""

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.checkers.order.properties import LABELS, Property
from analysis.checkers.order.verdict import OrderVerdict
from analysis.checkers.verdict import Verdict


def order_rows(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, list[str]]]:
    """A row a property, with how often it could have been broken, and one of the partitions that stood still."""
    for name in Property:
        yield f"{name} {LABELS[name]}", [_cell(verdict.order, name) for verdict in verdicts]
    yield "partitions stood still", [_blocked(verdict.order) for verdict in verdicts]


def _cell(order: OrderVerdict | None, name: Property) -> str:
    if order is None:
        return "no order"
    held, tries = order.of(name), order.opportunities[name]
    if held == "not exercised":
        return "not exercised"
    if held == "holds":
        return f"holds in {tries:,}"
    text = f"broken {order.counts[name]:,} in {tries:,}"
    return f"[bold red]{text}[/bold red]" if name in order.forbid else text


def _blocked(order: OrderVerdict | None) -> str:
    if order is None:
        return "no order"
    causes = Counter(one.cause for one in order.blocked)
    return ", ".join(f"{count:,} {cause}" for cause, count in causes.items()) or "none"
