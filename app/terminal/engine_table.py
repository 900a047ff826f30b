"""The tables of ``zonelab engines``: what every engine promises, and what one scenario did to each."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from rich.table import Table

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.number_text import NONE, digits
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import COLOURS
from zonelab.engine.queue import Features
from zonelab.scenarios.spec.engines import Engine
from zonelab.studies.reporting.console import Cell, styled
from zonelab.studies.reporting.report_table import Column, ReportTable

_Promise = tuple[str, list[str], Features, str]


def engine_table(engines: Mapping[str, Engine]) -> Table:
    """Return a row an engine, or several if its modes promise different things."""
    rows = []
    for name, engine in engines.items():
        alike: dict[Features, list[str]] = {}
        for mode, one in engine.modes.items():
            alike.setdefault(one.features, []).append(mode)
        rows += [(name, modes, promised, engine.about) for promised, modes in alike.items()]
    return ReportTable(columns=_PROMISES, rows=rows).terminal()


_PROMISES = (
    Column[_Promise]("engine", lambda row: row[0]),
    Column[_Promise]("modes", lambda row: row[1]),
    Column[_Promise]("counts in", lambda row: f"{row[2].time_unit_ms} ms"),
    Column[_Promise]("early by at most", lambda row: f"{row[2].early_ms_max} ms"),
    Column[_Promise]("leases", lambda row: bool(row[2].leases)),
    Column[_Promise]("priorities", lambda row: bool(row[2].priorities)),
    Column[_Promise]("delays", lambda row: bool(row[2].delays)),
    Column[_Promise]("unique ids", lambda row: bool(row[2].unique_ids)),
    Column[_Promise]("about", lambda row: row[3]),
)


def compared_table(rows: Sequence[tuple[str, str, Result | None]], *, title: str) -> ReportTable[Any]:
    """Return ``rows``, engine, mode and the checked run of each; None where there is nothing to judge."""
    headings = ("engine", "mode", "verdict", "forbidden, and found", "redelivered", "late p50, ms", "p99, ms")
    columns = [Column(name, itemgetter(place), number=place > 3) for place, name in enumerate(headings)]
    cells = [(engine, mode, *([NONE] * 5 if one is None else _cells(one))) for engine, mode, one in rows]
    return ReportTable(columns=columns, rows=cells, title=title)


def _cells(result: Result) -> list[Cell]:
    verdict, late_ms = result.verdict, result.verdict.queue.lateness_ms.get("all", {})
    found = ", ".join(f"{verdict.counts[name]:,} {name.replace('_', ' ')}" for name in verdict.violated)
    return [
        styled(result.words, COLOURS[result.words]),
        found or "none",
        f"{verdict.counts[MessageClass.REDELIVERED]:,}",
        *(digits(late_ms.get(name)) for name in ("p50", "p99")),
    ]
