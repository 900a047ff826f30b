"""One run: set up, load with faults, heal everything, drain within a bound, read every zone's end state, close.

The runner knows the cluster as a ``Testbed`` only, so it is the same on real servers and in simulation.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from analysis.history import DEPTH, FAULTS, FINAL_STATE, OPERATIONS, History
from cluster.testbed import Testbed
from cluster.zone import ClusterError
from engine.ports import PortError
from scenarios.consumers import Consumers
from scenarios.crew import Crew, Halt
from scenarios.faults import FaultSchedule, plan_faults
from scenarios.files import LOGGER
from scenarios.queues import QueueUnderTest, queue_under_test
from scenarios.recorder import Outcome, Recorder
from scenarios.sampler import DepthSampler
from scenarios.spec import Scenario
from scenarios.tables import DEPTH_NAME, FAULTS_NAME, FINAL_STATE_NAME, OPERATIONS_NAME, OpenTable
from scenarios.workload import Producer, plan_pushes

Status = Literal["complete", "interrupted", "failed"]

HEAL_BOUND_S = 60.0
"""Restarting a server may take this long; then the lab itself has failed."""

SETTLE_BOUND_S = 5.0
"""How long late replication may be under way after the last operation before the end state is read anyway."""

STAGGER_MS_MAX = 1_000
"""Consumers start within one interval of the unack handler before the load begins, but within this at most."""

_LEAD_NS = 100_000_000
_POLL_NS = 100_000_000
_QUIET_READINGS = 2
_PROGRESS_NS = 200_000_000

_CREWS = ("progress", "faults", "sampler", "load", "consumers")

PHASES = ("set-up", "load", "heal", "drain", "end state")


class Watcher(Protocol):
    """Whoever wants to see how a run comes along."""

    def phase(self, name: str, bound_s: float | None) -> None:
        """A phase begins; it lasts ``bound_s`` at most, if that is known."""

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        """Seconds since the phase began, and messages so far by (operation, outcome)."""


@dataclass(kw_only=True)
class RunRecord:
    """What a run leaves behind beside its tables; see ``analysis.rundir.RunInfo`` for the meaning."""

    status: Status = "complete"
    error: str | None = None
    server: str | None = None
    phases: dict[str, tuple[int, int]] = field(default_factory=dict)
    drained: bool = False
    unread_zones: list[str] = field(default_factory=list)
    shards: dict[str, str] = field(default_factory=dict)
    coordinators: dict[str, dict[str, Any]] = field(default_factory=dict)


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
    try:
        watcher.phase("set-up", None)
        await testbed.start()
        with ExitStack() as tables:
            run = _Run(scenario, testbed, open_table, halt, watcher, record, make_queue, tables)
            await run.phases()
    except Exception as error:  # the record must tell of it, whatever it is
        halt.fail(error)
    finally:
        record.coordinators = {name: item.statistics.as_dict() for name, item in testbed.coordinators.items()}
        await _stop(testbed, halt)
    _conclude(record, halt)
    return record


async def _stop(testbed: Testbed, halt: Halt) -> None:
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


class _Run:
    def __init__(
        self,
        scenario: Scenario,
        testbed: Testbed,
        open_table: OpenTable,
        halt: Halt,
        watcher: Watcher,
        record: RunRecord,
        make_queue: MakeQueue,
        tables: ExitStack,
    ) -> None:
        self._scenario = scenario
        self._testbed = testbed
        self._runtime = testbed.runtime
        self._open_table = open_table
        self._halt = halt
        self._watcher = watcher
        self._record = record
        self._queue = make_queue(testbed, scenario)
        record.shards = dict(self._queue.shards)
        history = tables.enter_context(closing(History(open_table(OPERATIONS_NAME, OPERATIONS))))
        self._depth_table = tables.enter_context(closing(open_table(DEPTH_NAME, DEPTH)))
        self._recorder = Recorder(history, self._runtime)
        self._crews = {name: Crew(self._runtime, halt) for name in _CREWS}
        self._consumers = Consumers(
            settings=scenario.consumers,
            open_queue=self._queue.consumer,
            recorder=self._recorder,
            runtime=self._runtime,
            crew=self._crews["consumers"],
        )
        self._producers = {zone: self._producer(zone) for zone in scenario.zones}
        faults = plan_faults(scenario, testbed, consumers=self._consumers, producers=self._producers)
        self._faults = FaultSchedule(faults, runtime=self._runtime, halt=halt)
        tables.callback(self._write_faults)
        self._phase_begin_ns = self._runtime.now_ns()

    async def phases(self) -> None:
        self._crews["progress"].spawn(self._report_progress(), name="progress")
        try:
            self._record.server = await self._server()
            await self._load()
            if not self._halt.called:
                await self._heal()
                self._record.drained = await self._drain()
            if not self._halt.called:
                await self._close_load()
                await self._read_end_state()
        finally:
            for crew in self._crews.values():
                await crew.dismiss()
            for producer in self._producers.values():
                await producer.close()

    async def _load(self) -> None:
        scenario, runtime = self._scenario, self._runtime
        self._begin_phase("load", scenario.load.duration_s)
        for producer in self._producers.values():
            await producer.start()
        await self._start_consumers()
        DepthSampler(
            queue=self._queue, table=self._depth_table, runtime=runtime, crew=self._crews["sampler"], halt=self._halt
        ).start()
        begin_ns = runtime.now_ns() + _LEAD_NS
        for zone, producer in self._producers.items():
            plan = plan_pushes(scenario.load, zone=zone, random=runtime.random)
            self._crews["load"].spawn(producer.run(plan, begin_ns=begin_ns), name=f"producer {zone}")
        for fault in self._faults.faults:
            self._crews["faults"].spawn(self._faults.run(fault, load_begin_ns=begin_ns), name=fault.name)
        end_ns = begin_ns + round(scenario.load.duration_s * 1e9)
        await self._halt.sleep(end_ns - runtime.now_ns())
        self._record.phases["load"] = (begin_ns, runtime.now_ns())

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
        )

    async def _heal(self) -> None:
        """Every fault ends within the load, but a server may still be starting."""
        self._begin_phase("heal", None)
        if not await self._crews["faults"].wait(HEAL_BOUND_S):
            raise ClusterError(f"not every fault had ended {HEAL_BOUND_S:g} s after the load")
        await self._faults.heal()

    async def _drain(self) -> bool:
        """Wait until every shard is empty where it is served. False if it is not within the bound.

        The bound begins when everything is healed and includes the reconnections of the coordinators, which try again
        after at most 10 s times the time factor.
        """
        bound_s = self._scenario.drain.bound_s
        self._begin_phase("drain", bound_s)
        begin_ns = self._runtime.now_ns()
        quiet = 0
        while self._runtime.now_ns() - begin_ns < bound_s * 1e9 and quiet < _QUIET_READINGS:
            quiet = quiet + 1 if await self._is_drained() else 0
            if await self._halt.sleep(_POLL_NS):
                break
        self._record.phases["drain"] = (begin_ns, self._runtime.now_ns())
        return quiet >= _QUIET_READINGS

    async def _is_drained(self) -> bool:
        if len(self._crews["load"]) or any(producer.in_flight for producer in self._producers.values()):
            return False
        if not all(coordinator.connected for coordinator in self._testbed.coordinators.values()):
            return False
        try:
            return all([(await self._queue.depth(shard)).empty for shard in self._queue.shards])
        except PortError:
            return False

    async def _close_load(self) -> None:
        self._begin_phase("end state", None)
        await self._consumers.stop()
        await self._crews["sampler"].dismiss()
        deadline_ns = self._runtime.now_ns() + round(SETTLE_BOUND_S * 1e9)
        quiet = 0
        while quiet < _QUIET_READINGS and self._runtime.now_ns() < deadline_ns:
            quiet = quiet + 1 if not any(link.in_flight for link in self._testbed.links.values()) else 0
            await self._runtime.sleep(_POLL_NS)

    async def _read_end_state(self) -> None:
        with closing(self._open_table(FINAL_STATE_NAME, FINAL_STATE)) as table:
            for zone in self._scenario.zones:
                try:
                    async for row in self._queue.final_state(zone):
                        table.append(row)
                except PortError as error:
                    LOGGER.warning("the end state of zone %s could not be read: %s", zone, error)
                    self._record.unread_zones.append(zone)

    async def _server(self) -> str | None:
        """Name and version of the servers, as the first zone's tells them."""
        direct = self._testbed.direct(self._scenario.zones[0])
        (reply,) = await direct.execute(("INFO", "server"))
        if not isinstance(reply, bytes):
            return None
        lines = (line.partition(":") for line in reply.decode().splitlines())
        told = {name: value.strip() for name, colon, value in lines if colon}
        name = told.get("server_name", "redis")
        return f"{name} {told.get(f'{name}_version', told.get('redis_version', 'of unknown version'))}"

    def _write_faults(self) -> None:
        with closing(self._open_table(FAULTS_NAME, FAULTS)) as table:
            for row in self._faults.rows:
                table.append(row)

    def _begin_phase(self, name: str, bound_s: float | None) -> None:
        LOGGER.info("%s begins", name)
        self._phase_begin_ns = self._runtime.now_ns()
        self._watcher.phase(name, bound_s)

    async def _report_progress(self) -> None:
        while not await self._halt.sleep(_PROGRESS_NS):
            elapsed_s = (self._runtime.now_ns() - self._phase_begin_ns) / 1e9
            self._watcher.progress(elapsed_s, self._recorder.counts)
