"""The tables of ``zonelab engines``: what every engine promises, and what one scenario did to each."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import digits
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import COLOURS
from zonelab.engine.queue import Features
from zonelab.scenarios.spec.engines import Engine
from zonelab.studies.reporting.console import Cell, styled


def engine_table(engines: Mapping[str, Engine]) -> Table:
    """A row an engine, or several if its modes promise different things."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in (
        "engine",
        "modes",
        "counts in",
        "early by at most",
        "leases",
        "priorities",
        "delays",
        "unique ids",
        "about",
    ):
        table.add_column(heading, overflow="fold")
    for name, engine in engines.items():
        alike: dict[Features, list[str]] = {}
        for mode, one in engine.modes.items():
            alike.setdefault(one.features, []).append(mode)
        for promised, modes in alike.items():
            told = (promised.leases, promised.priorities, promised.delays, promised.unique_ids)
            answers = ("yes" if each else "no" for each in told)
            times = f"{promised.time_unit_ms} ms", f"{promised.early_ms_max} ms"
            table.add_row(name, ", ".join(modes), *times, *answers, engine.about)
    return table


def compared_table(rows: Sequence[tuple[str, str, Result | None]], *, title: str) -> Table:
    """``rows``: engine, mode and the checked run of each; None where there is nothing to judge."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for heading in ("engine", "mode", "verdict", "forbidden, and found"):
        table.add_column(heading)
    for heading in ("redelivered", "late p50, ms", "p99, ms"):
        table.add_column(heading, justify="right")
    for engine, mode, result in rows:
        table.add_row(engine, mode, *(["–"] * 5 if result is None else _cells(result)))
    return table


def _cells(result: Result) -> list[Cell]:
    verdict, late_ms = result.verdict, result.verdict.lateness_ms.get("all", {})
    found = ", ".join(f"{verdict.counts[name]:,} {name.replace('_', ' ')}" for name in verdict.violated)
    return [
        styled(result.words, COLOURS[result.words]),
        found or "none",
        f"{verdict.counts[MessageClass.REDELIVERED]:,}",
        *(digits(late_ms.get(name)) for name in ("p50", "p99")),
    ]
