"""Consumers: programs that pop, work and acknowledge, each with a queue instance of its own, and that can die."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Protocol

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.engine.common.lifecycle import Closable
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.ports import Runtime
from zonelab.engine.queue import ExtendableQueue, ExtendsLeases, Queue, RepairableQueue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.clients.program_view import ProgramView
from zonelab.scenarios.clients.recorder import OperationActor, RecordedDelivery, Recorder
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.tasks import TaskGroup

BACK_OFF_NS = 100_000_000
"""Mean pause of a consumer after an operation that failed; drawn between half and one and a half of it."""

IDLE_NS = 5_000_000
"""Pause after an empty pop that did not wait, so that it does not spin."""

RESTART_NS = 20_000_000
"""Time after which another program takes the place of a consumer that died by a poison message."""

EXTENDED_AT_LEASES_MAX = 2.0
"""A lease that is extended is so at a drawn time, up to so many of its lengths after its begin."""

EXTENDED_WORK_LEASES_MAX = 0.9
"""Work goes on after that for up to so much of the new one."""

STOP_MARGIN_S = 2.0
"""Time beyond its longest pop and its work that a consumer may take to stop by itself."""


Work = Callable[[str], Awaitable[None]]
"""Work of a program on the message of an id, before it acks it."""

WorkOf = Callable[[OperationActor], Work]


class OpenConsumerQueue(Protocol):
    """Maker of the queue instance of one consumer program in ``zone``, all of whose commands pass through ``wrap``."""

    async def __call__(self, zone: str, wrap: Wrap) -> Queue: ...


class ConsumerProgram(Protocol):
    """One consumer program, from its start to its stop or crash.

    ``poisoned``: a message has killed it; soon another takes its place.
    """

    switch: CrashSwitch
    poisoned: bool

    async def run(self) -> None: ...
    def stop(self) -> None:
        """Stop after the deliveries in hand are finished."""


class PoppingProgram:
    """A program that pops, works and acknowledges.

    ``repair_ms``: time between two looks for ended leases, if its queue looks only on request. ``lease_ms``: a longer
    lease is never extended, as a run need not last so long.
    """

    def __init__(
        self,
        actor: OperationActor,
        *,
        settings: spec.ConsumerSection,
        poison: Collection[str],
        open_queue: OpenConsumerQueue,
        recorder: Recorder,
        runtime: Runtime,
        repair_ms: int,
        lease_ms: int,
        work_of: WorkOf | None = None,
    ) -> None:
        self.switch = CrashSwitch(actor.process)
        self.poisoned = False
        self._stopping = False
        self._actor = actor
        self._settings = settings
        self._poison = poison
        self._open_queue = open_queue
        self._recorder = recorder
        self._runtime = self.switch.view.runtime_of(runtime)
        self._repair_ms, self._lease_ms = repair_ms, lease_ms
        self._extending = runtime.random(f"extend {actor.process}") if settings.extend else None
        random = runtime.random(f"work {actor.process}")
        self._draw_work_ns = parse_lag(settings.processing).sampler(random)
        self._work = work_of(actor) if work_of is not None else self._sleep
        self._random = random
        self._popped_by: dict[str, int] = {}

    async def run(self) -> None:
        """Pop, work and acknowledge in turns until it is stopped or crashes."""
        queue = await self._open_queue(self._actor.zone, self.switch.wrap)
        if isinstance(queue, ExtendsLeases):
            queue.tell_extensions(self._extended)
        parts: list[Closable] = [queue]
        if isinstance(queue, RepairableQueue):
            parts.insert(0, self._repairs(queue))
        try:
            while not self._stopping:
                await self._turn(queue)
        except ProgramCrashed:
            pass  # the program is dead; its leases stay where they are
        finally:
            await self._close(parts)

    def stop(self) -> None:
        self._stopping = True

    async def _turn(self, queue: Queue) -> None:
        self.switch.check()
        settings = self._settings
        popped = await self._recorder.pop(queue, self._actor, count=settings.batch, wait_ms=settings.wait_ms)
        if popped is None:
            await self._runtime.sleep(round(BACK_OFF_NS * self._random.uniform(0.5, 1.5)))
            return
        if not popped.delivered and settings.wait_ms == 0:
            await self._runtime.sleep(IDLE_NS)
        self._popped_by = {each.touched.message_id: popped.op for each in popped.delivered}
        for delivered in popped.delivered:
            if delivered.touched.message_id in self._poison:
                self.switch.check()  # whom a fault has ended by now, nothing kills
                self.poisoned = True
                self.switch.crash()
                self.switch.check()
            held = await self._extended_lease(queue, delivered)
            if held is None:
                continue
            await self._work(delivered.touched.message_id)
            self.switch.check()
            await self._recorder.ack(queue, self._actor, held)

    async def _extended_lease(self, queue: Queue, delivered: RecordedDelivery) -> RecordedDelivery | None:
        """Now and then work until the lease has to be extended, or until it has ended, and extend it.

        None if that was refused: somebody else may have the message.
        """
        random, length_ms = self._extending, delivered.delivery.lease_end_ms - delivered.delivery.lease_start_ms
        if random is None or not isinstance(queue, ExtendableQueue) or random.random() >= self._settings.extend:
            return delivered
        if not 0 < length_ms <= self._lease_ms:
            return delivered
        await self._runtime.sleep(round(random.uniform(0, EXTENDED_AT_LEASES_MAX) * length_ms) * NS_PER_MS)
        self.switch.check()
        held = await self._recorder.extend(queue, self._actor, delivered, timeout_ms=length_ms)
        if held is not None:
            await self._runtime.sleep(round(random.uniform(0, EXTENDED_WORK_LEASES_MAX) * length_ms) * NS_PER_MS)
            self.switch.check()
        return held

    async def _sleep(self, message_id: str) -> None:
        await self._runtime.sleep(round(self._draw_work_ns() * self.switch.view.work_factor))

    def _extended(self, message_id: str, lease_end_ms: int) -> None:
        popped_by = self._popped_by.get(message_id)
        if popped_by is not None:  # else its pop has not returned yet: nobody counts on the lease
            self._recorder.extended(self._actor, message_id, popped_by=popped_by, lease_end_ms=lease_end_ms)

    def _repairs(self, queue: RepairableQueue) -> Periodic:
        """Look for ended leases from now on, as the background of an engine does that looks by itself."""
        name = f"unack {self._actor.process}"
        periodic = Periodic(queue.process_unacks, interval_ms=self._repair_ms, runtime=self._runtime, name=name)
        periodic.start()
        return periodic

    async def _close(self, parts: Sequence[Closable]) -> None:
        for part in parts:
            with suppress(ProgramCrashed):  # a dead program tidies nothing
                await part.close()


class Consumers:
    """All consumers of a run, by zone and number. A replacement of a crashed one is a new process in the history.

    ``deaths`` gets the run time (ns) at which each program died.
    """

    def __init__(
        self,
        *,
        settings: spec.ConsumerSection,
        make: Callable[[OperationActor], ConsumerProgram],
        runtime: Runtime,
        tasks: TaskGroup,
        deaths: dict[str, int],
    ) -> None:
        self._settings = settings
        self._make = make
        self._deaths = deaths
        self._stopping = False
        self._runtime = runtime
        self._tasks = tasks
        self._programs: dict[tuple[str, int], ConsumerProgram] = {}
        self._lives: dict[tuple[str, int], int] = {}

    def start(self, zone: str, number: int) -> None:
        life = self._lives[zone, number] = self._lives.get((zone, number), 0) + 1
        name = f"consumer-{zone}-{number}" + (f".{life}" if life > 1 else "")
        program = self._make(OperationActor(name, zone))
        program.switch.when_crashed(lambda: self._deaths.update({name: self._runtime.now_ns()}))
        self._programs[zone, number] = program
        self._tasks.spawn(self._live(program, zone, number), name=name)

    async def _live(self, program: ConsumerProgram, zone: str, number: int) -> None:
        await program.run()
        if not program.poisoned:
            return
        await self._runtime.sleep(RESTART_NS)
        if program.poisoned and not self._stopping and self._programs[zone, number] is program:
            self.start(zone, number)

    def view(self, zone: str, number: int) -> ProgramView:
        """Return the view of the present program."""
        return self._programs[zone, number].switch.view

    def crash(self, zone: str, number: int, *, at_command: int = 1) -> None:
        """Let a program of ``zone`` die at its command number ``at_command`` from now on."""
        program = self._programs[zone, number]
        if at_command == 1:
            program.poisoned = False  # if it was: from now on ``replace`` says when another takes its place
        program.switch.crash(at_command=at_command)

    def replace(self, zone: str, number: int) -> None:
        """Let another take the place of a program that has crashed; one that has not is spared."""
        switch = self._programs[zone, number].switch
        if switch.crashed:
            self.start(zone, number)
        else:
            switch.disarm()

    async def stop(self) -> None:
        """Let every consumer finish what it holds; whoever takes too long is cancelled, with its operation open."""
        self._stopping = True
        for program in self._programs.values():
            program.stop()
        await self._tasks.wait(self._settings.wait_ms / 1000 + STOP_MARGIN_S)
        await self._tasks.dismiss()
