"""The result of one run, or of several side by side, as a table of metrics."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.checkers.verdict import Verdict
from analysis.message_classes import MessageClass
from analysis.summary.queue_summary import Summary
from scenarios.spec.scenario import Scenario

WIDTH_WITHOUT_TERMINAL = 120

COLOURS = {"valid": "green", "invalid": "red", "unknown": "yellow"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A run that was checked: the heading of its column, its directory, its verdict and its figures."""

    title: str
    directory: Path
    verdict: Verdict
    summary: Summary

    @property
    def words(self) -> str:
        """The verdict in one word."""
        return {True: "valid", False: "invalid", "unknown": "unknown"}[self.verdict.valid]


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
    table.add_row("[bold]verdict[/bold]", *(f"[bold {COLOURS[result.words]}]{result.words}[/]" for result in results))
    return table


def scenario_table(library: Sequence[Scenario]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("scenario", "load", "faults", "about"):
        table.add_column(heading, overflow="fold", max_width=18 if heading == "faults" else None)
    for item in library:
        faults = "\n".join(f"{fault.kind} {fault.at_s:g}–{fault.at_s + fault.for_s:g} s" for fault in item.faults)
        table.add_row(item.name, f"{item.load.duration_s:g} s", faults or "none", " ".join(item.about.split()))
    return table


def console() -> Console:
    """For results, on stdout: as wide as the terminal, or wide enough for every table where there is none."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_WITHOUT_TERMINAL)


def print_table(table: Table) -> None:
    console().print(table)


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]], sentences: Iterable[str]) -> None:
    """A table on the terminal, and the sentences about it."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    out = console()
    out.print(table, "")
    for sentence in sentences:
        out.print(sentence, highlight=False, soft_wrap=True)


def _cell(row: _Row, result: Result) -> str:
    text = row.value(result)
    if row.message_class is None or row.message_class not in result.verdict.forbid or text == "0":
        return text
    return f"[bold red]{text}[/bold red]"


def _total(label: str, name: str) -> _Row:
    return _Row(label, lambda result: f"{getattr(result.verdict.totals, name):,}")


def _count(message_class: MessageClass, label: str | None = None) -> _Row:
    text = label or message_class.value.replace("_", " ")
    return _Row(text, lambda result: f"{result.verdict.counts[message_class]:,}", message_class)


def _latency(f: str, kind: str, label: str) -> _Row:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        quantiles = getattr(operation, kind) if operation is not None else {}
        return " / ".join(milliseconds(quantiles.get(name)) for name in ("p50", "p99"))

    return _Row(label, value)


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _lateness(result: Result) -> str:
    quantiles = result.verdict.lateness_ms.get("all", {})
    return " / ".join(milliseconds(quantiles.get(name)) for name in ("p50", "p99"))


def _unavailable(f: str) -> _Row:
    def value(result: Result) -> str:
        operation = result.summary.operation(f)
        return "–" if operation is None else f"{operation.unavailability_s:.1f}"

    return _Row(f"{f} unavailable, zone-seconds", value)


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
        _count(MessageClass.ABANDONED),
        _count(MessageClass.UNEXPECTED),
        _count(MessageClass.EARLY),
    ),
    (
        _count(MessageClass.REDELIVERED, "duplicated: redelivered (legal)"),
        _count(MessageClass.CONCURRENT, "duplicated: concurrent"),
        _count(MessageClass.RESURRECTED, "duplicated: resurrected"),
    ),
    (
        _latency("push", "response_ms", "push p50 / p99, ms"),
        _latency("pop", "service_ms", "pop p50 / p99, ms (with its wait)"),
        _latency("ack", "service_ms", "ack p50 / p99, ms"),
        _Row("lateness p50 / p99, ms", _lateness),
    ),
    (_unavailable("push"), _unavailable("pop"), _unavailable("ack")),
)
