"""One line of a figure with its 95 % interval: made from one run, or from several, of which each counts once.

Operations of one run share its faults, so several runs are not thrown together: at every place of the line stands the
median of the runs' own values, with the distribution-free interval of a median, which takes six runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.proportions import Interval
from zonelab.analysis.statistics import quantile_interval

Floats = NDArray[np.float64]

INTERVAL = "_interval of "
"""Prefix of the labels of intervals; the underscore keeps them out of legends."""

OF_RUNS = (
    "A line of several runs is the median of the runs' own values, each run counted once; its band is the "
    "distribution-free 95 % interval of that median, which takes six runs."
)

_MARKS = 9
_BAND = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A line: its places, its values, and the 95 % interval of each, NaN where there is none.

    Made of ``n`` operations, messages or samples of ``runs`` runs.
    """

    name: str
    x: Floats
    y: Floats
    low: Floats
    high: Floats
    n: int
    runs: int = 1

    @property
    def label(self) -> str:
        return self.name if self.runs == 1 else f"{self.name} ({self.runs} runs)"


def median_of_runs(name: str, x: Floats, rows: Sequence[Floats], *, n: int) -> Curve:
    """The median of ``rows``, a row a run, at each of ``x``; NaN in a row: this run has no value there."""
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(x))
    known = [column[~np.isnan(column)] for column in table.T]
    middle = np.array([np.median(values) if values.size else np.nan for values in known])
    low, high = bounds([quantile_interval(values, 0.5) if values.size else None for values in known])
    return Curve(name=name, x=x, y=middle, low=low, high=high, n=n, runs=len(rows))


def bounds(intervals: Sequence[Interval | None]) -> tuple[Floats, Floats]:
    """The lower and the upper ends; NaN where there is no interval."""
    known = [(np.nan, np.nan) if one is None else (one.low, one.high) for one in intervals]
    low, high = np.array(known, dtype=np.float64).reshape(len(known), 2).T
    return low, high


def draw(axis: Axes, curve: Curve, position: int, *, step: bool = False, **look: Any) -> None:
    """Draw the line with its interval as a band, in the colour, line and marker of its position."""
    drawn: dict[str, Any] = {
        "color": style.colour_of_level(curve.name, position),
        "linestyle": style.line_of(position),
        "marker": style.marker_of(position),
        "markevery": max(1, len(curve.x) // _MARKS),
        "markersize": 4,
        "linewidth": 1.5,
        "label": curve.label,
        "zorder": 3,
        **look,
    }
    axis.plot(curve.x, curve.y, drawstyle="steps-post" if step else "default", **drawn)
    known = ~np.isnan(curve.low)
    if known.any():
        look = {"color": drawn["color"], "label": f"{INTERVAL}{curve.label}", "zorder": 2}
        how: Literal["post"] | None = "post" if step else None
        axis.fill_between(curve.x, curve.low, curve.high, step=how, alpha=_BAND, linewidth=0, **look)
        neighbours = np.concatenate([[False], known[:-1]]) | np.concatenate([known[1:], [False]])
        if (alone := known & ~neighbours).any():  # a band of one place has no width
            axis.vlines(curve.x[alone], curve.low[alone], curve.high[alone], linewidth=1.2, alpha=2 * _BAND, **look)


def sizes(curves: Sequence[Curve]) -> str:
    """Return the number of values behind each line of a panel, in the order of the legend."""
    return f"n = {' / '.join(f'{curve.n:,}' for curve in curves) or 0}"
