"""Measured delays beside the distribution fitted to them: quantile against quantile, and over time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy import special

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.lags.distributions import Distribution, Floats, quantiles_ms

POINTS_MAX = 400
OVER_TIME_MAX = 6_000
_TAIL = 0.025
_FLOOR_MS = 1e-3


def plot_lag(
    delays_ms: Sequence[float],
    sent_s: Sequence[float],
    fitted: Distribution,
    path: Path,
    *,
    headline: str,
    about: str,
    what: str,
) -> Path:
    """Draw ``delays_ms`` against quantiles of ``fitted``, and by the time ``sent_s``. Raises ``OSError``.

    ``what``: what was measured, as ``one way``.
    """
    figure, (against, over) = style.new_figure(columns=2, height=3.8)
    ordered = np.sort(np.asarray(delays_ms, dtype=np.float64))
    _quantiles(against, ordered, fitted, what)
    step = -(-len(delays_ms) // OVER_TIME_MAX)
    shown = np.maximum(delays_ms[::step], _FLOOR_MS)
    over.plot(sent_s[::step], shown, ".", markersize=3, color=style.TYPE_COLOURS["ok"])
    style.log_ms(over, "y")
    style.label(over, x="sent after (s)", y=f"{what} (ms)", panel=f"Over time, n = {ordered.size:,}")
    style.legend_above(figure, against)
    notes = [
        "Points on the line: the fit has this quantile. Band: where 95 % of so many independent draws of the fit have "
        "theirs, place by place; neighbours in time are not independent."
    ]
    style.frame(figure, headline, about, notes=notes)
    return style.save(figure, path)


def _quantiles(axis: Axes, ordered: Floats, fitted: Distribution, what: str) -> None:
    size = ordered.size
    ranks = np.unique(
        np.append(np.geomspace(1, size, POINTS_MAX // 2), size + 1 - np.geomspace(1, size, POINTS_MAX // 2))
    )
    place = np.unique(ranks.round().astype(np.int64))
    expected = quantiles_ms(fitted, (place - 0.5) / size)
    band = [quantiles_ms(fitted, special.betaincinv(place, size - place + 1, share)) for share in (_TAIL, 1 - _TAIL)]
    low, high, middle = (np.maximum(each, _FLOOR_MS) for each in (*band, expected))
    axis.fill_between(middle, low, high, color=style.GRID, label="95 % of draws of the fit")
    axis.plot(middle, middle, color=style.MUTED, linewidth=1, label="equal")
    axis.plot(middle, np.maximum(ordered[place - 1], _FLOOR_MS), ".", markersize=4, color=style.INK, label="measured")
    style.log_ms(axis, "x")
    style.log_ms(axis, "y")
    style.label(axis, x=f"{what} of the fit (ms)", y=f"{what} measured (ms)", panel="Quantile against quantile")
