"""One run: set up, load with faults, heal everything, drain within a bound, read every zone's end state, close.

The runner knows the cluster as a ``Testbed`` only, so it is the same on real servers and in simulation.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from analysis.runs.history import DEPTH, FINAL_STATE, OPERATIONS, History
from cluster.testbed import Testbed
from cluster.zone import ClusterError
from engine.ports import PortError
from scenarios.clients.consumers import Consumers
from scenarios.clients.producers import Producer, plan_pushes
from scenarios.clients.recorder import Outcome, Recorder
from scenarios.consistency.run import AccessRun
from scenarios.faults import plan_faults
from scenarios.queues.dyno import QueueUnderTest, queue_under_test
from scenarios.run.depth_sampler import DepthSampler
from scenarios.run_files.directory import LOGGER
from scenarios.run_files.tables import DEPTH_NAME, FINAL_STATE_NAME, OPERATIONS_NAME, OpenTable
from scenarios.run_phases import RunContext, RunPhases, RunRecord, Watcher
from scenarios.spec.scenario import Scenario
from scenarios.tasks import Halt, at_end

STAGGER_MS_MAX = 1_000
"""Consumers start within one interval of the unack handler before the load begins, but within this at most."""

MakeQueue = Callable[[Testbed, Scenario], QueueUnderTest]


async def carry_out(
    scenario: Scenario,
    testbed: Testbed,
    open_table: OpenTable,
    *,
    halt: Halt,
    watcher: Watcher,
    make_queue: MakeQueue = queue_under_test,
) -> RunRecord:
    """Carry out one run on a testbed that is not started yet, and write its tables.

    Whatever happens, the testbed is stopped and the tables are closed when this returns. What went wrong is in the
    record: ``interrupted`` if somebody asked for the end, ``failed`` with one line if the lab could not go on.
    """
    record = RunRecord()
    async with at_end(lambda: _stop(testbed, halt, record)):
        try:
            watcher.phase("set-up", None)
            await testbed.start()
            with ExitStack() as tables:
                context = RunContext(
                    scenario=scenario,
                    testbed=testbed,
                    open_table=open_table,
                    halt=halt,
                    watcher=watcher,
                    record=record,
                    tables=tables,
                )
                run = QueueRun(context, make_queue) if scenario.workload is None else AccessRun(context)
                await run.phases()
        except Exception as error:  # the record must tell of it, whatever it is
            halt.fail(error)
    _conclude(record, halt)
    return record


async def _stop(testbed: Testbed, halt: Halt, record: RunRecord) -> None:
    record.coordinators = {name: item.statistics.as_dict() for name, item in testbed.coordinators.items()}
    try:
        await testbed.stop()
    except Exception as error:  # it must not hide what happened before
        halt.fail(error)


def _conclude(record: RunRecord, halt: Halt) -> None:
    if halt.error is not None:
        record.status, record.error = "failed", explain(halt.error)
        LOGGER.error("the run failed: %s", record.error, exc_info=halt.error)
    elif halt.interrupted:
        record.status, record.error = "interrupted", "interrupted by the user"
        LOGGER.warning("the run was interrupted")


def explain(error: Exception) -> str:
    """One line that a user can act upon."""
    if isinstance(error, ClusterError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else f"writing the run: {error.strerror}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class QueueRun(RunPhases):
    """A run whose clients push to, and pop from, a queue."""

    def __init__(self, context: RunContext, make_queue: MakeQueue) -> None:
        super().__init__(context, crews=("sampler", "load", "consumers"))
        scenario, open_table, tables = context.scenario, context.open_table, context.tables
        self._queue = make_queue(context.testbed, scenario)
        context.record.shards = dict(self._queue.shards)
        history = tables.enter_context(closing(History(open_table(OPERATIONS_NAME, OPERATIONS))))
        self._depth_table = tables.enter_context(closing(open_table(DEPTH_NAME, DEPTH)))
        self._recorder = Recorder(history, self._runtime, clock=context.testbed.clock)
        self._consumers = Consumers(
            settings=scenario.consumers,
            poison=scenario.load.poison,
            open_queue=self._queue.consumer,
            recorder=self._recorder,
            runtime=self._runtime,
            crew=self._crews["consumers"],
        )
        self._producers = {zone: self._producer(zone) for zone in scenario.zones}
        self._plan(plan_faults(scenario, context.testbed, consumers=self._consumers, producers=self._producers))

    @property
    def _counts(self) -> Mapping[tuple[str, Outcome], int]:
        return self._recorder.counts

    async def _prepare(self) -> None:
        for producer in self._producers.values():
            await producer.start()
        await self._start_consumers()
        DepthSampler(
            queue=self._queue,
            table=self._depth_table,
            runtime=self._runtime,
            crew=self._crews["sampler"],
            halt=self._halt,
        ).start()

    def _start(self, begin_ns: int) -> None:
        for zone, producer in self._producers.items():
            plan = plan_pushes(self._scenario.load, zone=zone, random=self._runtime.random)
            self._crews["load"].spawn(producer.run(plan, begin_ns=begin_ns), name=f"producer {zone}")

    async def _start_consumers(self) -> None:
        """One after the other at drawn times: programs that started as one would also look for ended leases as one."""
        scenario, random = self._scenario, self._runtime.random("consumer starts")
        spread_ns = min(scenario.queue.unack_interval_ms, STAGGER_MS_MAX) * 1_000_000
        programs = [(zone, number) for zone in scenario.zones for number in range(scenario.consumers.per_zone)]
        begin_ns = self._runtime.now_ns()
        for start_ns, zone, number in sorted((random.randrange(spread_ns), *program) for program in programs):
            await self._halt.sleep(begin_ns + start_ns - self._runtime.now_ns())
            self._consumers.start(zone, number)

    def _producer(self, zone: str) -> Producer:
        return Producer(
            zone=zone,
            open_queue=self._queue.producer,
            recorder=self._recorder,
            runtime=self._runtime,
            halt=self._halt,
            retries=self._scenario.load.retries,
            retry_after_ms=self._scenario.load.retry_after_ms,
        )

    async def _is_drained(self) -> bool:
        if len(self._crews["load"]) or any(producer.in_flight for producer in self._producers.values()):
            return False
        if not all(coordinator.connected for coordinator in self._testbed.coordinators.values()):
            return False
        try:
            return all([(await self._queue.depth(shard)).empty for shard in self._queue.shards])
        except PortError:
            return False

    async def _stop_clients(self) -> None:
        await self._consumers.stop()
        await self._crews["sampler"].dismiss()

    async def _read_end_state(self) -> None:
        with closing(self._open_table(FINAL_STATE_NAME, FINAL_STATE)) as table:
            for zone in self._scenario.zones:
                try:
                    async for row in self._queue.final_state(zone):
                        table.append(row)
                except PortError as error:
                    LOGGER.warning("the end state of zone %s could not be read: %s", zone, error)
                    self._record.unread_zones.append(zone)

    async def _close(self) -> None:
        for producer in self._producers.values():
            await producer.close()
