"""The section ``evaluate`` of a scenario: what to choose from, what must be met, and what a year brings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator

from zonelab.analysis.message_classes import MessageClass, lacking_means
from zonelab.analysis.rates.input_range import InputRange
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

_LENGTHS = (0.25, 0.5, 1.0)
"""Parts of the longest simulated fault that the others last, if the file says nothing."""

_BUSY_MAX = 0.95
"""Consumers that have more to do would need no end of load for the backlog of a fault."""


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


def _time_range(value: Any) -> InputRange:
    found = InputRange.parsed(value)
    if found.low <= 0:
        raise ValueError(f"got {value!r}; accepted: more than 0 s, or an interval LOW..HIGH, e.g. 600..1800")
    return found


def _factors(value: Any) -> InputRange:
    found = InputRange.parsed(value)
    if not 0 < found.low <= 1 <= found.high:
        raise ValueError(f"got {value!r}; accepted: factors around 1, which is what the file says, e.g. 0.5..2")
    return found


def _number_or_text(one: InputRange) -> float | str:
    return one.low if one.is_known else str(one)


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


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, dict) else given


def _values(vary: dict[str, list[Any]]) -> dict[str, list[Any]]:
    for path, values in vary.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"got {path}: {values!r}; accepted: a list of values, e.g. {path}: [1, 2]")
    return vary


MESSAGES = "messages"
"""In ``verify``: the number of messages that were pushed."""


def _queries(verify: dict[str, Any]) -> dict[str, str]:
    if not isinstance(verify, dict) or not all(isinstance(query, str) and query for query in verify.values()):
        raise ValueError(f"got {verify!r}; accepted: PromQL by figure, e.g. p99(push): 'histogram_quantile(0.99, …)'")
    for name in verify:
        if name != MESSAGES:
            Figure.parsed(name)
    return verify


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadTimes:
    """Times of the load of runs, in seconds. ``run_s``: as the scenario has it.

    ``busy``: the share of their time for which the consumers of a zone work. ``settle_s``: a lease and a reconnection.
    ``most_s``: so long a run costs what one may; ``grows`` is False if the messages of the load are listed one by one.
    """

    run_s: float
    busy: float = 0.0
    settle_s: float = 0.0
    most_s: float = inf
    grows: bool = True

    @property
    def begin_s(self) -> float:
        """When the fault of a run begins."""
        return round(self.run_s * _BEGINS, 3)

    @property
    def longest_s(self) -> float:
        """Return the longest fault that a run may have."""
        in_one_run = self.run_s - self.begin_s
        if not self.grows:
            return in_one_run
        return max(in_one_run, (self.most_s - self.begin_s - self.settle_s) * (1 - min(self.busy, _BUSY_MAX)))

    def load_s(self, fault_s: float) -> float:
        """Return the load with a fault of ``fault_s``: it goes on until the backlog of the fault is gone."""
        if not self.grows:
            return self.run_s
        busy = min(self.busy, _BUSY_MAX)
        return round(max(self.run_s, self.begin_s + fault_s / (1 - busy) + self.settle_s), 3)


class FaultPart(Section):
    """One fault of a class: a fault of a scenario with its times relative to the event, or without them."""

    model_config = ConfigDict(extra="allow")

    after_s: NonNegative = 0.0
    for_s: Positive | None = None
    """None: until the event ends."""

    @property
    def fault(self) -> Mapping[str, Any]:
        """Return the fault without its times."""
        return self.model_extra or {}

    @property
    def least_s(self) -> float:
        """The event is as long at least."""
        return self.after_s + (self.for_s or 0.0)


class ExpectedFaults(Section):
    """A class of faults, as a year brings them and as runs show them."""

    per_year: Annotated[InputRange, PlainValidator(InputRange.parsed), PlainSerializer(_number_or_text)]
    """A number, or an interval such as ``1..6`` if only its ends are known; so with ``lasts_s``."""
    lasts_s: Annotated[InputRange, PlainValidator(_time_range), PlainSerializer(_number_or_text)] | None = None
    """Not given if each part of the class has a length of its own."""
    fault: Annotated[tuple[FaultPart, ...], BeforeValidator(_listed), AfterValidator(_some)]
    """A fault of a scenario, or faults that happen together; ``any`` as a place: each run draws a zone, or a link, for
    all of them.
    """
    lengths_s: Annotated[tuple[Positive, ...] | None, AfterValidator(_lengths)] = None
    """Lengths of the simulated faults; if not given the real one and a quarter of it, or as long as runs may be."""

    @property
    def own_s(self) -> float | None:
        """Return its length if each part has its own; None if it is as long as it is said to be."""
        return None if any(part.for_s is None for part in self.fault) else self.least_s

    @property
    def least_s(self) -> float:
        return max(part.least_s for part in self.fault)

    @property
    def event_s(self) -> float:
        """Return how many seconds it really lasts."""
        return self.own_s or (0.0 if self.lasts_s is None else self.lasts_s.middle)

    def problems(self, path: str, times: LoadTimes) -> Iterator[Problem]:
        """Yield what is wrong with its lengths."""
        if self.own_s is None and self.lasts_s is None:
            yield Problem(f"{path}.lasts_s", "missing; it has no default, unless each fault of the class has for_s")
            return
        if self.own_s is not None:
            lasts_s = None if self.lasts_s is None else self.lasts_s.middle
            for name, given in (("lasts_s", lasts_s), ("lengths_s", self.lengths_s)):
                if given not in (None, self.own_s):
                    yield Problem.of(f"{path}.{name}", given, "nothing, as each fault of the class has for_s")
            return
        lengths_s = self.lengths(times)
        if lengths_s[-1] > times.longest_s and not times.grows:
            accepted = f"at most {times.longest_s:g}, which is left of load.duration_s"
            yield Problem.of(f"{path}.lengths_s", list(self.lengths_s or ()), accepted)
        if lengths_s[0] < self.least_s or any(part.after_s >= lengths_s[0] for part in self.fault):
            yield Problem.of(
                f"{path}.fault",
                f"faults that begin or end {self.least_s:g} s after the event begins",
                f"times within its shortest simulated length ({lengths_s[0]:g} s)",
            )

    def lengths(self, times: LoadTimes) -> tuple[float, ...]:
        """Return the lengths of its faults in runs: as the file says; its own; the real one and a shorter one; or three
        that give a line.
        """
        if self.own_s is not None:
            return (self.own_s,)
        if self.lengths_s is not None:
            return self.lengths_s
        longest_s = min(self.event_s, times.longest_s)
        short, middle, long = (round(longest_s * part, 3) for part in _LENGTHS)
        return (short, self.event_s) if longest_s == self.event_s else (short, middle, long)

    def yearly(self, name: str, times: LoadTimes) -> YearlyFaults:
        """Return the class as the arithmetic of a year has it."""
        lengths_s = self.lengths(times)
        inside = self.lengths_s is not None and times.begin_s + lengths_s[-1] <= times.run_s
        return YearlyFaults(
            name=name,
            per_year=self.per_year.middle,
            per_year_span=self.per_year,
            lasts_s=self.event_s,
            lasts_span=self.lasts_s,
            lengths_s=lengths_s,
            loads_s=() if inside else tuple(map(times.load_s, lengths_s)),
        )


Factors = Annotated[InputRange, PlainValidator(_factors), PlainSerializer(_number_or_text)]
Price = Annotated[InputRange, PlainValidator(InputRange.parsed), PlainSerializer(_number_or_text)]
_Objective = Annotated[Objective, PlainValidator(_objective), PlainSerializer(str)]
_Figure = Annotated[Figure, PlainValidator(_figure), PlainSerializer(str)]


class Prices(Section):
    """Prices of parts of a year's cost, in one currency; each a number or an interval such as ``1..6``.

    ``gb_between_zones``: bytes that links carry, either way; ``memory_gb``: of each zone, a year; ``program``: one that
    takes messages, a year.
    """

    million_commands: Price | None = None
    gb_between_zones: Price | None = None
    memory_gb: Price | None = None
    program: Price | None = None


class UncertainInputs(Section):
    """Factors, such as ``0.5..2``, by which what the file says of the load may be wrong; 1 is what it says.

    ``rate``: of messages; ``lag``: of every link; ``work``: of every message.
    """

    rate: Factors | None = None
    lag: Factors | None = None
    work: Factors | None = None


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
    prices: Prices | None = None
    inputs: UncertainInputs | None = None

    verify: Annotated[dict[str, str], PlainValidator(_queries)] = Field(default_factory=dict)
    """By figure, and for ``messages``: the PromQL that says what production showed, for ``zonelab verify``."""

    def year(self, times: LoadTimes) -> Year:
        """The faults of a year, with the lengths at which runs show what each costs."""
        faults = tuple(one.yearly(name, times) for name, one in self.faults.items())
        return Year(run_s=times.run_s, faults=faults)

    def problems(self, *, times: LoadTimes, features: Features, late_ms: float | None) -> Iterator[Problem]:
        """Yield what is wrong with the section in a scenario with so much load, whose queue has ``features``.

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
        wrong = [p for name, one in self.faults.items() for p in one.problems(f"evaluate.faults.{name}", times)]
        yield from wrong
        if not wrong and (faulty_s := self.year(times).ends[-1].faulty_s) > YEAR_S * FAULTY_PART_MAX:
            yield Problem.of(
                "evaluate.faults", f"{faulty_s / YEAR_S:.0%} of the year", "at most half of the year with a fault"
            )
