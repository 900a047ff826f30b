"""Faults of a zone's wall clock. Run time, and so the history, stays true."""

from collections.abc import Iterator
from functools import partial
from math import ceil
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.fields import CountFrom0, Problem
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.faults.fault import (
    Action,
    Changes,
    Choices,
    OfZone,
    Stage,
    Targets,
    View,
    at_once,
    no_consumer,
    no_service,
)

CLOCK_OFFSET_MS_MAX = 86_400_000
CLOCK_DRIFT_PPM_MAX = 500_000
"""A clock that runs half as fast again, or at half its speed."""

_DRAWN_MS = 2_000
_DRAWN_PPM = 100_000
_WHOLE_PPM = 1_000_000


class OfClock(OfZone):
    """The clock of a zone's machines is wrong, and right again at the end."""

    not_up = "all programs of such a cluster have the clock of this machine"

    def holds(self, targets: Targets) -> set[str]:
        return {f"clock of {self.zone}"}


class ClockFault(OfClock):
    """The clock of a zone's machines is wrong: set forth or back at once, or running too fast or too slowly."""

    colour = "#bcbd22"
    harm = 5

    kind: Literal["clock"]
    zone: str
    consumer: CountFrom0 | None = None
    """Only the clock of this consumer's program, by its number; not that of servers and other programs of the zone."""
    service: str | None = None
    """Only the clock of this service of the queue, by its name."""
    offset_ms: Annotated[int, Field(strict=True, ge=-CLOCK_OFFSET_MS_MAX, le=CLOCK_OFFSET_MS_MAX)] = 0
    drift_ppm: Annotated[int, Field(strict=True, ge=-CLOCK_DRIFT_PPM_MAX, le=CLOCK_DRIFT_PPM_MAX)] = 0
    """Microseconds that it gains in a second."""

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        if self.consumer is not None:
            yield from no_consumer(targets, path, self.kind, self.consumer)
            if self.service is not None:
                yield Problem.of(f"{path}.service", self.service, "nothing beside consumer")
        elif self.service is not None:
            yield from no_service(targets, path, self.kind, self.service, self.zone)
        if self.offset_ms == self.drift_ppm == 0:
            yield Problem(path, "got neither offset_ms nor drift_ppm; accepted: one of them, or both, other than 0")

    def action(self, stage: Stage) -> Action:
        if self.consumer is not None or self.service is not None:
            return self._of_program(stage)
        clock = stage.testbed.clock(self.zone)
        jump = partial(clock.jump, self.offset_ms * NS_PER_MS)
        return Action(at_once(jump, partial(clock.drift, ppm=self.drift_ppm)), at_once(clock.correct))

    def _view(self, stage: Stage) -> View:
        there = "the rules of a scenario refuse clocks of programs that are not there"
        if self.consumer is not None:
            assert stage.consumers is not None, there
            return stage.consumers.view(self.zone, self.consumer)
        assert stage.services is not None, there
        assert self.service is not None, there
        return stage.services.view(self.service, self.zone)

    def _of_program(self, stage: Stage) -> Action:
        runtime, touched = stage.testbed.runtime, list[View]()

        def begin() -> None:
            view = self._view(stage)
            view.own_clock = NodeClock(epoch_ns=0, run_ns=runtime.now_ns)
            view.own_clock.jump(self.offset_ms * NS_PER_MS)
            view.own_clock.drift(ppm=self.drift_ppm)
            touched.append(view)

        def end() -> None:
            for view in touched:
                view.own_clock = None

        return Action(at_once(begin), at_once(end))

    def holds(self, targets: Targets) -> set[str]:
        if self.service is not None:
            return {f"clock of service {self.target}"}
        return super().holds(targets) if self.consumer is None else {f"clock of consumer {self.zone}-{self.consumer}"}

    @property
    def target(self) -> str:
        if self.service is not None:
            return f"{self.service}-{self.zone}"
        return self.zone if self.consumer is None else f"consumer-{self.zone}-{self.consumer}"

    def _extent(self, part: float, random: Random) -> Changes:
        sign = random.choice((1, -1))
        # Rounded away from 0, which would be no fault.
        return {
            "offset_ms": sign * ceil(abs(self.offset_ms) * part),
            "drift_ppm": sign * ceil(abs(self.drift_ppm) * part),
        }

    def milder(self) -> Iterator[Changes]:
        for name, value in (("drift_ppm", self.drift_ppm), ("offset_ms", self.offset_ms)):
            for less in dict.fromkeys((0, int(value / 2))):
                if less != value:
                    yield {name: less}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {
            "offset_ms": (range(-_DRAWN_MS, _DRAWN_MS + 1),),
            "drift_ppm": (0, range(-_DRAWN_PPM, _DRAWN_PPM + 1)),
        }


class ClockFreeze(OfClock):
    """The clock of a zone's machines stands still, and jumps to true time at the end."""

    colour = "#6b6b00"
    harm = 5

    kind: Literal["clock_freeze"]
    zone: str

    def action(self, stage: Stage) -> Action:
        clock = stage.testbed.clock(self.zone)
        return Action(at_once(partial(clock.drift, ppm=-_WHOLE_PPM)), at_once(clock.correct))
