"""Which setting to take: of those that meet every objective the one with the least of what is preferred, and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy import special

from zonelab.analysis.rates.decisions import ERROR, PLANNED, ObjectiveJudgement, ObjectiveStatus, judge
from zonelab.analysis.rates.figures import NonlinearFaults, SettingRates
from zonelab.analysis.rates.objectives import Figure, Objective

TOLERANCE = 0.25
"""Part of a bound: settings that differ by less than that in what it bounds are tied."""

UNBOUNDED_TOLERANCE = 0.05
"""Part of the least value of a figure that no objective bounds."""


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
    def unproven(self) -> tuple[int, int]:
        """Return how many objectives are open and not accepted, and how many are open."""
        return len(self.open), sum(one.is_open for one in self.judged)

    @property
    def nearest(self) -> float:
        """Return the largest part of its bound that an estimate takes."""
        return max((one.ratio for one in self.judged), default=0.0)

    @property
    def is_proven(self) -> bool:
        """Return whether every objective is met, or accepted."""
        return self.status is not ObjectiveStatus.NOT_MET and not self.open

    @property
    def is_likely(self) -> bool:
        """Return whether it meets every objective if the estimates are right."""
        return all(one.is_likely for one in self.judged)

    @property
    def is_possible(self) -> bool:
        """Return the same by the runs that there are, though classes of faults may have none."""
        return all(one.is_possible for one in self.judged)

    @property
    def is_known(self) -> bool:
        """Return whether every objective that is open has a run of each of its classes of faults."""
        return not any(one.lacking for one in self.judged)

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
class Recommendation:
    """``recommended``: None if no setting qualifies. ``tied``: those that are alike in all that the file asks.

    Settings with every objective met, or accepted, come before those of which that is only likely. ``leading``: the
    recommended one; without one, the first of those that runs do not speak against, though classes of faults have none.
    ``undecided``: settings with an open objective. ``behind``: settings that would do, too, each with the figure of
    ``prefer`` of which it has more. ``slightly``: the same of tied ones, which have more by less than the tolerance.
    """

    rows: tuple[SettingChoice, ...]
    recommended: str | None
    leading: str | None
    tied: tuple[str, ...]
    undecided: tuple[str, ...]
    prefer: tuple[Figure, ...]
    behind: Mapping[str, Figure]
    slightly: Mapping[str, Figure]


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
            judged=tuple(
                judged_at_ends(measured, one, error=each, planned=each * planned / error) for one in objectives
            ),
            bent=tuple(dict.fromkeys(chain.from_iterable(_bent(measured, one) for one in objectives))),
            accepts_unseen=accepts_unseen,
        )
        for name, measured in settings.items()
    )
    proven = [row.setting for row in rows if row.is_proven]
    doing = proven or [row.setting for row in rows if row.is_likely]
    possible = doing or [row.setting for row in rows if row.is_possible]
    alike, behind = preferred(settings, possible, prefer=prefer, alike_within=objectives)
    best, slightly = _ordered(settings, [row for row in rows if row.setting in alike], prefer=prefer)
    return Recommendation(
        rows=rows,
        recommended=best[0] if doing else None,
        leading=best[0] if best else None,
        tied=tuple(best[1:]) if doing else (),
        undecided=tuple(row.setting for row in rows if row.status is not ObjectiveStatus.NOT_MET and row.open),
        prefer=tuple(prefer),
        behind=behind if doing else {},
        slightly=slightly if doing else {},
    )


def judged_at_ends(
    measured: SettingRates, objective: Objective, *, error: float, planned: float | None = None
) -> ObjectiveJudgement:
    """Return the judgement in the middle of what the file gives as intervals; open if their ends say otherwise.

    ``error`` and ``planned`` as those of ``judge``.
    """
    middle = judge(measured, objective, error=error, planned=planned)
    ends = [
        judge(measured.on(year), one, error=error, planned=planned)
        for year in measured.year.ends
        for one in objective.ends
        if year is not measured.year or one is not objective
    ]
    if all(one.status is middle.status for one in ends):
        return middle
    upper = max(max(one.upper if one.is_open else 0.0, float(one.value.high)) for one in (middle, *ends))
    return replace(middle, status=ObjectiveStatus.OPEN, unseen=False, upper=upper)


def preferred(
    settings: Mapping[str, SettingRates],
    names: Sequence[str],
    *,
    prefer: Sequence[Figure],
    alike_within: Sequence[Objective] | None = None,
) -> tuple[list[str], dict[str, Figure]]:
    """Return those with the least of the first figure; where they cannot be told apart, of the next one, and so on.

    Then the others, each with the figure that it has more of. ``alike_within``: objectives, by which differences below
    the tolerance do not count; None: every difference that runs show counts.
    """
    left: list[str] = list(names)
    behind: dict[str, Figure] = {}
    for figure in prefer:
        if len(left) < 2:
            break
        values = {name: float(settings[name].value(figure).value) for name in left}
        left.sort(key=values.__getitem__)
        first = settings[left[0]]
        alike = values[left[0]] + (0.0 if alike_within is None else _tolerance(figure, values[left[0]], alike_within))
        more = [
            name for name in left[1:] if values[name] > alike and apart(first, settings[name], figure, pairs=len(left))
        ]
        behind |= dict.fromkeys(more, figure)
        left = [name for name in left if name not in more]
    return left, behind


def bounding(figure: Figure, objectives: Iterable[Objective]) -> Objective | None:
    """Return the objective that bounds ``figure`` in the year as a whole, if there is one."""
    return next((one for one in objectives if one.figure == figure and one.condition is None), None)


def _tolerance(figure: Figure, least: float, objectives: Sequence[Objective]) -> float:
    bound = bounding(figure, objectives)
    return UNBOUNDED_TOLERANCE * least if bound is None else TOLERANCE * bound.limit


def _ordered(
    settings: Mapping[str, SettingRates], tied: Sequence[SettingChoice], *, prefer: Sequence[Figure]
) -> tuple[list[str], dict[str, Figure]]:
    """Return tied settings: the fewest open objectives first, then the least preferred figures, then the most margin.

    Then those that are later for a figure, with it.
    """
    fewest = min((row.unproven for row in tied), default=(0, 0))
    proven = [row.setting for row in tied if row.unproven == fewest]
    _, slightly = preferred(settings, proven, prefer=prefer)
    figures = list(prefer)

    def place(row: SettingChoice) -> tuple[tuple[int, int], int, float]:
        after = figures.index(slightly[row.setting]) if row.setting in slightly else len(figures)
        return row.unproven, -after, row.nearest

    return [row.setting for row in sorted(tied, key=place)], slightly


def apart(first: SettingRates, other: SettingRates, figure: Figure, *, pairs: int) -> bool:
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


def _bent(measured: SettingRates, objective: Objective) -> Iterator[NonlinearFaults]:
    at_s = objective.bound if objective.figure.operation is not None else 0.0
    for bent in measured.bent(objective.figure, at_s=at_s):
        if objective.condition in (None, bent.fault):
            yield bent
