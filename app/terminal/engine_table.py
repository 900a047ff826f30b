"""The tables of ``zonelab engines``: what every engine promises, and what one scenario did to each."""

from collections.abc import Callable, Mapping, Sequence

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import COLOURS
from zonelab.engine.queue import Features
from zonelab.scenarios.spec.engines import Engine
from zonelab.studies.reporting.console import styled
from zonelab.studies.reporting.report_table import Column, ReportTable

_Promise = tuple[str, list[str], Features, str]
_Compared = tuple[str, str, Result | None]


def engine_table(engines: Mapping[str, Engine]) -> ReportTable[_Promise]:
    """Return a row an engine, or several if its modes promise different things."""
    rows = []
    for name, engine in engines.items():
        alike: dict[Features, list[str]] = {}
        for mode, one in engine.modes.items():
            alike.setdefault(one.features, []).append(mode)
        rows += [(name, modes, promised, engine.about) for promised, modes in alike.items()]
    return ReportTable(columns=_PROMISES, rows=rows, names=2)


_PROMISES = (
    Column[_Promise]("engine", lambda row: row[0]),
    Column[_Promise]("modes", lambda row: row[1]),
    Column[_Promise]("counts in", lambda row: f"{row[2].time_unit_ms:,} ms"),
    Column[_Promise]("early by at most", lambda row: f"{row[2].early_ms_max:,} ms"),
    Column[_Promise]("leases", lambda row: bool(row[2].leases)),
    Column[_Promise]("priorities", lambda row: bool(row[2].priorities)),
    Column[_Promise]("delays", lambda row: bool(row[2].delays)),
    Column[_Promise]("unique ids", lambda row: bool(row[2].unique_ids)),
    Column[_Promise]("about", lambda row: row[3]),
)


def compared_table(rows: Sequence[_Compared], *, title: str) -> ReportTable[_Compared]:
    """Return ``rows``, engine, mode and the checked run of each; None where there is nothing to judge."""
    return ReportTable(columns=_COMPARED, rows=rows, title=title, names=2)


def _judged(heading: str, value: Callable[[Result], object], *, number: bool = True) -> Column[_Compared]:
    return Column(heading, lambda row: None if row[2] is None else value(row[2]), number=number)


def _found(result: Result) -> str:
    counts = result.verdict.counts
    return ", ".join(f"{counts[name]:,} {name.words}" for name in result.verdict.violated) or "none"


def _late(name: str) -> Callable[[Result], float | None]:
    return lambda result: result.verdict.queue.lateness_ms.get("all", {}).get(name)


_COMPARED = (
    Column[_Compared]("engine", lambda row: row[0]),
    Column[_Compared]("mode", lambda row: row[1]),
    _judged("verdict", lambda result: styled(result.words, COLOURS[result.words]), number=False),
    _judged("forbidden, and found", _found, number=False),
    _judged("redelivered", lambda result: result.verdict.counts[MessageClass.REDELIVERED]),
    _judged("late p50, ms", _late("p50")),
    _judged("p99, ms", _late("p99")),
)
