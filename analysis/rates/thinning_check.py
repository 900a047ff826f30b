"""Comparison of thinned runs with less thinned ones, of figures that thinning should leave as they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import special

from zonelab.analysis.number_text import percent
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Figure, told
from zonelab.analysis.rates.outcomes import times_s
from zonelab.analysis.rates.year import RunKind

MOVES_LEAST = 0.05
"""A figure that differs by less than this between thinned and less thinned runs is the same."""

_CONFIDENCE = 0.95
_RUNS_LEAST = 3
"""Runs of each kind before they are compared."""


class Movement(StrEnum):
    """Effect of thinning on a figure."""

    NONE = "none"
    MOVES = "moves"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class ThinningCheck:
    """``value``: of ``thinned`` runs, ``other``: of ``less`` thinned ones. The former is above the latter by a part of
    ``low`` to ``high`` of it (Welch's 95 % interval). ``needs``: so many runs of both kinds would tell, if it is right.
    """

    figure: Figure
    thinned: RunKind
    less: RunKind
    value: float
    other: float
    low: float
    high: float
    needs: Mapping[RunKind, int] = field(default_factory=dict)

    @classmethod
    def of(cls, measured: SettingRates, figure: Figure, fault: str) -> "ThinningCheck | None":
        """Compare runs without a fault as thinned as those of the class ``fault`` with less thinned ones.

        None if the class is not thinned, or nothing less thinned is run.
        """
        year = measured.year
        thinned = RunKind(thinning=year.fault(fault).thinning)
        less = year.less_thinned(thinned)
        if less is None:
            return None
        one, two = (_by_run(measured, figure, kind) for kind in (thinned, less))
        value, other = (float(each.mean()) if each.size else 0.0 for each in (one, two))
        nothing = cls(figure=figure, thinned=thinned, less=less, value=value, other=other, low=-1.0, high=float("inf"))
        if min(one.size, two.size) < _RUNS_LEAST:
            return replace(nothing, needs={thinned: _RUNS_LEAST, less: _RUNS_LEAST})
        if not other:
            return nothing if value else replace(nothing, low=0.0, high=0.0)
        difference, reach = value / other - 1, _reach(one, two) / other
        more = (reach / max(abs(MOVES_LEAST - abs(difference)), MOVES_LEAST / 10)) ** 2
        needs = {kind: ceil(each.size * max(1.0, more)) for kind, each in ((thinned, one), (less, two))}
        return replace(nothing, low=difference - reach, high=difference + reach, needs=needs)

    @property
    def movement(self) -> Movement:
        """Return whether the interval lies within 5 %, beyond it, or both."""
        if max(-self.low, self.high) <= MOVES_LEAST:
            return Movement.NONE
        return Movement.MOVES if self.low > MOVES_LEAST or self.high < -MOVES_LEAST else Movement.UNKNOWN

    def __str__(self) -> str:
        """Return both values and how far they may be apart."""
        one, two = (told(self.figure, value) for value in (self.value, self.other))
        both = f"{one} thinned by {self.thinned.thinning}, {two} {self._beside}"
        if self.movement is Movement.UNKNOWN:
            apart = "too few runs to compare" if self.high == float("inf") else f"up to {percent(self._most)} apart"
            return f"not known yet whether it moves with thinning: {both}, {apart}"
        return f"it moves with thinning: {both}"

    @property
    def _most(self) -> float:
        return max(-self.low, self.high)

    @property
    def _beside(self) -> str:
        return "not thinned" if self.less.thinning == 1 else f"by {self.less.thinning}"


def _by_run(measured: SettingRates, figure: Figure, kind: RunKind) -> NDArray[np.float64]:
    """Return the figure of each run: a percentile of times in s, or cases a message."""
    runs = measured.outcomes.runs.get(kind, {})
    if figure.operation is None:
        each = [run.counts.get(figure.name, 0) / max(1, run.begun) for run in runs.values()]
    else:
        times = [times_s(run, figure.operation) for run in runs.values()]
        each = [float(np.quantile(one, figure.percentile or 0.5, method="lower")) for one in times if one.size]
    return np.array(each)


def _reach(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return half of Welch's interval of the difference of two means."""
    parts = [each.var(ddof=1) / each.size for each in (one, two)]
    whole = float(sum(parts))
    if not whole:
        return 0.0
    freedom = whole**2 / sum(part**2 / (each.size - 1) for part, each in zip(parts, (one, two), strict=True))
    return float(special.stdtrit(freedom, (1 + _CONFIDENCE) / 2) * np.sqrt(whole))
