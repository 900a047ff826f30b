"""Decisions whether a setting meets an objective, at planned looks, for all settings and objectives at once.

The error of all decisions together is at most 5 %: each look spends its part (after O'Brien and Fleming, by the rule
of Lan and DeMets, Biometrika 70, 1983), and each objective of each setting gets an equal share of that (Bonferroni).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Any

from scipy import special

from zonelab.analysis.number_text import counted, percent
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.samples import Estimate, finite

LOOKS_MAX = 5
ERROR = 0.05
UNSEEN_RUNS = 300
"""Before so many runs nothing is stopped early that is merely unseen: by then its share of runs is below 1 %."""

NO_PROOF = "no number of runs proves it"

ENDLESS_S = 1e12
"""Only an operation that is never confirmed takes longer."""

_MULTIPLE_MAX = 1e6


class ObjectiveStatus(StrEnum):
    MET = "met"
    """Proven, at 95 % for all objectives of all settings together."""
    NOT_MET = "not met"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveJudgement:
    """``value``: of the figure, with its 95 % interval. ``ratio``: of the estimate to the bound.

    ``upper``: the largest value that this look leaves possible, infinite if nothing bounds it yet. ``unseen``: it is
    open, but only since too few runs show no case. ``cases`` in ``messages`` of ``runs`` are what it rests on.
    ``unconfirmed``: where a time has no end, the share of operations that are never confirmed. ``runs_needed``: so
    many would decide it if the estimate is right.
    """

    objective: Objective
    status: ObjectiveStatus
    value: Estimate
    ratio: float
    runs: int
    messages: int = 0
    cases: int = 0
    upper: float = float("inf")
    unseen: bool = False
    unconfirmed: float | None = None
    runs_needed: int | None = None

    @property
    def is_open(self) -> bool:
        return self.status is ObjectiveStatus.OPEN

    @property
    def is_likely(self) -> bool:
        """Return whether it is met if the estimate is right, though that need not be proven."""
        return self.status is ObjectiveStatus.MET or (self.is_open and (self.unseen or self.ratio < 1))

    @property
    def seen(self) -> str:
        """The value that runs show, in the figure's unit; of cases that no run shows, in how many messages."""
        if self.objective.figure.counts_cases and not self.cases:
            return f"none in {counted(self.messages, 'message')}"
        if self.objective.is_zero:
            return f"{self.cases:,} in {counted(self.messages, 'message')}"
        if self.unconfirmed is not None:
            return f"{percent(self.unconfirmed)} never confirmed"
        return self.objective.told(float(self.value.value))

    def __str__(self) -> str:
        """Return what was seen, without the status; if it is open, also how far that may be from the bound."""
        if not self.is_open:
            return self.seen
        if self.objective.is_zero:
            return f"{self.seen}; {NO_PROOF}"
        bounded = self.upper < float("inf")
        side = "at least" if self.objective.figure.as_share else "at most"
        upper = f"{side} {self.objective.told(self.upper)}" if bounded else "nothing bounds it yet"
        return f"{self.seen}, {upper}, bound {self.objective.told(self.objective.limit)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "objective": str(self.objective),
            "status": str(self.status),
            **self.value.to_json(),
            "ratio_to_bound": finite(self.ratio),
            "upper": finite(self.upper),
            "unseen": self.unseen,
            "runs": self.runs,
            "messages": self.messages,
            "unconfirmed": self.unconfirmed,
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
    outcomes = measured.outcomes
    runs, messages = outcomes.size(condition)
    cases = outcomes.total(figure.name, condition) if figure.counts_cases else 0
    open_ = ObjectiveJudgement(
        objective=objective,
        status=ObjectiveStatus.OPEN,
        value=value,
        ratio=float(value.value) / objective.limit if objective.limit else 0.0,
        runs=runs,
        messages=messages,
        cases=cases,
    )
    if objective.is_zero:
        broken = replace(open_, status=ObjectiveStatus.NOT_MET, ratio=float("inf"))
        return broken if cases else replace(open_, unseen=runs > 0)
    if figure.percentile is not None and float(value.value) == float("inf"):
        open_ = replace(open_, unconfirmed=float(measured.rate(figure, condition, at_s=ENDLESS_S).value))
    percentile, confidence = figure.percentile, 1 - 2 * error
    at_s, limit = (0.0, objective.limit) if percentile is None else (objective.bound, 1 - percentile)
    rate, seen = (
        measured.rate(figure, condition, at_s=at_s, confidence=confidence, unseen=unseen) for unseen in (True, False)
    )
    if rate.high < limit:
        return replace(open_, status=ObjectiveStatus.MET)
    if rate.low > limit:
        return replace(open_, status=ObjectiveStatus.NOT_MET)
    unseen = bool(seen.high < limit)
    return replace(
        open_,
        upper=float(measured.value(figure, condition, confidence=confidence).high),
        unseen=unseen,
        runs_needed=_needed(runs, rate if unseen else seen, limit, power=1 if unseen else 2),
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
