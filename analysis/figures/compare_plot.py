"""The distributions of two runs, one over the other: push, pop, ack and lateness side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, SymmetricalLogLocator

from zonelab.analysis.comparison.samples import Floats, Metric, Series, read_series
from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.statistics import empirical_cdf

CDF_POINTS = 1_000
_PANELS = (Metric.PUSH, Metric.POP, Metric.ACK, Metric.LATENESS)
_LINEAR_MS = 10.0  # lateness may be negative: its axis is linear up to here
_NOTE = (
    "Load phase, confirmed operations. pop: pops that delivered something, with their wait; thin dotted: the lease "
    "step of each message alone. lateness: from due to the end of the pop that delivered first; linear up to 10 ms."
)


def plot_comparison(first: Path, second: Path, path: Path) -> Path:
    """Draw the distributions of both runs into ``path`` (PNG). Raises ``RunError``."""
    runs = RunDirectory.open(first), RunDirectory.open(second)
    series = read_series(runs[0]), read_series(runs[1])
    figure, axes = style.new_figure(columns=len(_PANELS), height=3.8, width=14.5, sharey=True)
    for metric, axis in zip(_PANELS, axes, strict=True):
        for position, (run, values) in enumerate(zip(runs, series, strict=True)):
            _lines(axis, metric, values, position, label=_label(run, position))
        _scale(axis, metric, series)
        sizes = " / ".join(f"{values[metric].count:,}" for values in series)
        what = "lateness" if metric is Metric.LATENESS else "latency"
        style.label(axis, x=f"{what} (ms)", panel=f"{metric}, n = {sizes}")
    axes[0].set_ylim(0, 1.02)
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes[0].set_ylabel("share at or below", fontsize=9.5, color=style.INK)
    style.legend_above(figure, *axes)
    total = sum(values[metric].count for values in series for metric in _PANELS)
    style.title(figure, "Two runs compared", runs, sample=f"n = {total:,} values", notes=[_NOTE])
    return style.save(figure, path)


def _label(run: RunDirectory, position: int) -> str:
    info = run.info
    return f"{('first', 'second')[position]}: {info.scenario} {info.level}, {info.arm}, seed {info.seed}"


def _lines(axis: Axes, metric: Metric, series: Mapping[Metric, Series], position: int, *, label: str) -> None:
    look: dict[str, Any] = {"color": style.colour_of_zone(position), "linestyle": style.line_of(position)}
    _cdf(axis, metric, series[metric].values_ms, label=label, linewidth=1.8, **look)
    if metric is Metric.POP:
        _cdf(axis, metric, series[Metric.LEASE_STEP].values_ms, linewidth=1.1, **{**look, "linestyle": ":"})


def _cdf(axis: Axes, metric: Metric, values_ms: Floats, **line: Any) -> None:
    if not values_ms.size:
        axis.plot([], [], **line)  # keeps the run in the legend
        return
    x, y = empirical_cdf(values_ms, points=CDF_POINTS)
    axis.step(x if metric is Metric.LATENESS else np.maximum(x, style.FLOOR_MS), y, where="post", **line)


def _scale(axis: Axes, metric: Metric, series: tuple[Mapping[Metric, Series], Mapping[Metric, Series]]) -> None:
    values = np.concatenate([part[metric].values_ms for part in series])
    if metric is Metric.LATENESS:
        axis.set_xscale("symlog", linthresh=_LINEAR_MS)
        axis.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_LINEAR_MS))
        axis.set_xlim(left=min(-1.0, *np.append(values, 0.0)))
    elif values.size:
        axis.set_xscale("log")
        low, high = axis.get_xlim()
        steps = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
        axis.xaxis.set_major_locator(LogLocator(base=10, subs=steps, numticks=12))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
