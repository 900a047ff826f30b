"""A run whose clients use a queue: producers and consumers under faults, then what every zone holds of it at rest."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from zonelab.analysis.runs.history import DEPTH, FINAL_STATE, OPERATIONS, History
from zonelab.engine.ports import PortError
from zonelab.scenarios.clients.consumers import ConsumerProgram, Consumers, PoppingProgram
from zonelab.scenarios.clients.listening import ListeningProgram
from zonelab.scenarios.clients.messages_so_far import MessagesSoFar
from zonelab.scenarios.clients.order_so_far import OrderSoFar
from zonelab.scenarios.clients.producers import ZoneProducer
from zonelab.scenarios.clients.recorder import OperationActor, Outcome, Recorder
from zonelab.scenarios.clients.services import Services
from zonelab.scenarios.faults.fault import Stage
from zonelab.scenarios.faults.schedule import plan_faults
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.catalogue import MakeQueue
from zonelab.scenarios.queues.end_state import with_text
from zonelab.scenarios.queues.under_test import QueueUnderTest, RunsServices, is_empty
from zonelab.scenarios.run.depth_sampler import DepthSampler
from zonelab.scenarios.run.ordered_run import OrderedRun
from zonelab.scenarios.run.own_processes import guests_of, own_arrivals, own_work
from zonelab.scenarios.run_files.tables import DEPTH_NAME, FINAL_STATE_NAME, OPERATIONS_NAME
from zonelab.scenarios.run_phases import RunContext, RunPhases
from zonelab.scenarios.spec.push_plan import plan_pushes

STAGGER_MS_MAX = 1_000
"""Consumers start within one interval of the unack handler before the load begins, but within this at most."""


class QueueRun(RunPhases):
    """A run whose clients push to, and pop from, a queue."""

    def __init__(self, context: RunContext, make_queue: MakeQueue) -> None:
        super().__init__(context, groups=("sampler", "load", "consumers", "services"))
        scenario, tables, closed_later = context.scenario, context.tables, context.closing
        self._queue = make_queue(context.testbed, scenario)
        context.record.shards = dict(self._queue.shards)
        history = closed_later.enter_context(closing(History(tables(OPERATIONS_NAME, OPERATIONS))))
        self._depth_table = closed_later.enter_context(closing(tables(DEPTH_NAME, DEPTH)))
        self._recorder = Recorder(history, self._runtime, clock=context.testbed.clock)
        self._ordered = OrderedRun.of(self._queue, context)
        self._guests = guests_of(scenario, self._runtime, self._halt)
        self._consumers = Consumers(
            settings=scenario.consumers,
            make=self._consumer_programs(),
            runtime=self._runtime,
            tasks=self._groups["consumers"],
            deaths=context.record.deaths,
        )
        self._producers = {zone: self._producer(zone) for zone in scenario.zones}
        self._services = self._services_of(self._queue) if isinstance(self._queue, RunsServices) else None
        stage = Stage(
            targets=scenario,
            testbed=context.testbed,
            consumers=self._consumers,
            producers=self._producers,
            services=self._services,
        )
        self._plan(plan_faults(scenario.faults, stage))

    @property
    def queue(self) -> QueueUnderTest:
        return self._queue

    def tell_messages(self, so_far: MessagesSoFar) -> None:
        self._recorder.heard = so_far.heard

    def tell_order(self, so_far: OrderSoFar) -> None:
        if self._ordered is not None:
            self._ordered.history.heard = so_far.heard

    @property
    def _counts(self) -> Mapping[tuple[str, Outcome], int]:
        return self._recorder.counts

    async def _prepare(self) -> None:
        for producer in self._producers.values():
            await producer.start()
        if self._services is not None:
            await self._services.start()
        await self._start_consumers()
        DepthSampler(
            queue=self._queue,
            table=self._depth_table,
            runtime=self._runtime,
            tasks=self._groups["sampler"],
            halt=self._halt,
        ).start()

    def _start(self, begin_ns: int) -> None:
        if self._guests is not None:
            self._guests.load_begins(begin_ns, begin_ns + round(self._scenario.load.duration_s * 1e9))
            if self._scenario.load.arrivals is not None:
                own_arrivals(self._guests, self._scenario, self._runtime, self._producers)
                return
        for zone, producer in self._producers.items():
            plan = plan_pushes(self._scenario.load, zone=zone, random=self._runtime.random)
            self._groups["load"].spawn(producer.run(plan, begin_ns=begin_ns), name=f"producer {zone}")

    async def _start_consumers(self) -> None:
        """One after the other at drawn times: programs that started as one would also look for ended leases as one."""
        scenario, random = self._scenario, self._runtime.random("consumer starts")
        spread_ns = min(scenario.queue.unack_interval_ms, STAGGER_MS_MAX) * 1_000_000
        programs = [(zone, number) for zone in scenario.zones for number in range(scenario.consumers.per_zone)]
        begin_ns = self._runtime.now_ns()
        for start_ns, zone, number in sorted((random.randrange(spread_ns), *program) for program in programs):
            await self._halt.sleep(begin_ns + start_ns - self._runtime.now_ns())
            self._consumers.start(zone, number)

    def _consumer_programs(self) -> Callable[[OperationActor], ConsumerProgram]:
        shared: dict[str, Any] = {
            "settings": self._scenario.consumers,
            "poison": self._scenario.load.poison,
            "recorder": self._recorder,
            "runtime": self._runtime,
            "work_of": own_work(self._guests, self._scenario, self._runtime),
        }
        if self._ordered is not None:
            ordered, failing = self._ordered, self._scenario.load.failing
            return partial(ListeningProgram, **shared, queue=ordered.queue, sink=ordered.sink, failing=failing)
        shared |= {"repair_ms": self._scenario.queue.unack_interval_ms, "lease_ms": self._scenario.queue.unack_ms}
        return partial(PoppingProgram, **shared, open_queue=self._queue.consumer)

    def _services_of(self, queue: RunsServices) -> Services:
        return Services(self._scenario.services, open_service=queue.service, tasks=self._groups["services"])

    def _producer(self, zone: str) -> ZoneProducer:
        return ZoneProducer(
            zone=zone,
            open_queue=self._queue.producer,
            recorder=self._recorder,
            runtime=self._runtime,
            halt=self._halt,
            retries=self._scenario.load.retries,
            retry_after_ms=self._scenario.load.retry_after_ms,
        )

    async def _is_drained(self) -> bool:
        if len(self._groups["load"]) or any(producer.in_flight for producer in self._producers.values()):
            return False
        if not all(coordinator.connected for coordinator in self._testbed.coordinators.values()):
            return False
        return await is_empty(self._queue)

    async def _stop_clients(self) -> None:
        await self._consumers.stop()
        if self._services is not None:
            await self._services.close()
        await self._groups["sampler"].dismiss()

    async def _read_end_state(self) -> None:
        with closing(self._tables(FINAL_STATE_NAME, FINAL_STATE)) as table:
            for zone in self._scenario.zones:
                try:
                    async for row in self._queue.final_state(zone):
                        table.append(with_text(row))
                except PortError as error:
                    LOGGER.warning("the end state of zone %s could not be read: %s", zone, error)
                    self._record.unread_zones.append(zone)
        if self._ordered is not None:
            await self._ordered.read_end_state()

    async def _close(self) -> None:
        for producer in self._producers.values():
            await producer.close()
        if self._services is not None:
            await self._services.close()
