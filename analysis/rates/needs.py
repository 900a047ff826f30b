"""Number of runs of each kind that would decide an objective, if what was seen so far is right."""

from collections.abc import Mapping
from math import ceil, isfinite

import numpy as np

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.samples import reaches
from zonelab.analysis.rates.year import RunKind

RUNS_MAX = 10_000_000
"""More runs of a kind decide nothing that anybody waits for."""


def needed_runs(
    measured: SettingRates, objective: Objective, *, error: float, if_hidden: float | None = None
) -> Mapping[RunKind, int]:
    """Return how many runs of each kind, those that were made among them, bring the interval clear of the bound.

    ``error``: how often the decision may be wrong. Without a case the interval shrinks with the number of messages,
    so that ``ln(1 / error) / bound`` messages are enough, times the clump that is feared; with cases it shrinks with
    the root of the runs. Nothing is returned if that cannot be told: a kind has too few runs, the estimate is at the
    bound, or the cost of a class of faults does not grow in a line with its length.

    ``if_hidden``: the estimate if thinned runs hide all that they can; then only runs that are not thinned are needed.
    """
    figure, condition, percentile = objective.figure, objective.condition, objective.figure.percentile
    at_s, limit = (0.0, objective.limit) if percentile is None else (objective.bound, 1 - percentile)
    if any(condition in (None, one.fault) for one in measured.bent(figure, at_s=at_s)):
        return {}
    weights, size = measured.weights(figure, condition), measured.size(figure, condition)
    value = float(measured.rate(figure, condition, at_s=at_s).value) if if_hidden is None else if_hidden
    room, below = abs(limit - value) * size, value < limit
    parts = {
        cell: part
        for cell, part in zip(weights, measured.parts(figure, at_s, weights), strict=True)
        if part.weight and (if_hidden is None or cell.thinning == 1)
    }
    far = {cell: float(np.max(reaches(part, confidence=1 - 2 * error)[below])) for cell, part in parts.items()}
    if not room or not all(map(isfinite, far.values())):
        return {}
    near = _share(far, room)
    if near <= 0:
        return {}
    found = {}
    for cell, part in parts.items():
        power = 2 if float(np.max(part.sample.mean)) else 1
        runs = len(measured.outcomes.runs[cell])
        found[cell] = max(runs, ceil(min(runs * (far[cell] / near) ** power, RUNS_MAX + 1)))
    return {} if max(found.values()) > RUNS_MAX else found


def _share(far: Mapping[RunKind, float], room: float) -> float:
    """Return how far each part of a sum may reach, where those that reach less leave the others more."""
    left = sorted(far.values())
    square = room**2
    while len(left) > 1 and left[0] ** 2 <= square / len(left):
        square -= left.pop(0) ** 2
    return float((square / len(left)) ** 0.5)
