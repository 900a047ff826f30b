"""A run whose clients use registers, sets, locks, counters or lists instead of a queue."""

from collections.abc import Mapping
from contextlib import closing

from zonelab.analysis.runs.accesses import FINAL_VALUES, FINAL_VALUES_NAME
from zonelab.engine.ports import Connection, PortError, ServerError, Unavailable
from zonelab.scenarios.clients.program_crash import wrapped
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.consistency.clients import AccessRecorder, ZoneClients, in_flight
from zonelab.scenarios.consistency.operations import reading, values
from zonelab.scenarios.consistency.plan import plan_accesses
from zonelab.scenarios.faults.fault import Stage
from zonelab.scenarios.faults.schedule import plan_faults
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.run_phases import RunContext, RunPhases

KEYS_AT_ONCE = 200
"""Keys that are read together at the end, so that a large end state blocks no server."""


class WorkloadTestRun(RunPhases):
    """Drained means: every operation has ended, every coordinator is connected to every zone again, and what hinted
    handoff and anti-entropy had to do is done."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context, groups=("load",))
        scenario, workload = context.scenario, context.scenario.workload
        assert workload is not None, "a run of accesses needs a workload"
        self._kind = workload.kind
        self._recorder = AccessRecorder(context.tables, self._runtime, kind=workload.kind)
        context.closing.callback(self._recorder.close)
        self._clients: dict[str, ZoneClients] = {}
        self._idle_ns: int | None = None
        self._plan(plan_faults(scenario.faults, Stage(targets=scenario, testbed=context.testbed)))

    @property
    def _counts(self) -> Mapping[tuple[str, Outcome], int]:
        return self._recorder.counts

    async def _prepare(self) -> None:
        for zone in self._scenario.zones:
            self._clients[zone] = ZoneClients(
                zone=zone,
                connection=self._connection(zone),
                recorder=self._recorder,
                runtime=self._runtime,
                halt=self._halt,
            )

    def _connection(self, zone: str) -> Connection:
        """The one that all clients of the zone share."""
        connection = self._testbed.connection(zone, self._scenario.setting)
        return wrapped(connection, f"clients-{zone}", lambda way: way)

    def _start(self, begin_ns: int) -> None:
        for zone, clients in self._clients.items():
            plan = plan_accesses(self._scenario, zone=zone, random=self._runtime.random)
            self._groups["load"].spawn(clients.run(plan, begin_ns=begin_ns), name=f"clients {zone}")

    async def _is_drained(self) -> bool:
        busy = len(self._groups["load"]) or in_flight(self._clients)
        if busy or not all(coordinator.connected for coordinator in self._testbed.coordinators.values()):
            self._idle_ns = None
            return False
        if self._idle_ns is None:
            self._idle_ns = self._runtime.now_ns()
        return self._testbed.at_rest(self._idle_ns)

    async def _stop_clients(self) -> None:
        for clients in self._clients.values():
            await clients.close()

    async def _read_end_state(self) -> None:
        with closing(self._tables(FINAL_VALUES_NAME, FINAL_VALUES)) as table:
            for zone in self._scenario.zones:
                try:
                    for row in await self._held(zone):
                        table.append_values(row)
                except PortError as error:
                    LOGGER.warning("the end state of zone %s could not be read: %s", zone, error)
                    self._record.unread_zones.append(zone)

    async def _held(self, zone: str) -> list[tuple[str, str, int, str]]:
        direct, keys = self._testbed.direct(zone), list(self._recorder.keys)
        rows = []
        for first in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[first : first + KEYS_AT_ONCE]
            replies = await direct.execute(*(reading(self._kind, key) for key in some))
            for key, reply in zip(some, replies, strict=True):
                if isinstance(reply, ServerError):
                    raise Unavailable(*reply.args)
                rows += [(zone, key, position, value) for position, value in enumerate(values(self._kind, reply))]
        return rows

    async def _close(self) -> None:
        await self._stop_clients()
