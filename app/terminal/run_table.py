"""The result of one run, or of several side by side, as a table of metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.table import Table

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import digits
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.order_rows import order_rows
from zonelab.studies.reporting.console import BAD, Cell, styled

COLOURS = {"valid": "green", "invalid": "red", "unknown": "yellow"}


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    value: Callable[[Result], str]
    message_class: MessageClass | None = None


def result_table(results: Sequence[Result], *, title: str) -> Table:
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for result in results:
        table.add_column(result.title, justify="right")
    for section in _SECTIONS:
        for row in section:
            table.add_row(row.label, *(_cell(row, result) for result in results))
        table.add_section()
    if any(result.verdict.order is not None for result in results):
        for label, cells in order_rows([result.verdict for result in results]):
            table.add_row(label, *cells)
        table.add_section()
    verdicts = (verdict_cell(result.words, result.allowed) for result in results)
    table.add_row(styled("verdict", "bold"), *verdicts)
    return table


def verdict_cell(words: str, allowed: Sequence[str]) -> Cell:
    """The verdict in its colour, and in amber, a line each, what of the classes that are ``allowed`` is too much."""
    cell = styled(words, f"bold {COLOURS[words]}")
    for one in allowed:
        cell.append(f"\nwith {one}", style="yellow")
    return cell


def _cell(row: _Row, result: Result) -> Cell:
    text = row.value(result)
    if row.message_class is None or row.message_class not in result.verdict.violated:
        return text
    return styled(text, BAD)


def _total(label: str, name: str) -> _Row:
    return _Row(label, lambda result: f"{getattr(result.verdict.totals, name):,}")


def _count(message_class: MessageClass, label: str | None = None) -> _Row:
    text = label or message_class.value.replace("_", " ")

    def value(result: Result) -> str:
        verdict = result.verdict
        return "not judged" if message_class in verdict.not_judged else f"{verdict.counts[message_class]:,}"

    return _Row(text, value, message_class)


def _latency(f: str, kind: str, label: str) -> _Row:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        quantiles = getattr(operation, kind) if operation is not None else {}
        return " / ".join(digits(quantiles.get(name)) for name in ("p50", "p99"))

    return _Row(label, value)


def _lateness(result: Result) -> str:
    quantiles = result.verdict.queue.lateness_ms.get("all", {})
    return " / ".join(digits(quantiles.get(name)) for name in ("p50", "p99"))


def _overlap(result: Result) -> str:
    return " / ".join(digits(result.verdict.queue.overlap_ms.get(name)) for name in ("p50", "p99", "max"))


def _unavailable(f: str) -> _Row:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        return "–" if operation is None else f"{operation.unavailability_s:.1f}"

    return _Row(f"{f} unavailable, zone-seconds", value)


def _overloaded(result: Result) -> str:
    if not result.summary.has_consumers:
        return "no consumers"
    return " ".join(row.zone for row in result.summary.overloaded) or "none"


_SECTIONS: tuple[tuple[_Row, ...], ...] = (
    (
        _total("messages pushed", "pushed"),
        _total("  acknowledged", "acknowledged"),
        _total("  failed", "failed"),
        _total("  indeterminate", "indeterminate"),
        _total("messages delivered", "delivered"),
    ),
    (
        _count(MessageClass.LOST),
        _count(MessageClass.STUCK),
        _count(MessageClass.NOT_DUE),
        _count(MessageClass.UNSERVED),
        _count(MessageClass.ABANDONED),
        _count(MessageClass.UNEXPECTED),
        _count(MessageClass.EARLY),
        _count(MessageClass.LATE),
    ),
    (
        _count(MessageClass.REDELIVERED, "duplicated: redelivered (legal)"),
        _count(MessageClass.CONCURRENT, "duplicated: concurrent"),
        _count(MessageClass.RESURRECTED, "duplicated: resurrected"),
        _count(MessageClass.ZOMBIE_ACK),
        _count(MessageClass.OVERLAP, "overlapping work, messages"),
        _Row("  for p50 / p99 / most, ms", _overlap),
    ),
    (
        _latency("push", "response_ms", "push p50 / p99, ms"),
        _latency("pop", "service_ms", "pop p50 / p99, ms (with its wait)"),
        _latency("ack", "service_ms", "ack p50 / p99, ms"),
        _Row("lateness p50 / p99, ms", _lateness),
    ),
    (_unavailable("push"), _unavailable("pop"), _unavailable("ack")),
    (_Row("overloaded zones", _overloaded),),
)
