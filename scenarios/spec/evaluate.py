"""The section ``evaluate`` of a scenario: what to choose from, what must be met, and what a year brings."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from zonelab.analysis.message_classes import MessageClass, lacking_means
from zonelab.analysis.rates.objectives import (
    DUPLICATES,
    PREFER_DEFAULT,
    YEAR_S,
    Figure,
    Objective,
    TimedOperation,
    contradictions,
)
from zonelab.analysis.rates.year import FAULTY_PART_MAX, Year, YearlyFaults
from zonelab.cluster.fields import NonNegative, Positive, Problem, Section
from zonelab.engine.queue import Features

ANY = "any"
"""Place of a fault that each run draws."""

_BEGINS = 0.25
"""Part of the load before the fault."""

_LENGTHS = (0.125, 0.25, 0.5)
"""Parts of the load that the simulated faults last, if the file says nothing."""


def _objective(value: Any) -> Objective:
    if isinstance(value, Objective):
        return value
    if isinstance(value, dict) and len(value) == 1:  # as k6 writes it, a colon behind the figure
        ((figure, bound),) = value.items()
        value = f"{figure}: {bound[0] if isinstance(bound, list) and bound else bound}"
    if not isinstance(value, str):
        raise ValueError(f"got {value!r}; accepted: a text such as p99(push) < 20ms")
    return Objective.parsed(value)


def _figure(value: Any) -> Figure:
    return value if isinstance(value, Figure) else Figure.parsed(str(value))


def _some(listed: tuple[Any, ...]) -> tuple[Any, ...]:
    if not listed:
        raise ValueError("got []; accepted: at least one")
    return listed


def _lengths(lengths: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if lengths is not None and not (len(lengths) == 3 and 0 < lengths[0] < lengths[1] < lengths[2]):
        raise ValueError(
            f"got {list(lengths)}; accepted: three lengths, each longer than the one before, e.g. [1, 2, 4]"
        )
    return lengths


def _values(vary: dict[str, list[Any]]) -> dict[str, list[Any]]:
    for path, values in vary.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"got {path}: {values!r}; accepted: a list of values, e.g. {path}: [1, 2]")
    return vary


class ExpectedFaults(Section):
    """A class of faults, as a year brings them and as runs show them."""

    per_year: NonNegative
    lasts_s: Positive
    fault: dict[str, Any]
    """A fault of a scenario without its times; ``any`` as its place: each run draws a zone, or a link."""
    lengths_s: Annotated[tuple[Positive, ...] | None, AfterValidator(_lengths)] = None
    """Lengths of the simulated faults; an eighth, a quarter and a half of the load if not given."""


_Objective = Annotated[Objective, PlainValidator(_objective), PlainSerializer(str)]
_Figure = Annotated[Figure, PlainValidator(_figure), PlainSerializer(str)]


class AcceptedOpen(StrEnum):
    """Kind of open objective that counts as met nevertheless."""

    UNSEEN = "unseen"
    """No run shows a case, and the runs are too few to prove that there are so few."""


class Evaluate(Section):
    vary: Annotated[dict[str, list[Any]], PlainValidator(_values)] = Field(default_factory=dict)
    """Values by path, as of ``--set``; every combination is a setting. Without it there is one."""
    objectives: Annotated[tuple[_Objective, ...], AfterValidator(_some)]
    prefer: Annotated[tuple[_Figure, ...], AfterValidator(_some)] = tuple(map(Figure.parsed, PREFER_DEFAULT))
    """Figures by which one of the settings that meet all objectives is chosen: least of the first, then of the second,
    and so on.
    """
    accept: AcceptedOpen | None = None
    """Which open objectives count towards a recommendation; none if not given."""
    faults: dict[str, ExpectedFaults] = Field(default_factory=dict)
    """By name, which objectives use: ``lost == 0 with NAME``."""

    def year(self, run_s: float) -> Year:
        """The faults of a year, with the lengths at which runs of ``run_s`` seconds show what each costs."""
        return Year(
            run_s=run_s,
            faults=tuple(
                YearlyFaults(name=name, per_year=one.per_year, lasts_s=one.lasts_s, lengths_s=lengths_of(one, run_s))
                for name, one in self.faults.items()
            ),
        )

    def problems(self, *, run_s: float, features: Features, late_ms: float | None) -> Iterator[Problem]:
        """Yield what is wrong with the section in a scenario with ``run_s`` of load, whose queue has ``features``.

        ``late_ms``: what ``checks`` says is too late.
        """
        for text in contradictions(self.objectives):
            yield Problem("evaluate.objectives", text)
        lacking = lacking_means(leases=features.leases, priorities=features.priorities, order=features.order)
        unjudged = [
            *map(str, lacking),
            *([] if features.leases else [DUPLICATES]),
            *(["times of a lease"] if features.order else []),
        ]
        accepted = ", ".join(self.faults) or "none, as evaluate.faults is empty"
        for index, objective in enumerate(self.objectives):
            path = f"evaluate.objectives[{index}]"
            if objective.condition is not None and objective.condition not in self.faults:
                yield Problem.of(path, objective.condition, f"with a fault of evaluate.faults ({accepted})")
            if objective.figure.name == MessageClass.LATE and late_ms is None:
                yield Problem(path, f"{objective} needs checks.late_ms, how late is too late")
            if objective.figure.name in unjudged or (
                features.order and objective.figure.operation is TimedOperation.LEASE
            ):
                yield Problem.of(path, str(objective), f"what this queue has: not {', '.join(unjudged)}")
        for name, one in self.faults.items():
            last_s = begin_s(run_s) + lengths_of(one, run_s)[-1]
            if last_s > run_s:
                most_s = run_s - begin_s(run_s)
                path = f"evaluate.faults.{name}.lengths_s"
                yield Problem.of(
                    path, list(one.lengths_s or ()), f"at most {most_s:g}, which is left of load.duration_s"
                )
        if (faulty_s := self.year(run_s).faulty_s) > YEAR_S * FAULTY_PART_MAX:
            yield Problem.of(
                "evaluate.faults", f"{faulty_s / YEAR_S:.0%} of the year", "at most half of the year with a fault"
            )


def begin_s(run_s: float) -> float:
    """When the fault of a run begins."""
    return round(run_s * _BEGINS, 3)


def lengths_of(expected: ExpectedFaults, run_s: float) -> tuple[float, float, float]:
    short, middle, long = expected.lengths_s or tuple(round(run_s * part, 3) for part in _LENGTHS)
    return short, middle, long
