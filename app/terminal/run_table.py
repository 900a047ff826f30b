"""The result of one run, or of several side by side, as a table of metrics."""

from collections.abc import Sequence

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import digits, slashed
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.order_rows import order_figures
from zonelab.studies.reporting.console import BAD, Cell, styled
from zonelab.studies.reporting.report_table import ReportTable, plain
from zonelab.studies.reporting.side_by_side import FigureRow, side_by_side

COLOURS = {"valid": "green", "invalid": "red", "unknown": "yellow"}


def result_table(results: Sequence[Result], *, title: str) -> ReportTable[FigureRow[Result]]:
    """Return a column for each of ``results``; that of the order is there if any of them has ordered messages."""
    ordered = any(result.verdict.order is not None for result in results)
    figures = [*_FIGURES, *(order_figures() if ordered else ()), _VERDICT]
    return side_by_side(figures, results, heading=lambda result: result.title, title=title)


def verdict_cell(words: str, allowed: Sequence[str]) -> Cell:
    """The verdict in its colour, and in amber, a line each, what of the classes that are ``allowed`` is too much."""
    cell = styled(words, f"bold {COLOURS[words]}")
    for one in allowed:
        cell.append(f"\nwith {one}", style="yellow")
    return cell


def _total(label: str, name: str) -> FigureRow[Result]:
    return FigureRow(label, lambda result: getattr(result.verdict.totals, name), "messages")


def _count(section: str, message_class: MessageClass, label: str = "") -> FigureRow[Result]:
    def value(result: Result) -> Cell:
        verdict = result.verdict
        text = "not judged" if message_class in verdict.not_judged else plain(verdict.counts[message_class])
        return styled(str(text), BAD) if message_class in verdict.violated else text

    return FigureRow(label or message_class.words, value, section)


def _latency(f: str, label: str) -> FigureRow[Result]:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        return slashed({} if operation is None else operation.time_ms, "p50", "p99")

    return FigureRow(label, value, "latencies")


def _unavailable(f: str) -> FigureRow[Result]:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        if operation is not None and operation.unavailability_s is None:
            return "not known"
        return digits(None if operation is None else operation.unavailability_s)

    return FigureRow(f"{f} unavailable, zone-seconds", value, "outages")


def _overloaded(result: Result) -> str:
    if not result.summary.has_consumers:
        return "no consumers"
    return " ".join(row.zone for row in result.summary.overloaded) or "none"


_LEFT = (
    *(MessageClass.LOST, MessageClass.STUCK, MessageClass.NOT_DUE, MessageClass.UNSERVED, MessageClass.ABANDONED),
    *(MessageClass.UNEXPECTED, MessageClass.EARLY, MessageClass.LATE),
)
_FIGURES: tuple[FigureRow[Result], ...] = (
    _total("messages pushed", "pushed"),
    _total("  acknowledged", "acknowledged"),
    _total("  failed", "failed"),
    _total("  indeterminate", "indeterminate"),
    _total("messages delivered", "delivered"),
    *(_count("classes", name) for name in _LEFT),
    _count("duplicates", MessageClass.REDELIVERED, "duplicated: redelivered (legal)"),
    _count("duplicates", MessageClass.CONCURRENT, "duplicated: concurrent"),
    _count("duplicates", MessageClass.RESURRECTED, "duplicated: resurrected"),
    _count("duplicates", MessageClass.ZOMBIE_ACK),
    _count("duplicates", MessageClass.OVERLAP, "overlapping work, messages"),
    FigureRow(
        "  for p50 / p99 / most, ms",
        lambda result: slashed(result.verdict.queue.overlap_ms, "p50", "p99", "max"),
        "duplicates",
    ),
    _latency("push", "push p50 / p99, ms"),
    _latency("pop", "pop p50 / p99, ms (with its wait)"),
    _latency("ack", "ack p50 / p99, ms"),
    FigureRow(
        "lateness p50 / p99, ms",
        lambda result: slashed(result.verdict.queue.lateness_ms.get("all", {}), "p50", "p99"),
        "latencies",
    ),
    *(_unavailable(f) for f in ("push", "pop", "ack")),
    FigureRow("overloaded zones", _overloaded, "overload"),
)
_VERDICT = FigureRow[Result](
    styled("verdict", "bold"), lambda result: verdict_cell(result.words, result.allowed), "verdict"
)
