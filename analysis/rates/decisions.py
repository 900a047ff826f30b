"""Decisions whether a setting meets an objective, at planned looks, for all settings and objectives at once.

The error of all decisions together is at most 5 %: the last look may spend half of it, for which runs are planned, and
those before it share the other half. Each objective of each setting gets an equal share of that (Bonferroni).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from zonelab.analysis.number_text import counted, listed, percent
from zonelab.analysis.rates.case_parts import CaseParts
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.needs import needed_runs
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.samples import Estimate, finite
from zonelab.analysis.rates.thinning_check import Movement, ThinningCheck
from zonelab.analysis.rates.year import RunKind

LOOKS_MAX = 5
UNPLANNED_LOOKS_MAX = 10
ERROR = 0.05
PLANNED = ERROR / 2
"""Error of the last look."""

_ANYTHING = Estimate(*map(np.asarray, (np.inf, 0.0, np.inf)))
"""Value of a figure of which there is no run."""

UNSEEN_RUNS = 300
"""Before so many runs nothing is stopped early that is merely unseen: by then its share of runs is below 1 %."""

HIDDEN = "thinned runs do not show it"

NO_PROOF = "no number of runs proves it"

ENDLESS_S = 1e12
"""Only an operation that is never confirmed takes longer."""


class ObjectiveStatus(StrEnum):
    MET = "met"
    """Proven, at 95 % for all objectives of all settings together."""
    NOT_MET = "not met"
    OPEN = "open"


def no_run_with(lacking: Sequence[str]) -> str:
    """Return in words that there is no run of classes of faults."""
    first, *others = (f"'{name}'" for name in lacking)
    named = listed([first, *others]) if len(others) < 2 else f"{first} and {len(others)} other classes of faults"
    return f"no run with {named} yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveJudgement:
    """``value``: of the figure, with its 95 % interval; infinite if there is no run of it.

    ``ratio``: of the estimate to the bound.

    ``upper``: the largest value that this look leaves possible, infinite if nothing bounds it yet. ``unseen``: it is
    open, but only since too few runs show no case. ``hidden``: runs were thinned, so that they do not show it.
    ``moved``: what thinned runs and less thinned ones show, in words, unless these are known to be alike.
    ``passes``: times of the scenario that its faults reach, and no simulated one, in words; empty if none.
    ``cases`` in ``messages`` of ``runs`` are what it rests on. ``unconfirmed``: where a time has no end, the share of
    operations that are never confirmed. ``at_ends``: ends of inputs at which it is not met. ``parts``: of losses of
    the year, what faults cost and what comes without one.
    ``lacking``: classes of faults, with or without a length, that it takes into account and that have no run, if it is
    open. ``needs``: so many runs of each kind would decide it if the estimate is right;
    of none if that cannot be told.
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
    hidden: bool = False
    passes: str = ""
    moved: str = ""
    unconfirmed: float | None = None
    parts: CaseParts | None = None
    at_ends: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    needs: Mapping[RunKind, int] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.status is ObjectiveStatus.OPEN

    @property
    def is_likely(self) -> bool:
        """Return whether it is met if the estimate is right, though that need not be proven."""
        return self.is_possible and not self.lacking

    @property
    def is_possible(self) -> bool:
        """Return the same by the runs that there are, though classes may have none."""
        return self.status is ObjectiveStatus.MET or (self.is_open and (self.unseen or self.ratio < 1))

    @property
    def seen(self) -> str:
        """The value that runs show, in the figure's unit; of cases that no run shows, in how many messages."""
        if self.lacking:
            return no_run_with(self.lacking)
        if not self.runs:
            return "no run yet"
        if self.parts is not None:
            return self._in_parts(self.parts)
        if self.objective.figure.counts_cases and not self.cases:
            return f"none in {counted(self.messages, 'message')}"
        if self.objective.is_zero:
            return f"{self.cases:,} in {counted(self.messages, 'message')}"
        if self.unconfirmed is not None:
            return f"{percent(self.unconfirmed)} never confirmed"
        return self.objective.told(float(self.value.value))

    def _in_parts(self, parts: CaseParts) -> str:
        if not self.objective.per_year and not self.cases:
            return f"none in {counted(self.messages, 'message')} ({parts.calm_messages:,} without a fault)"
        if self.objective.per_year:
            return f"{parts.told_by_faults}, on which it is decided; {parts.told_calm}"
        if self.objective.is_zero:
            return str(parts)
        return f"{self.objective.told(float(self.value.value))}: {parts}"

    def __str__(self) -> str:
        """Return what was seen, without the status; if it is open, also how far that may be from the bound."""
        if not self.is_open:
            return self.seen
        if self.at_ends:
            return f"{self.seen}; {'; '.join(self.at_ends)}"
        if self.hidden:
            zero = f"; {NO_PROOF}" if self.objective.is_zero else ""
            return f"{self.seen}{zero}; {HIDDEN}"
        if self.passes:
            return f"{self.seen}; no simulated fault reaches {self.passes}"
        if self.moved:
            return f"{self.seen}; {self.moved}"
        if self.objective.is_zero:
            return f"{self.seen}; {NO_PROOF}"
        limit = self.objective.told_limit
        if self.lacking or not self.runs:
            return f"{self.seen}, bound {limit}"
        if self.upper == float("inf"):
            return f"{self.seen}, too few runs to bound it, bound {limit}"
        side = "at least" if self.objective.figure.as_share else "at most"
        return f"{self.seen}, {side} {self.objective.told(self.upper)}, bound {limit}"

    def to_json(self) -> dict[str, Any]:
        return {
            "objective": str(self.objective),
            "status": str(self.status),
            **self.value.to_json(),
            "ratio_to_bound": finite(self.ratio) if self.runs and not self.lacking else None,
            "upper": finite(self.upper),
            "unseen": self.unseen,
            "hidden": self.hidden,
            "passes": self.passes,
            "moved": self.moved,
            "lacking": list(self.lacking),
            "runs": self.runs,
            "messages": self.messages,
            "unconfirmed": self.unconfirmed,
            "cases": self.cases,
            "parts": None if self.parts is None else self.parts.to_json(),
            "needs": {str(cell): count for cell, count in self.needs.items()},
            "bound": self.objective.limit,
        }


