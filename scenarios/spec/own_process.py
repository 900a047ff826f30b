"""Processes of the user's own in the manner of SimPy, named as ``python:MODULE:FUNCTION``: who pushes when
(``load.arrivals``), and what a consumer does with a message (``consumers.work``).

In simulation they run beside the engines, in the same virtual time. Real servers cannot wait for a process in virtual
time: for them arrivals are drawn beforehand, which no process allows that reacts to the run.
"""

from collections.abc import Callable, Generator, Iterator
from inspect import isgeneratorfunction
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.spec.queue_factory import load_factory

if TYPE_CHECKING:
    import simpy

PREFIX = "python:"

Process = Callable[..., Generator[Any, Any, Any]]


class Lab(Protocol):
    """The lab as a process gets it. ``random`` is its own stream, decided by the seed of the run.

    ``env`` is SimPy's environment; its times are whole nanoseconds, and it does not begin at 0. ``elapsed_ms`` counts
    from the begin of the load.
    """

    zone: str
    random: Random

    @property
    def env(self) -> "simpy.Environment": ...
    @property
    def elapsed_ms(self) -> float: ...

    def sleep(self, ms: float) -> "simpy.Event":
        """To be yielded: so many milliseconds, to the nanosecond."""

    def push(self, count: int = 1, *, delay_ms: int | None = None, priority: int | None = None) -> Any:
        """One push of ``count`` messages, as the section ``load`` draws them, unless set otherwise here.

        What comes back can be yielded, and is True if all were confirmed. Arrivals only.
        """

    def shared(self, name: str, capacity: int = 1) -> "simpy.Resource":
        """The resource of that name, which all processes of the run share, in all zones."""


class Reacts(Exception):
    """A process asked for something that only a run knows. The message says what."""


def process_of(text: str) -> Process:
    """The generator function that ``text`` names. Raises ``ValueError``, with what was given and what is accepted."""
    if not text.startswith(PREFIX):
        raise ValueError(f"got {text!r}; accepted: {PREFIX}MODULE:FUNCTION")
    function = load_factory(text.removeprefix(PREFIX))
    if not isgeneratorfunction(function):
        raise ValueError(f"got {text!r}: no generator function; accepted: one that yields events, as SimPy's processes")
    return function


def drawn_beforehand(process: Process, *, zone: str, random: Random, until_ns: int) -> Iterator[tuple[int, Any]]:
    """When ``process`` pushes, in ns after the load begins, and what it reported of it (``Told``), without any run.

    Raises ``Reacts``, and whatever the process raises.
    """
    from zonelab.cluster.sim.event_order import SimEnvironment
    from zonelab.cluster.sim.trace import Trace

    lab = _Beforehand(SimEnvironment(Trace()), zone, random)
    lab.env.process(process(lab))
    while lab.env.peek() < until_ns:
        lab.env.step()
        yield from lab.taken()


class _Beforehand:
    """A ``Lab`` without a run."""

    def __init__(self, env: "simpy.Environment", zone: str, random: Random) -> None:
        self.env = env
        self.zone = zone
        self.random = random
        self._pushes: list[tuple[int, Any]] = []

    @property
    def elapsed_ms(self) -> float:
        return float(self.env.now) / NS_PER_MS

    def sleep(self, ms: float) -> "simpy.Event":
        return self.env.timeout(round(ms * NS_PER_MS))

    def push(self, count: int = 1, **told: int | None) -> "_UnansweredPush":
        self._pushes.append((int(self.env.now), (count, told)))
        return _UnansweredPush()

    def shared(self, name: str, capacity: int = 1) -> "simpy.Resource":
        raise Reacts(f"the shared resource {name!r}")

    def taken(self) -> list[tuple[int, Any]]:
        pushes, self._pushes = self._pushes, []
        return pushes


class _UnansweredPush:
    """The end of a push that is only planned: nobody can wait for it."""

    def __getattr__(self, name: str) -> Any:
        raise Reacts("the end of a push")
