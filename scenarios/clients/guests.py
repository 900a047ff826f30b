"""Processes of the user's own beside the engines: they live in the simulation's environment, as SimPy's do."""

from collections.abc import Callable, Generator
from random import Random
from typing import Any, Protocol

import simpy

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.spec.own_process import PREFIX, Lab, Process
from zonelab.scenarios.tasks import Halt


class GuestFailed(Exception):
    """A process of the user's own raised something. The message is one line."""


class Push(Protocol):
    """Begins a push, and calls ``then`` at its end with whether all was confirmed."""

    def __call__(
        self, count: int, *, delay_ms: int | None, priority: int | None, then: Callable[[bool], object]
    ) -> object: ...


class Guests:
    """All such processes of one run, and what they share. The first that fails ends the run."""

    def __init__(self, runtime: SimRuntime, halt: Halt) -> None:
        self.environment = runtime.environment
        self._random = runtime.random
        self._halt = halt
        self._shared: dict[str, simpy.Resource] = {}
        self.load_ns: tuple[int, int] | None = None

    def load_begins(self, begin_ns: int, end_ns: int) -> None:
        """Run time of the load: what elapsed is counted from its begin, and nothing is pushed after its end."""
        self.load_ns = begin_ns, end_ns

    def arrivals(self, process: Process, named: str, *, zone: str, push: Push) -> None:
        """Let ``process`` push in ``zone`` once the load begins."""
        begin_ns, _ = self._load()
        lab = _GuestLab(self, zone, self._random(f"arrivals {zone}"), push)
        self._start(self._later(begin_ns, process, lab), f"load.arrivals {named}", lambda: None)

    def work(self, process: Process, named: str, lab: Lab, message_id: str, then: Callable[[], None]) -> None:
        """Let a consumer work on a message, and call ``then`` when it is done."""
        self._start(process(lab, message_id), f"consumers.work {named}", then)

    def lab(self, user: str, zone: str) -> Lab:
        """Return what the processes of one consumer are given."""
        return _GuestLab(self, zone, self._random(f"work {user}"), None)

    def shared(self, name: str, capacity: int) -> simpy.Resource:
        found = self._shared.setdefault(name, simpy.Resource(self.environment, capacity))
        if found.capacity != capacity:
            raise ValueError(f"shared {name!r}: got a capacity of {capacity}; it was made with {found.capacity}")
        return found

    def _load(self) -> tuple[int, int]:
        assert self.load_ns is not None, "the load has begun"
        return self.load_ns

    def _later(self, begin_ns: int, process: Process, lab: Lab) -> Generator[Any, Any, Any]:
        yield self.environment.timeout(begin_ns - self.environment._now)
        yield from process(lab)

    def _start(self, generator: Generator[Any, Any, Any], named: str, then: Callable[[], None]) -> None:
        self.environment.process(self._guarded(generator, named, then))

    def _guarded(
        self, generator: Generator[Any, Any, Any], named: str, then: Callable[[], None]
    ) -> Generator[Any, Any, None]:
        try:
            yield from generator
        except Exception as error:  # whatever it is, it is the user's and must be reported
            words = f"{type(error).__name__}: {' '.join(str(error).split())}"
            self._halt.fail(GuestFailed(f"{named.replace(f' {PREFIX}', ' ')}: {words}"))
        else:
            then()


class _GuestLab:
    """``Lab`` in a run."""

    def __init__(self, guests: Guests, zone: str, random: Random, push: Push | None) -> None:
        self.env = guests.environment
        self.zone = zone
        self.random = random
        self._guests = guests
        self._push = push

    @property
    def elapsed_ms(self) -> float:
        begin_ns, _ = self._guests.load_ns or (self.env._now, 0)
        return (self.env._now - begin_ns) / NS_PER_MS

    def sleep(self, ms: float) -> simpy.Event:
        return self.env.timeout(round(ms * NS_PER_MS))

    def push(self, count: int = 1, *, delay_ms: int | None = None, priority: int | None = None) -> simpy.Event:
        if self._push is None:
            raise ValueError("push: consumers.work does not push; accepted: in load.arrivals")
        ended = self.env.event()
        if self.env._now < self._guests._load()[1]:
            self._push(count, delay_ms=delay_ms, priority=priority, then=lambda confirmed: ended.succeed(confirmed))
        return ended

    def shared(self, name: str, capacity: int = 1) -> simpy.Resource:
        return self._guests.shared(name, capacity)
