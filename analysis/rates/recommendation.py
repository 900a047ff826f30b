"""Which setting to take: of those that meet every objective the one with the least of what is preferred, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy import special

from zonelab.analysis.rates.decisions import ERROR, PLANNED, UNSEEN_RUNS, ObjectiveJudgement, ObjectiveStatus, judge
from zonelab.analysis.rates.figures import NonlinearFaults, SettingRates
from zonelab.analysis.rates.objectives import YEAR_S, Figure, Objective
from zonelab.analysis.rates.year import FAULTY_PART_MAX, YearlyFaults

FACTORS = tuple(1.5**step for step in range(1, 13))
"""By which an input is made larger and smaller, to see when the answer changes: up to 130."""

NONE = "no setting"


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingChoice:
    """One setting: what became of each objective. ``accepts_unseen``: what runs merely do not show counts as met."""

    setting: str
    judged: tuple[ObjectiveJudgement, ...]
    bent: tuple[NonlinearFaults, ...]
    accepts_unseen: bool = False

    @property
    def open(self) -> tuple[ObjectiveJudgement, ...]:
        """The objectives that are open and not accepted as they are."""
        return tuple(one for one in self.judged if one.is_open and not (self.accepts_unseen and one.unseen))

    @property
    def is_proven(self) -> bool:
        """Return whether every objective is met, or accepted."""
        return self.status is not ObjectiveStatus.NOT_MET and not self.open

    @property
    def is_likely(self) -> bool:
        """Return whether it meets every objective if the estimates are right."""
        return all(one.is_likely for one in self.judged)

    @property
    def status(self) -> ObjectiveStatus:
        """Return the status of the setting: the worst of its objectives'."""
        order = (ObjectiveStatus.NOT_MET, ObjectiveStatus.OPEN, ObjectiveStatus.MET)
        return min((one.status for one in self.judged), key=order.index, default=ObjectiveStatus.MET)

    @property
    def binding(self) -> ObjectiveJudgement | None:
        """Return the objective not met whose estimate is most above its bound."""
        missed = [one for one in self.judged if one.status is ObjectiveStatus.NOT_MET]
        return max(missed, key=lambda one: one.ratio, default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisiveInput:
    """An input that would change the answer: what it is, what it would have to be, and what the answer is then."""

    what: str
    now: str
    then: str
    answer: str

    def __str__(self) -> str:
        return f"{self.what}: {self.now} → {self.then} makes it {self.answer}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """``recommended``: None if no setting qualifies. ``tied``: cannot be told apart from it.

    Settings with every objective met, or accepted, come before those of which that is only likely.
    ``undecided``: settings with an open objective. ``complete``: nothing more is to be decided. ``behind``: settings
    that would do, too, each with the figure of ``prefer`` of which it has more.
    """

    rows: tuple[SettingChoice, ...]
    recommended: str | None
    tied: tuple[str, ...]
    undecided: tuple[str, ...]
    complete: bool
    prefer: tuple[Figure, ...]
    behind: Mapping[str, Figure]


def recommend(
    settings: Mapping[str, SettingRates],
    objectives: Sequence[Objective],
    *,
    prefer: Sequence[Figure],
    error: float = ERROR,
    planned: float = PLANNED,
    accepts_unseen: bool = False,
) -> Recommendation:
    """``error``: how often any decision about any setting may be wrong, at this look; ``planned``: at the last one."""
    each = error / max(1, len(settings) * sum(not one.is_zero for one in objectives))
    rows = tuple(
        SettingChoice(
            setting=name,
            judged=tuple(judge(measured, one, error=each, planned=each * planned / error) for one in objectives),
            bent=tuple(dict.fromkeys(chain.from_iterable(_bent(measured, one) for one in objectives))),
            accepts_unseen=accepts_unseen,
        )
        for name, measured in settings.items()
    )
    proven = [row.setting for row in rows if row.is_proven]
    best, behind = preferred(settings, proven or [row.setting for row in rows if row.is_likely], prefer=prefer)
    left = [one for row in rows if row.status is not ObjectiveStatus.NOT_MET for one in row.judged if one.is_open]
    return Recommendation(
        rows=rows,
        recommended=best[0] if best else None,
        tied=tuple(best[1:]),
        undecided=tuple(row.setting for row in rows if row.status is not ObjectiveStatus.NOT_MET and row.open),
        complete=all(one.unseen and one.runs >= UNSEEN_RUNS for one in left),
        prefer=tuple(prefer),
        behind=behind,
    )


def preferred(
    settings: Mapping[str, SettingRates], names: Sequence[str], *, prefer: Sequence[Figure]
) -> tuple[list[str], dict[str, Figure]]:
    """Return those with the least of the first figure; where they cannot be told apart, of the next one, and so on.

    Then the others, each with the figure that it has more of.
    """
    left: list[str] = list(names)
    behind: dict[str, Figure] = {}
    for figure in prefer:
        if len(left) < 2:
            break
        values = {name: float(settings[name].value(figure).value) for name in left}
        left.sort(key=values.__getitem__)
        first = settings[left[0]]
        more = [name for name in left[1:] if _apart(first, settings[name], figure, pairs=len(left))]
        behind |= dict.fromkeys(more, figure)
        left = [name for name in left if name not in more]
    return left, behind


def _apart(first: SettingRates, other: SettingRates, figure: Figure, *, pairs: int) -> bool:
    """Return whether the difference, seed by seed, is more than chance makes it, among so many ``pairs``."""
    difference, error = paired_difference(first, other, figure)
    return bool(abs(difference) > -special.ndtri(ERROR / 2 / max(1, pairs - 1)) * error)


def paired_difference(first: SettingRates, other: SettingRates, figure: Figure) -> tuple[float, float]:
    """By how much a year of ``other`` has more cases, and the standard error of that, from runs of the same seeds.

    Of a percentile it is the operations that are slower than that of ``first``.
    """
    at_s = float(first.value(figure).value) if figure.operation is not None else 0.0
    difference, variance = 0.0, 0.0
    for cell, weight in first.year.weights().items():
        one, two = (measured.outcomes.of_run(cell, figure, at_s) for measured in (first, other))
        changes = np.array([two[seed] - one[seed] for seed in sorted(one.keys() & two.keys())])
        if changes.size > 1:
            difference += weight * float(changes.mean())
            variance += weight**2 * float(changes.var(ddof=1)) / changes.size
    return difference, variance**0.5


def changes(
    settings: Mapping[str, SettingRates], objectives: Sequence[Objective], *, prefer: Sequence[Figure]
) -> Iterator[DecisiveInput]:
    """Yield for each rate and duration of faults, and each bound, the nearest value with another answer.

    By the estimates as they are: no runs are made, and their intervals are left out of it.
    """
    year = next(iter(settings.values())).year
    now = _answer(settings, objectives, prefer)
    for fault in year.faults:
        yield from _fault_changes(settings, objectives, fault, prefer, now)
    for index, objective in enumerate(objectives):
        if objective.limit:
            yield from _bound_changes(settings, objectives, index, prefer, now)


def _fault_changes(
    settings: Mapping[str, SettingRates],
    objectives: Sequence[Objective],
    fault: YearlyFaults,
    prefer: Sequence[Figure],
    now: str,
) -> Iterator[DecisiveInput]:
    year = next(iter(settings.values())).year
    per_year = ((fault.per_year * factor, replace(fault, per_year=fault.per_year * factor)) for factor in _both())
    lasts = ((fault.lasts_s * factor, replace(fault, lasts_s=fault.lasts_s * factor)) for factor in _both())
    lasting = fault.lasts_s if fault.has_line else 0.0
    for what, was, tried in (("a year", fault.per_year, per_year), ("seconds each", lasting, lasts)):
        for value, changed in tried if was else ():
            other = year.with_fault(changed)
            if other.faulty_s < FAULTY_PART_MAX * YEAR_S:
                answer = _answer({name: each.on(other) for name, each in settings.items()}, objectives, prefer)
                if answer != now:
                    yield DecisiveInput(
                        what=f"{fault.name}, {what}", now=f"{was:.3g}", then=f"{value:.3g}", answer=answer
                    )
                    break


def _bound_changes(
    settings: Mapping[str, SettingRates],
    objectives: Sequence[Objective],
    index: int,
    prefer: Sequence[Figure],
    now: str,
) -> Iterator[DecisiveInput]:
    objective = objectives[index]
    for factor in _both():
        other = replace(objective, bound=objective.limit * factor, tolerance=None)
        answer = _answer(settings, [*objectives[:index], other, *objectives[index + 1 :]], prefer)
        if answer != now:
            name = str(objective.figure) + (f" with {objective.condition}" if objective.condition else "")
            values = (objective.told(bound) for bound in (objective.limit, other.bound))
            yield DecisiveInput(what=f"bound of {name}", now=next(values), then=next(values), answer=answer)
            return


def _both() -> Iterator[float]:
    """Near ones first."""
    for factor in FACTORS:
        yield from (factor, 1 / factor)


def _answer(settings: Mapping[str, SettingRates], objectives: Sequence[Objective], prefer: Sequence[Figure]) -> str:
    """The setting that the estimates say, taken as true."""

    def good(measured: SettingRates) -> bool:
        return all(
            measured.outcomes.total(one.figure.name, one.condition) == 0
            if one.is_zero
            else float(measured.estimate(one.figure, one.condition)) < one.limit
            for one in objectives
        )

    keys = {
        name: tuple(float(f"{measured.estimate(figure):.2g}") for figure in prefer)
        for name, measured in settings.items()
        if good(measured)
    }
    return min(keys, key=keys.__getitem__) if keys else NONE


def _bent(measured: SettingRates, objective: Objective) -> Iterator[NonlinearFaults]:
    at_s = objective.bound if objective.figure.operation is not None else 0.0
    for bent in measured.bent(objective.figure, at_s=at_s):
        if objective.condition in (None, bent.fault):
            yield bent
