"""The load: open-loop producers, whose pushes begin when they were meant to, whatever became of the earlier ones.

A producer that waits for one push before it begins the next stops asking exactly when the cluster is slow, and its
latencies then leave out the worst (coordinated omission, as Gil Tene calls it). So the plan of a producer is fixed
before the run, by the seed alone: see ``zonelab.scenarios.spec.push_plan``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from zonelab.engine.message import Message
from zonelab.engine.ports import Runtime
from zonelab.engine.queue import Queue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.clients.program_view import ProgramView
from zonelab.scenarios.clients.recorder import OperationActor, Recorder
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.spec.push_plan import PlannedPush
from zonelab.scenarios.tasks import Halt, TaskGroup

IN_FLIGHT_MAX = 10_000
"""Pushes of one producer that may be open at once. One more is recorded as failed, never silently left out."""

OVERLOADED = f"load generator overloaded: {IN_FLIGHT_MAX} pushes in flight"


Told = Callable[[Sequence[Message]], object]
"""Called at the end of a push with those of its messages that were not confirmed."""


def untold(left: Sequence[Message]) -> None:
    pass


class OpenProducerQueue(Protocol):
    """Maker of the queue instance of one producer program in ``zone``, all of whose commands pass through ``wrap``."""

    async def __call__(self, zone: str, wrap: Wrap) -> Queue: ...


@dataclass(frozen=True, slots=True)
class _ProducerProgram:
    """One producer program, from its start to its stop or crash."""

    actor: OperationActor
    queue: Queue
    switch: CrashSwitch


class ZoneProducer:
    """Pushes one zone's plan. ``run`` returns when the plan is over or the run is halted; pushes may still be open.

    What was not confirmed is pushed again, up to ``retries`` times, each ``retry_after_ms`` after the last; to the
    history such an attempt is an operation like any other, meant to begin when it begins.

    Its program can die. What was to be pushed before ``replace`` puts another in its place, nobody pushes.
    """

    def __init__(
        self,
        *,
        zone: str,
        open_queue: OpenProducerQueue,
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
        self._retry_after_ns = round(retry_after_ms * NS_PER_MS)
        self._pushes = TaskGroup(runtime, halt)
        self._programs: list[_ProducerProgram] = []
        self._others: Sequence[ZoneProducer] = ()
        self._pushed = self._taken = 0

    @property
    def in_flight(self) -> int:
        return len(self._pushes)

    async def start(self) -> None:
        """Begin a program, with a queue instance of its own."""
        life = len(self._programs) + 1
        name = f"producer-{self._zone}" + (f".{life}" if life > 1 else "")
        switch = CrashSwitch(name)
        queue = await self._open_queue(self._zone, switch.wrap_deaf)
        self._programs.append(_ProducerProgram(OperationActor(name, self._zone), queue, switch))

    @property
    def view(self) -> ProgramView:
        """Return the view of the present program."""
        return self._programs[-1].switch.view

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

    def hand_over(self, others: "Sequence[ZoneProducer]") -> None:
        """Let ``others`` push what this one is to push while its program is dead, in proportion to what they push."""
        self._others = others

    @property
    def _lives(self) -> bool:
        return not self._programs[-1].switch.crashed

    async def run(self, plan: Iterator[PlannedPush], *, begin_ns: int) -> None:
        """Begin every push of ``plan`` at its time, whatever became of the earlier ones (open loop)."""
        for planned in plan:
            intended_ns = begin_ns + planned.offset_ns
            if await self._halt.sleep(intended_ns - self._runtime.now_ns()):
                return
            if not self.begin(planned.messages, intended_ns=intended_ns):
                # A producer this far behind must not keep the event loop from ending the pushes that are open.
                await self._runtime.sleep(0)

    def begin(self, messages: tuple[Message, ...], *, intended_ns: int, then: Told = untold) -> bool:
        """Begin a push, unless the program has crashed. Returns False if it is refused, as too many pushes are open."""
        program = self._programs[-1]
        if program.switch.crashed:
            if living := [one for one in self._others if one._lives]:
                heir = min(living, key=lambda one: (one._taken + 1) / (one._pushed + 1))
                heir._taken += 1
                return heir._begin(messages, intended_ns, then)
            then(messages)
            return True
        self._pushed += 1
        return self._begin(messages, intended_ns, then)

    def _begin(self, messages: tuple[Message, ...], intended_ns: int, then: Told) -> bool:
        program = self._programs[-1]
        if len(self._pushes) >= IN_FLIGHT_MAX:
            self._recorder.refuse(program.actor, messages, intended_ns=intended_ns, error=OVERLOADED)
            then(messages)
            return False
        push = self._push(program, messages, intended_ns, then)
        self._pushes.spawn(push, name=f"{program.actor.process} push")
        return True

    async def close(self) -> None:
        await self._pushes.dismiss()
        for program in self._programs:
            with suppress(ProgramCrashed):  # a dead program tidies nothing
                await program.queue.close()

    async def _push(self, program: _ProducerProgram, messages: Sequence[Message], intended_ns: int, then: Told) -> None:
        left = messages
        with suppress(ProgramCrashed):
            left = await self._recorder.push(program.queue, program.actor, messages, intended_ns=intended_ns)
            for _ in range(self._retries):
                if not left or await self._halt.sleep(self._retry_after_ns) or program.switch.crashed:
                    break
                now_ns = self._runtime.now_ns()
                left = await self._recorder.push(program.queue, program.actor, left, intended_ns=now_ns)
        then(left)
