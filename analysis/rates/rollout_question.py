"""Question of an evaluation: settings in a year, objectives and preferences, and the answer if estimates are true."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from zonelab.analysis.number_text import plain
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.input_range import InputRange
from zonelab.analysis.rates.objectives import YEAR_S, Figure, Objective
from zonelab.analysis.rates.quantities import in_time
from zonelab.analysis.rates.year import FAULTY_PART_MAX, Year, YearlyFaults

NONE = "no setting"


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutQuestion:
    """``prefer``: figures of which least is best, the first one first."""

    settings: Mapping[str, SettingRates]
    objectives: Sequence[Objective]
    prefer: Sequence[Figure]

    @property
    def year(self) -> Year:
        return next(iter(self.settings.values())).year

    def answer(self) -> str:
        """The setting that the estimates say, taken as true; ``NONE`` if none meets all objectives."""
        keys = {name: self._key(name) for name in self.settings if self.meets(name)}
        return min(keys, key=keys.__getitem__) if keys else NONE

    def meets(self, name: str) -> bool:
        """Return whether the estimates of a setting meet every objective."""
        measured = self.settings[name]
        return all(
            measured.outcomes.total(one.figure.name, one.condition) == 0
            if one.is_zero
            else float(measured.estimate(one.figure, one.condition)) < one.limit
            for one in self.objectives
        )

    def _key(self, name: str) -> tuple[float, ...]:
        return tuple(float(f"{self.settings[name].estimate(figure):.2g}") for figure in self.prefer)

    def with_fault(self, changed: YearlyFaults) -> Self | None:
        """The same runs in a year with other faults; None if more than half of it would be faulty."""
        other = self.year.with_fault(changed)
        if other.faulty_s > FAULTY_PART_MAX * YEAR_S:
            return None
        return replace(
            self, settings={name: each.on(each.year.with_fault(changed)) for name, each in self.settings.items()}
        )

    def with_bound(self, place: int, bound: float) -> Self:
        """With another bound of the objective at ``place``."""
        other = replace(self.objectives[place], bound=bound, tolerance=None)
        return replace(self, objectives=[*self.objectives[:place], other, *self.objectives[place + 1 :]])


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightInput:
    """A number of the file that needs no other runs: ``at`` gives the question with another one, None if it has none.

    ``value``: the number, or the middle of ``span``. ``told``: with its unit.
    """

    what: str
    value: float
    span: InputRange | None
    told: Callable[[float], str]
    at: Callable[[RolloutQuestion, float], RolloutQuestion | None]


def weight_inputs(question: RolloutQuestion) -> Iterator[WeightInput]:
    """Yield rates and durations of every class of faults, and every bound."""
    for fault in question.year.faults:
        yield from _of_fault(fault)
    for place, objective in enumerate(question.objectives):
        if objective.limit:
            name = str(objective.figure) + (f" with {objective.condition}" if objective.condition else "")
            yield WeightInput(
                what=f"bound of {name}",
                value=objective.limit,
                span=objective.span,
                told=objective.told,
                at=lambda asked, value, place=place: asked.with_bound(place, value),  # type: ignore[misc]
            )


def _of_fault(fault: YearlyFaults) -> Iterator[WeightInput]:
    yield WeightInput(
        what=f"{fault.name}, a year",
        value=fault.per_year,
        span=fault.per_year_span,
        told=plain,
        at=lambda asked, value: asked.with_fault(replace(asked.year.fault(fault.name), per_year=value)),
    )
    if not fault.has_line:
        return
    yield WeightInput(
        what=f"{fault.name}, lasts",
        value=fault.lasts_s,
        span=fault.lasts_span,
        told=lambda value: in_time(value, plain),
        at=lambda asked, value: asked.with_fault(replace(asked.year.fault(fault.name), lasts_s=value)),
    )
