"""``zonelab measure-lag``: how long the way to other servers takes, as traces and lags that scenarios take."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from typing import Any

import uvloop
from rich.text import Text

from zonelab.analysis.number_text import counted, digits
from zonelab.cluster.zone import Address
from zonelab.scenarios.lags.measurement import FITS_SHOWN, SHARES, LagMeasurement, measured
from zonelab.scenarios.lags.probe import Probe, measure
from zonelab.scenarios.lags.questions import Command
from zonelab.studies.reporting.console import Cell, error_console
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """All addresses that answered. ``problems``: a line for each that did not, or not to the end."""

    measured: Sequence[LagMeasurement]
    problems: Sequence[str]
    interrupted: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "zonelab": version("zonelab"),
            "interrupted": self.interrupted,
            "problems": list(self.problems),
            "measured": [one.to_json() for one in self.measured],
        }

    def print(self) -> None:
        headings = ("", *(f"{name}, ms" for name in SHARES), "KS distance")
        columns = [Column(name, itemgetter(place)) for place, name in enumerate(headings)]
        ReportTable(columns=columns, rows=list(_rows(self.measured))).print(*_sentences(self.measured))


def measure_lag(
    addresses: Sequence[Address], command: Command, *, for_s: float, every_s: float, folder: Path
) -> Measurement:
    """Measure all ``addresses`` for ``for_s``, and write what was found into ``folder``; Ctrl-C ends it sooner.

    Raises ``OSError``.
    """
    words = f"{command} to {', '.join(map(str, addresses))} every {every_s * 1000:g} ms for {for_s:g} s"
    error_console().print(words, highlight=False, soft_wrap=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        probes, interrupted = runner.run(_measured(addresses, command, for_s=for_s, every_s=every_s))
    found = [measured(probe, command, folder=folder) for probe in probes if probe.round_trips_ms]
    problems = [f"{probe.address}: {probe.problem}" for probe in probes if probe.problem]
    return Measurement(measured=found, problems=problems, interrupted=interrupted)


async def _measured(
    addresses: Sequence[Address], command: Command, *, for_s: float, every_s: float
) -> tuple[list[Probe], bool]:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stop.set)
    try:
        return await measure(addresses, command, for_s=for_s, every_s=every_s, stop=stop), stop.is_set()
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _rows(found: Sequence[LagMeasurement]) -> Iterator[Sequence[Cell]]:
    from zonelab.analysis.lags.distributions import quantiles_ms

    shares = [share for share in SHARES.values() if share < 1]
    for one in found:
        known = one.quantiles_ms
        yield (
            Text.assemble((str(one.address), "bold"), f", {one.what}"),
            *(digits(known[name]) for name in SHARES),
            "",
        )
        for fit in one.fitted[:FITS_SHOWN]:
            there = quantiles_ms(fit.distribution, shares)
            yield (f"  {fit.distribution.text}", *map(digits, there), "", digits(fit.distance))


def _sentences(found: Sequence[LagMeasurement]) -> Iterator[str]:
    for one in found:
        yield (
            f"{one.address}: {counted(len(one.delays_ms), 'answer')} in {digits(one.for_s)} s, {one.unanswered:,} "
            f"missing. Neighbours correlate by {digits(one.dependence)}; so many independent draws stray "
            f"{digits(one.margin)} at most."
        )
        if one.command is Command.PING:
            yield f"  --lag '{one.fitted[0].distribution.text}', or with all that no fit has: --lag trace:{one.trace}"
        yield f"  {one.trace}, {one.figure}"
    if any(one.command is Command.PING for one in found):
        yield "One way is taken to be half of a round trip: both ways equally long, the server's work no time."
    if any(one.command is Command.GET for one in found):
        yield "The wait is all of a read: the way there and back, the server, and the answers that its level needs."