def error_at(look: int, looks: int | None) -> float:
    """Return what the look, counted from 1, may spend. ``looks``: how many are planned; None: the next may be the last.

    Then each has the same part, so that what is decided stays so.
    """
    if looks is None:
        return ERROR / UNPLANNED_LOOKS_MAX
    return PLANNED if look == looks else (ERROR - PLANNED) / (looks - 1)


def judge(
    measured: SettingRates, objective: Objective, *, error: float, planned: float | None = None
) -> ObjectiveJudgement:
    """``error``: how often one wrong decision may be made; ``planned``: at the look for which runs are planned.

    What is open has no value while a class has no run.
    """
    judged = _judged(measured, objective, error=error, planned=planned)
    lacking = measured.lacking(objective.figure, objective.condition) if judged.is_open else ()
    return replace(judged, value=_ANYTHING, unseen=False, lacking=lacking) if lacking else judged


def _judged(measured: SettingRates, objective: Objective, *, error: float, planned: float | None) -> ObjectiveJudgement:
    """Judge by the runs that there are, as if classes without one cost nothing at least and anything at most."""
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
        parts=CaseParts.of(measured, figure) if condition is None else None,
    )
    thinned = not figure.survives_thinning and measured.is_thinned(figure, condition)
    passes = measured.passes(condition)
    if not runs:
        return replace(open_, value=_ANYTHING, hidden=thinned, passes=passes)
    if figure.percentile is not None and float(value.value) == float("inf"):
        open_ = replace(open_, unconfirmed=float(measured.rate(figure, condition, at_s=ENDLESS_S).value))
    percentile, confidence = figure.percentile, 1 - 2 * error
    at_s, limit = (0.0, objective.limit) if percentile is None else (objective.bound, 1 - percentile)
    most = None
    if thinned and percentile is not None and not measured.bent(figure, at_s=at_s):
        most = measured.if_hidden(figure, condition, at_s=at_s, confidence=confidence)
    hidden = thinned and (most is None or float(most.value) >= limit)
    check = ThinningCheck.of(measured, figure, condition) if condition and figure.survives_thinning else None
    moved = "" if check is None or check.movement is Movement.NONE else str(check)
    undecidable = replace(open_, hidden=hidden, passes=passes, moved=moved)
    if objective.is_zero:
        broken = replace(open_, status=ObjectiveStatus.NOT_MET, ratio=float("inf"))
        return broken if cases else replace(undecidable, unseen=not hidden and not passes and not moved)
    rate, seen = (
        measured.rate(figure, condition, at_s=at_s, confidence=confidence, unseen=unseen) for unseen in (True, False)
    )
    high = rate.high if most is None or hidden else most.high
    if high < limit:
        if hidden or passes or moved:
            return replace(undecidable, needs={} if check is None else check.needs)
        return replace(open_, status=ObjectiveStatus.MET)
    if rate.low > limit:
        return replace(open_, status=ObjectiveStatus.NOT_MET)
    unseen = bool(seen.high < limit) and not hidden and not passes and not moved
    return replace(
        undecidable,
        upper=float(measured.value(figure, condition, confidence=confidence).high),
        unseen=unseen,
        needs=needed_runs(
            measured,
            objective,
            error=planned or error,
            if_hidden=None if most is None or hidden else float(most.value),
        ),
    )
