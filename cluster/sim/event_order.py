"""Which of several events of equal time and priority comes first: the simulation's choice of schedule.

SimPy alone always takes the one that was scheduled first, so a race that needs another order is never seen. That its
``Environment`` is the base class here is for guests only: SimPy processes that somebody runs in the same virtual time.
zonelab itself uses neither SimPy's heap nor its events nor its processes.
"""

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

import simpy
from simpy.events import NORMAL

from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.sim.trace import Trace

_NUMBER_BITS = 40
"""Room for the running number of an event below its rank, so that two keys are never equal."""

_RANK_BITS = 23
"""Ranks and numbers together stay within one machine word."""


_CANCELLED_MAX = 1_000
"""When more than this are remembered as cancelled, it is time to forget those that have come up."""


class Actor:
    """Whatever runs on its own: a task, with all that it sets going. Lower ranks run first."""

    __slots__ = ("rank",)

    def __init__(self, rank: int = 0) -> None:
        self.rank = rank


class ScheduledTimer:
    """Scheduled event, which can be cancelled."""

    __slots__ = ("_environment", "_key")

    def __init__(self, environment: "SimEnvironment", key: int) -> None:
        self._environment = environment
        self._key = key

    def cancel(self) -> None:
        self._environment.cancel(self._key)


class SimEnvironment(simpy.Environment):
    """Events to come, by time, and a trace of those that have happened. ``actor`` is the one whose event happens now.

    What zonelab schedules are plain callables, without an event object for each: ``put``. Events and processes of
    guests go through ``schedule`` into the same heap; the tie-break orders them too, in place of SimPy's priorities.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(initial_time=0)
        self.trace = trace
        self.actor = Actor()
        self.stopped = False
        self._now: int = 0
        self._agenda: list[tuple[int, int, Callable[[], None], Actor]] = []
        self._cancelled: dict[int, None] = {}
        self._cancelled_max = _CANCELLED_MAX
        self._scheduled = 0

    def new_actor(self) -> Actor:
        return self.actor

    def put(self, delay_ns: int, callback: Callable[[], None], actor: Actor) -> int:
        """Call ``callback`` after ``delay_ns``, on behalf of ``actor``. The result is what ``cancel`` knows it by."""
        self._scheduled = key = self._scheduled + 1
        heappush(self._agenda, (self._now + delay_ns, key, callback, actor))
        return key

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> ScheduledTimer:
        """See ``Runtime.call_later``."""
        if delay_ns < 0:
            raise ValueError(f"delay must be 0 or more nanoseconds, got {delay_ns}")
        return ScheduledTimer(self, self.put(delay_ns, callback, self.actor))

    def cancel(self, key: int) -> None:
        """Let what was put under ``key`` not happen: its time comes, and that is all."""
        self._cancelled[key] = None
        if len(self._cancelled) > self._cancelled_max:  # of some the time is past by now
            self._cancelled = {key: None for _, key, _, _ in self._agenda if key in self._cancelled}
            self._cancelled_max = max(_CANCELLED_MAX, 2 * len(self._cancelled))

    def schedule(self, event: simpy.Event, priority: Any = NORMAL, delay: Any = 0) -> None:
        """SimPy's own way of scheduling; ``delay`` in whole nanoseconds. Raises ``ValueError`` if it is otherwise."""
        if not isinstance(delay, int):
            raise ValueError(f"a delay must be whole nanoseconds, got {delay!r}")
        self.put(delay, partial(_happen, event), self.actor)

    def peek(self) -> float:
        return self._agenda[0][0] if self._agenda else simpy.core.Infinity

    def step(self) -> None:
        """Let the next event happen."""
        if not self._agenda:
            raise simpy.core.EmptySchedule
        self._now, key, callback, actor = heappop(self._agenda)
        self.trace.times_ns.append(self._now)
        if key not in self._cancelled:
            self.actor = actor
            callback()

    def process_events(self, *, before_ns: int | None = None) -> None:
        """Let events happen until ``stopped`` is set, nothing is left to happen, or the next is not before that time.

        Unlike SimPy's ``run`` this does not put an event of its own among the others.
        """
        agenda, add_time, bounded = self._agenda, self.trace.times_ns.append, before_ns is not None
        self.stopped = False
        while agenda and not self.stopped:
            if bounded and agenda[0][0] >= before_ns:  # type: ignore[operator]
                return
            now_ns, key, callback, actor = heappop(agenda)  # ``step``, written out: it is most of what happens here
            self._now = now_ns
            add_time(now_ns)
            if key not in self._cancelled:
                self.actor = actor
                callback()

    def pass_time(self, until_ns: int) -> None:
        """Go on to ``until_ns`` although nothing happens then."""
        self._now = until_ns


def _happen(event: simpy.Event) -> None:
    callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):
        raise event._value


class RandomEnvironment(SimEnvironment):
    """Every event draws a rank."""

    def __init__(self, trace: Trace, random: Random) -> None:
        super().__init__(trace)
        self._draw = random.getrandbits

    def put(self, delay_ns: int, callback: Callable[[], None], actor: Actor) -> int:
        self._scheduled = number = self._scheduled + 1
        key = self._draw(_RANK_BITS) << _NUMBER_BITS | number
        heappush(self._agenda, (self._now + delay_ns, key, callback, actor))
        return key


class PctEnvironment(SimEnvironment):
    """Every task draws a rank when it begins, and its events take it, those included that end its waiting.

    In the manner of Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
    Guarantees of Finding Bugs", ASPLOS 2010. The paper orders every step of every thread. Here time orders most events
    already, so ranks order those of equal time, and an event keeps the rank that its task had when it was scheduled.
    """

    def __init__(self, trace: Trace, random: Random, schedule: Schedule) -> None:
        super().__init__(trace)
        self._draw = random.getrandbits
        self._change_at = dict.fromkeys(sorted(random.sample(range(schedule.steps), schedule.change_points)))
        self._lowest = 1 << (_RANK_BITS - 1)
        self.actor = self.new_actor()

    def new_actor(self) -> Actor:
        return Actor(self._draw(_RANK_BITS - 1))

    def put(self, delay_ns: int, callback: Callable[[], None], actor: Actor) -> int:
        if self._scheduled in self._change_at:
            self.actor.rank = self._lowest
            self._lowest += 1
        self._scheduled = number = self._scheduled + 1
        key = actor.rank << _NUMBER_BITS | number
        heappush(self._agenda, (self._now + delay_ns, key, callback, actor))
        return key


def environment(schedule: Schedule, *, trace: Trace, random: Random) -> SimEnvironment:
    """An environment that breaks ties as ``schedule`` says, drawing from ``random``."""
    if schedule.tie_break is TieBreak.RANDOM:
        return RandomEnvironment(trace, random)
    if schedule.tie_break is TieBreak.PCT:
        return PctEnvironment(trace, random, schedule)
    return SimEnvironment(trace)
