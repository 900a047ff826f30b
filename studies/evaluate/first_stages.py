"""First runs of an evaluation, in stages: a first answer soon, then what thinned runs do not show, then each class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.year import RunKind, Year
from zonelab.studies.evaluate.budget import FEWEST, FIRST_ANSWER_S, Budget

_FIRST_RUNS_PART = 0.75
"""Part of the minute before a first answer in which runs are made; the rest is for those before it and for judging."""

_ANSWER_PART = 0.25
"""Largest part of a budget before the first answer."""

UNTHINNED_PART = 0.2
"""Part of a budget for the first runs without a fault that are thinned least; as large a one is for those of settings
that got no more runs, and half of it for these with the class that decides most.
"""

CLASSES_PART = 0.5
"""Part of a budget for the first runs of all classes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstStage:
    """Stage of first runs: of all settings, of ``kinds``, for as many as ``room_s`` seconds of processors allow.

    ``fewest``: of each setting before more; as many are made as fit, whatever a run takes. ``rejected_too``: of each
    setting that is rejected, too, since what it is rejected for comes from thinned runs. ``others``: one run of each
    setting that has none and is not rejected, also of those that got no more runs.
    """

    kinds: tuple[RunKind, ...]
    room_s: float = float("inf")
    fewest: int | None = None
    rejected_too: bool = False
    others: bool = False


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
    unthinned_s = budget.jobs * UNTHINNED_PART * seconds
    return [
        FirstStage(kinds=year.thinned_calm[:1], room_s=budget.jobs * answer_s, fewest=FEWEST),
        FirstStage(kinds=(year.calm,), room_s=unthinned_s, fewest=1, rejected_too=True),
        *(
            FirstStage(kinds=kinds, room_s=budget.jobs * seconds * part)
            for kinds, part in zip(classes, _parts(len(classes)), strict=True)
        ),
        FirstStage(kinds=(year.calm,), room_s=unthinned_s, others=True),
        *(FirstStage(kinds=kinds, room_s=unthinned_s / 2, others=True) for kinds in classes[:1]),
    ]


def _parts(classes: int) -> list[float]:
    """Return the part of a budget for the first runs of each class: half of it in all, and half of that for the one
    that decides most.
    """
    if classes < 2:
        return [CLASSES_PART] * classes
    return [CLASSES_PART / 2, *([CLASSES_PART / 2 / (classes - 1)] * (classes - 1))]


def without_broken(settings: Mapping[str, SettingRates], objectives: Sequence[Objective]) -> list[str]:
    """Leave out settings of which a run shows what must never be, which is an error at no number of looks."""
    never = [(one.figure.name, one.condition) for one in objectives if one.is_zero]
    return [name for name, one in settings.items() if not any(one.outcomes.total(*what) for what in never)]


def _classes(year: Year, objectives: Sequence[Objective]) -> list[tuple[RunKind, ...]]:
    """Return the kinds of each class of faults, with the runs without a fault that are thinned alike."""

    def place(name: str) -> tuple[int, float]:
        fault = year.fault(name)
        return -sum(one.condition == name for one in objectives), -fault.per_year * fault.lasts_s

    names = sorted((one.name for one in year.faults), key=place)
    alike = {name: RunKind(thinning=year.fault(name).thinning) for name in names}
    calm = {name: (alike[name],) if alike[name] in year.thinned_calm[1:] else () for name in names}
    return [(*calm[name], *year.fault(name).cells) for name in names]
