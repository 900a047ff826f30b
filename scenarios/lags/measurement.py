"""Measurement of the round trips to one address: a trace, distributions fitted to it, and a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zonelab.analysis.lags.fits import Fit, fits
from zonelab.analysis.statistics import average_ranks, distribution_margin, quantiles
from zonelab.scenarios.lags.probe import Probe
from zonelab.scenarios.lags.questions import Command

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}
FITS_SHOWN = 3

WAYS: Mapping[Command, tuple[str, float]] = {Command.PING: ("one way", 0.5), Command.GET: ("wait", 1.0)}
"""The reported part of a round trip: a read's whole wait, or one of two equal ways."""


@dataclass(frozen=True, kw_only=True)
class LagMeasurement:
    """``delays_ms`` is also in the file ``trace``; ``figure`` shows it beside the best of ``fitted``."""

    address: str
    command: Command
    for_s: float
    delays_ms: Sequence[float]
    unanswered: int
    problem: str | None
    fitted: Sequence[Fit]
    trace: Path
    figure: Path

    @property
    def what(self) -> str:
        return WAYS[self.command][0]

    @property
    def quantiles_ms(self) -> Mapping[str, float]:
        return quantiles(self.delays_ms)

    @property
    def margin(self) -> float:
        """Return how far so many independent draws of a distribution stray from it: 95 % of them stay nearer."""
        return distribution_margin(len(self.delays_ms))

    @property
    def dependence(self) -> float:
        """Correlation of the ranks of neighbours in time; 0 if there are too few, or all are equal."""
        ranks = average_ranks(self.delays_ms)
        if ranks.size < 3 or ranks.min() == ranks.max():
            return 0.0
        return float(np.nan_to_num(np.corrcoef(ranks[:-1], ranks[1:])[0, 1]))

    def to_json(self) -> dict[str, Any]:
        return {
            "address": self.address,
            "command": self.command,
            "measured": self.what,
            "seconds": self.for_s,
            "answers": len(self.delays_ms),
            "unanswered": self.unanswered,
            "problem": self.problem,
            "quantiles_ms": self.quantiles_ms,
            "dependence": self.dependence,
            "margin": self.margin,
            "fits": [
                {"lag": fit.distribution.text, "ks_distance": fit.distance, "bic": fit.bic} for fit in self.fitted
            ],
            "trace": str(self.trace),
            "figure": str(self.figure),
        }


def measured(probe: Probe, command: Command, *, folder: Path) -> LagMeasurement:
    """Write the trace and the figure of ``probe``, which has answers, into ``folder``. Raises ``OSError``."""
    from zonelab.analysis.figures.lag_plot import plot_lag

    what, part = WAYS[command]
    delays_ms = [part * each for each in probe.round_trips_ms]
    name = f"{probe.address.host.replace(':', '_')}-{probe.address.port}"
    folder.mkdir(parents=True, exist_ok=True)
    trace = folder / f"{name}.csv"
    trace.write_text("".join(["delay_ms\n", *(f"{each:.6f}\n" for each in delays_ms)]), encoding="utf-8")
    found = fits(delays_ms)
    best, for_s = found[0], probe.sent_s[-1]
    fit = f"fit {best.distribution.text} · distance {best.distance:.3f}"
    about = f"{len(delays_ms):,} times {command} in {for_s:.0f} s · {fit}"
    figure = plot_lag(
        delays_ms,
        probe.sent_s,
        best.distribution,
        folder / f"{name}.png",
        headline=f"{what.capitalize()} to {probe.address}",
        about=about,
        what=what,
    )
    return LagMeasurement(
        address=str(probe.address),
        command=command,
        for_s=for_s,
        delays_ms=delays_ms,
        unanswered=probe.unanswered,
        problem=probe.problem,
        fitted=found,
        trace=trace,
        figure=figure,
    )
