"""First runs of an evaluation, in stages: a first answer soon, then what thinned runs do not show, then each class."""

from collections.abc import Sequence
from dataclasses import dataclass

from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.year import RunKind, Year
from zonelab.studies.evaluate.budget import FIRST_ANSWER_S, Budget

_FIRST_RUNS_PART = 0.75
"""Part of the minute before a first answer in which runs are made; the rest is for those before it and for judging."""

_ANSWER_PART = 0.25
"""Largest part of a budget before the first answer."""

UNTHINNED_PART = 0.2
"""Part of a budget for the first runs without a fault that are thinned least."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstStage:
    """Stage of first runs: of all settings, of ``kinds``, for as many as ``room_s`` seconds of processors allow.

    ``clock_s``: instead of that, so long a time, in which as many are made as fit. ``rejected_too``: one run of each
    setting that is rejected, too, since what it is rejected for comes from thinned runs.
    """

    kinds: tuple[RunKind, ...]
    room_s: float = float("inf")
    clock_s: float | None = None
    rejected_too: bool = False


def first_stages(year: Year, objectives: Sequence[Objective], budget: Budget) -> list[FirstStage]:
    """Return the stages in the order in which they are made; without a budget of time there is one.

    Of a load that is thinned a first answer is given by the most thinned runs without a fault, which cost least. Of
    another one it is given by runs without a fault and with the class that decides most objectives; of those that
    decide as many it is the one that a year has more of.
    """
    seconds = budget.seconds
    if seconds is None:
        return [FirstStage(kinds=year.cells)]
    classes = _classes(year, objectives)
    if not year.thinned_calm:
        together = [(year.calm, *(classes[0] if classes else ())), *classes[1:]]
        rooms = [budget.first_room_s(number, len(together)) for number in range(len(together))]
        return [FirstStage(kinds=kinds, room_s=room_s) for kinds, room_s in zip(together, rooms, strict=True)]
    answer_s = min(_FIRST_RUNS_PART * FIRST_ANSWER_S, _ANSWER_PART * seconds)
    room_s = budget.jobs * seconds / 2 / max(1, len(classes))
    return [
        FirstStage(kinds=year.thinned_calm[:1], clock_s=answer_s),
        FirstStage(kinds=(year.calm,), clock_s=UNTHINNED_PART * seconds, rejected_too=True),
        *(FirstStage(kinds=kinds, room_s=room_s) for kinds in classes),
    ]


def _classes(year: Year, objectives: Sequence[Objective]) -> list[tuple[RunKind, ...]]:
    """Return the kinds of each class of faults, with the runs without a fault that are thinned alike."""

    def place(name: str) -> tuple[int, float]:
        fault = year.fault(name)
        return -sum(one.condition == name for one in objectives), -fault.per_year * fault.lasts_s

    names = sorted((one.name for one in year.faults), key=place)
    alike = {name: RunKind(thinning=year.fault(name).thinning) for name in names}
    calm = {name: (alike[name],) if alike[name] in year.thinned_calm[1:] else () for name in names}
    return [(*calm[name], *year.fault(name).cells) for name in names]
