"""The load: open-loop producers, whose pushes begin when they were meant to, whatever became of the earlier ones.

A producer that waits for one push before it begins the next stops asking exactly when the cluster is slow, and its
latencies then leave out the worst (coordinated omission, as Gil Tene calls it). So the plan of a producer is fixed
before the run, by the seed alone: times, ids, delays and priorities are the same at every level and under every fault.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from random import Random
from typing import Protocol

from cluster.links.lag import parse_lag
from engine.message import Message
from engine.ports import Runtime
from scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from scenarios.clients.recorder import Actor, Recorder
from scenarios.queues.dyno import ProducerQueue, Wrap
from scenarios.spec.scenario import Arrival, Load, Operation
from scenarios.tasks import Crew, Halt

IN_FLIGHT_MAX = 10_000
"""Pushes of one producer that may be open at once. One more is recorded as failed, never silently left out."""

OVERLOADED = f"load generator overloaded: {IN_FLIGHT_MAX} pushes in flight"

_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class PlannedPush:
    """A push that is to begin ``offset_ns`` after the load begins."""

    offset_ns: int
    messages: tuple[Message, ...]


def plan_pushes(load: Load, *, zone: str, random: Callable[[str], Random]) -> Iterator[PlannedPush]:
    """The pushes of the producer of ``zone``, in order; drawn as they are asked for, so a long run costs no memory.

    ``random`` gives the stream of a name. Times and contents have streams of their own.
    """
    if load.operations is not None:
        yield from _told(load, load.operations, zone)
        return
    rate_per_s = load.rate_of(zone) / load.batch
    if rate_per_s == 0:
        return
    times, contents = random(f"arrivals {zone}"), random(f"messages {zone}")
    draw_delay_ns = parse_lag(load.delay).sampler(contents)
    number = 0
    for offset_ns in arrivals(load, rate_per_s, times):
        messages = []
        for _ in range(load.batch):
            messages.append(_message(load, f"{zone}-{number:06d}", contents, draw_delay_ns))
            number += 1
        yield PlannedPush(offset_ns, tuple(messages))


def _told(load: Load, operations: Sequence[Operation], zone: str) -> Iterator[PlannedPush]:
    own = sorted((operation for operation in operations if operation.zone == zone), key=attrgetter("at_ms"))
    for at_ms, together in groupby(own, key=attrgetter("at_ms")):
        messages = tuple(
            Message(
                id=operation.id,
                payload=_payload(load, operation.id),
                timeout_ms=operation.delay_ms,
                priority=operation.priority,
            )
            for operation in together
        )
        yield PlannedPush(round(at_ms * _NS_PER_MS), messages)


def explicit_operations(load: Load, *, zones: Sequence[str], random: Callable[[str], Random]) -> tuple[Operation, ...]:
    """What ``plan_pushes`` would push, told message by message, in the order of the times."""
    told = [
        Operation(
            at_ms=planned.offset_ns / _NS_PER_MS,
            zone=zone,
            id=message.id,
            delay_ms=message.timeout_ms,
            priority=message.priority,
        )
        for zone in zones
        for planned in plan_pushes(load, zone=zone, random=random)
        for message in planned.messages
    ]
    return tuple(sorted(told, key=attrgetter("at_ms")))


def arrivals(load: Load, rate_per_s: float, random: Random) -> Iterator[int]:
    """Times in ns, until the load ends.

    Poisson: independent exponential gaps. Constant: equal gaps, from a drawn start, so zones do not beat as one.
    """
    poisson = load.arrival is Arrival.POISSON
    gap_s = 1 / rate_per_s
    time_s = random.expovariate(rate_per_s) if poisson else random.uniform(0, gap_s)
    while time_s < load.duration_s:
        yield int(time_s * _NS_PER_S)
        time_s += random.expovariate(rate_per_s) if poisson else gap_s


def _message(load: Load, name: str, random: Random, draw_delay_ns: Callable[[], int]) -> Message:
    return Message(
        id=name,
        payload=_payload(load, name),
        timeout_ms=round(draw_delay_ns() / _NS_PER_MS),
        priority=random.randint(load.priority.min, load.priority.max),
    )


def _payload(load: Load, name: str) -> str:
    return (f"{name} " * (load.payload_bytes // (len(name) + 1) + 1))[: load.payload_bytes]


class OpenQueue(Protocol):
    """Makes the queue instance of one producer program in ``zone``, all of whose commands pass through ``wrap``."""

    async def __call__(self, zone: str, wrap: Wrap) -> ProducerQueue: ...


@dataclass(frozen=True, slots=True)
class _Program:
    """One producer program, from its start to its stop or crash."""

    actor: Actor
    queue: ProducerQueue
    switch: CrashSwitch


class Producer:
    """Pushes one zone's plan. ``run`` returns when the plan is over or the run is halted; pushes may still be open.

    What was not confirmed is pushed again, up to ``retries`` times, each ``retry_after_ms`` after the last; to the
    history such an attempt is an operation like any other, meant to begin when it begins.

    Its program can die. What was to be pushed before ``replace`` puts another in its place, nobody pushes.
    """

    def __init__(
        self,
        *,
        zone: str,
        open_queue: OpenQueue,
        recorder: Recorder,
        runtime: Runtime,
        halt: Halt,
        retries: int = 0,
        retry_after_ms: float = 0.0,
    ) -> None:
        self._zone = zone
        self._open_queue = open_queue
        self._recorder = recorder
        self._runtime = runtime
        self._halt = halt
        self._retries = retries
        self._retry_after_ns = round(retry_after_ms * _NS_PER_MS)
        self._pushes = Crew(runtime, halt)
        self._programs: list[_Program] = []

    @property
    def in_flight(self) -> int:
        return len(self._pushes)

    async def start(self) -> None:
        """Begin a program, with a queue instance of its own."""
        switch, life = CrashSwitch(), len(self._programs) + 1
        name = f"producer-{self._zone}" + (f".{life}" if life > 1 else "")
        queue = await self._open_queue(self._zone, switch.wrap_deaf)
        self._programs.append(_Program(Actor(name, self._zone), queue, switch))

    def crash(self, *, at_command: int = 1) -> None:
        """End the program: now, or just before the command of this number from now on."""
        self._programs[-1].switch.crash(at_command=at_command)

    async def replace(self) -> None:
        """Let another take the place of a program that has crashed; one that has not is spared."""
        switch = self._programs[-1].switch
        if switch.crashed:
            await self.start()
        else:
            switch.disarm()

    async def run(self, plan: Iterator[PlannedPush], *, begin_ns: int) -> None:
        for planned in plan:
            intended_ns = begin_ns + planned.offset_ns
            if await self._halt.sleep(intended_ns - self._runtime.now_ns()):
                return
            program = self._programs[-1]
            if program.switch.crashed:
                continue
            if len(self._pushes) >= IN_FLIGHT_MAX:
                self._recorder.refuse(program.actor, planned.messages, intended_ns=intended_ns, error=OVERLOADED)
                # A producer this far behind must not keep the event loop from ending the pushes that are open.
                await self._runtime.sleep(0)
                continue
            push = self._push(program, planned.messages, intended_ns)
            self._pushes.spawn(push, name=f"{program.actor.process} push")

    async def close(self) -> None:
        await self._pushes.dismiss()
        for program in self._programs:
            with suppress(ProgramCrashed):  # a dead program tidies nothing
                await program.queue.close()

    async def _push(self, program: _Program, messages: Sequence[Message], intended_ns: int) -> None:
        with suppress(ProgramCrashed):
            left = await self._recorder.push(program.queue, program.actor, messages, intended_ns=intended_ns)
            for _ in range(self._retries):
                if not left or await self._halt.sleep(self._retry_after_ns) or program.switch.crashed:
                    return
                now_ns = self._runtime.now_ns()
                left = await self._recorder.push(program.queue, program.actor, left, intended_ns=now_ns)
