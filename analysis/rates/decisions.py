"""Decisions whether a setting meets an objective, at planned looks, for all settings and objectives at once.

The error of all decisions together is at most 5 %: each look spends its part (after O'Brien and Fleming, by the rule
of Lan and DeMets, Biometrika 70, 1983), and each objective of each setting gets an equal share of that (Bonferroni).
"""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Any

from scipy import special

from zonelab.analysis.number_text import counted, digits
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.samples import Estimate, finite

LOOKS_MAX = 5
ERROR = 0.05
HELD_RUNS = 300
"""Before so many runs nothing is stopped early that only holds: by then its share of runs is below 1 %."""

_MULTIPLE_MAX = 1e6


class ObjectiveStatus(StrEnum):
    MET = "met"
    NOT_MET = "not met"
    HELD = "held"
    """By all that was seen; but where no run shows a case, their number alone does not prove it."""
    UNDECIDED = "not decided"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveJudgement:
    """``value``: of the figure, with its 95 % interval. ``ratio``: of the estimate to the bound.

    ``runs``: that this rests on; for cases that must not be, ``cases`` in them. ``runs_needed``: so many would decide
    it if the estimate is right.
    """

    objective: Objective
    status: ObjectiveStatus
    value: Estimate
    ratio: float
    runs: int
    cases: int = 0
    runs_needed: int | None = None

    def __str__(self) -> str:
        """Return what was seen, without the status."""
        if self.objective.is_zero:
            if self.status is ObjectiveStatus.HELD:
                return f"0 in {counted(self.runs, 'run')} (below {digits(3 / self.runs, significant=2)})"
            return f"{self.cases:,} in {counted(self.runs, 'run')}"
        text = self.objective.told(float(self.value.value))
        return text if self.runs_needed is None else f"{text}, {self.runs:,} of about {self.runs_needed:,} runs"

    def to_json(self) -> dict[str, Any]:
        return {
            "objective": str(self.objective),
            "status": str(self.status),
            **self.value.to_json(),
            "ratio_to_bound": finite(self.ratio),
            "runs": self.runs,
            "cases": self.cases,
            "runs_needed": self.runs_needed,
            "bound": self.objective.limit,
            "told": str(self),
        }


def spent(part: float) -> float:
    """The error that may be spent when ``part`` of the budget is."""
    if part <= 0:
        return 0.0
    return float(2 * special.ndtr(special.ndtri(ERROR / 2) / min(part, 1.0) ** 0.5))


def error_at(look: int, looks: int) -> float:
    """Return what the look, counted from 1, may spend itself."""
    return spent(look / looks) - spent((look - 1) / looks)


def judge(measured: SettingRates, objective: Objective, *, error: float) -> ObjectiveJudgement:
    """``error``: how often one wrong decision may be made."""
    figure, condition = objective.figure, objective.condition
    value = measured.value(figure, condition)
    runs = sum(len(by_seed) for cell, by_seed in measured.outcomes.runs.items() if condition in (None, cell.fault))
    if objective.is_zero:
        cases, runs = measured.outcomes.total(figure.name, condition)
        status = ObjectiveStatus.NOT_MET if cases else ObjectiveStatus.HELD if runs else ObjectiveStatus.UNDECIDED
        ratio = float("inf") if cases else 0.0
        return ObjectiveJudgement(objective=objective, status=status, value=value, ratio=ratio, runs=runs, cases=cases)
    percentile = figure.percentile
    at_s, limit = (0.0, objective.limit) if percentile is None else (objective.bound, 1 - percentile)
    rate, seen = (
        measured.rate(figure, condition, at_s=at_s, confidence=1 - 2 * error, unseen=unseen) for unseen in (True, False)
    )
    status, needed = ObjectiveStatus.UNDECIDED, None
    if rate.high < limit:
        status = ObjectiveStatus.MET
    elif rate.low > limit:
        status = ObjectiveStatus.NOT_MET
    elif seen.high < limit:
        status, needed = ObjectiveStatus.HELD, _needed(runs, rate, limit, power=1)
    else:
        needed = _needed(runs, seen, limit, power=2)
    ratio = float(value.value) / objective.limit
    return ObjectiveJudgement(
        objective=objective, status=status, value=value, ratio=ratio, runs=runs, runs_needed=needed
    )


def _needed(runs: int, rate: Estimate, limit: float, *, power: int) -> int | None:
    """Return the number of runs after which the interval no longer crosses the limit; None if it is far too many.

    An interval shrinks with the root of the runs (``power`` 2); one that rests on runs without a case, with their
    number (``power`` 1).
    """
    value = float(rate.value)
    half = float(rate.high) - value if value < limit else value - float(rate.low)
    distance = abs(limit - value)
    if not distance or (half / distance) ** power > _MULTIPLE_MAX:
        return None
    return max(runs + 1, ceil(runs * (half / distance) ** power))
