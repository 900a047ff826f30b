"""The phases that every run goes through, whatever its clients do: load with faults, heal, drain, end state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from dataclasses import dataclass
from typing import Any, Protocol

from zonelab.analysis.runs.history import FAULTS
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.clients.messages_so_far import MessagesSoFar
from zonelab.scenarios.clients.order_so_far import OrderSoFar
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.faults.schedule import FaultSchedule, PlannedFault
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.under_test import QueueUnderTest
from zonelab.scenarios.run_files.record import Note, RunRecord
from zonelab.scenarios.run_files.tables import FAULTS_NAME, Tables
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt, TaskGroup, at_end, until_quiet

HEAL_BOUND_S = 60.0
"""Restarting a server may take this long; then the lab itself has failed."""

SETTLE_BOUND_S = 5.0
"""Longest wait for late replication after the last operation before the end state is read anyway."""

_LEAD_NS = 100_000_000
_PROGRESS_NS = 200_000_000


class Watcher(Protocol):
    """Watcher of a run's progress."""

    def phase(self, name: str, bound_s: float | None) -> None:
        """A phase begins; it lasts ``bound_s`` at most, if that is known."""

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        """Seconds since the phase began, and messages so far by (operation, outcome)."""


class Onlooker(Watcher, Protocol):
    """Watcher that also looks at the cluster and the messages of a run while it goes on; it only reads."""

    def served(self) -> AbstractAsyncContextManager[None]:
        """Return a block within which others can see what it sees."""

    def sees(self, run: "RunPhases") -> None:
        """The run is about to begin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """Resources of one run. ``closing`` closes, at the end, what the run has opened."""

    scenario: Scenario
    testbed: Testbed
    tables: Tables
    halt: Halt
    watcher: Watcher
    record: RunRecord
    closing: ExitStack
    note: Note


class RunPhases(ABC):
    """One run on a testbed that is started. What its clients do is up to the subclass, which sets ``_faults``."""

    def __init__(self, context: RunContext, *, groups: tuple[str, ...]) -> None:
        self._scenario = context.scenario
        self._testbed = context.testbed
        self._runtime = context.testbed.runtime
        self._tables = context.tables
        self._tell = context.note
        self._halt = context.halt
        self._watcher = context.watcher
        self._record = context.record
        self._groups = {name: TaskGroup(self._runtime, self._halt) for name in ("progress", "faults", *groups)}
        self._fault_table = context.closing.enter_context(closing(context.tables(FAULTS_NAME, FAULTS)))
        self._plan([])
        self._phase_begin_ns = self._runtime.now_ns()

    @abstractmethod
    async def _prepare(self) -> None:
        """Everything that must be there before the load begins."""

    @abstractmethod
    def _start(self, begin_ns: int) -> None:
        """Spawn the clients' load, which begins at run time ``begin_ns``."""

    @abstractmethod
    async def _is_drained(self) -> bool:
        """Return whether nothing is left to wait for."""

    @abstractmethod
    async def _stop_clients(self) -> None:
        """End, in order, the clients that would go on for ever."""

    @abstractmethod
    async def _read_end_state(self) -> None:
        """Write what each zone's server holds; zones that do not answer go into the record."""

    @abstractmethod
    async def _close(self) -> None:
        """Let go of everything, however the run ended."""

    @property
    def testbed(self) -> Testbed:
        return self._testbed

    @property
    def faults_in_force(self) -> list[dict[str, Any]]:
        return self._faults.in_force

    @property
    def queue(self) -> QueueUnderTest | None:
        """None of a run whose clients use none."""
        return None

    def tell_messages(self, so_far: MessagesSoFar) -> None:  # noqa: B027 (a workload has no messages)
        """Report every operation on messages from now on to ``so_far``, if the run has any."""

    def tell_order(self, so_far: OrderSoFar) -> None:  # noqa: B027 (most queues keep no order)
        """Report every event of partitions from now on to ``so_far``, if the run has any."""

    @property
    @abstractmethod
    def _counts(self) -> Mapping[tuple[str, Outcome], int]:
        """Return what was done so far, by operation and outcome."""

    def _plan(self, faults: list[PlannedFault]) -> None:
        self._faults = FaultSchedule(faults, table=self._fault_table, runtime=self._runtime, halt=self._halt)

    async def phases(self) -> None:
        """Load, heal all faults, drain, let the options settle, and read what every zone holds."""
        self._groups["progress"].spawn(self._report_progress(), name="progress")
        async with at_end(self._dismiss):
            self._record.server = await self._server()
            await self._load()
            if not self._halt.called:
                await self._heal()
                self._record.drained = await self._drain()
            if not self._halt.called:
                await self._settle()
                await self._read_end_state()

    async def _dismiss(self) -> None:
        for group in self._groups.values():
            await group.dismiss()
        await self._close()

    async def _load(self) -> None:
        runtime, duration_s = self._runtime, self._scenario.load.duration_s
        self._begin_phase("load", duration_s)
        await self._prepare()
        begin_ns = runtime.now_ns() + _LEAD_NS
        self._note("load", begin_ns)
        self._start(begin_ns)
        for fault in self._faults.faults:
            self._groups["faults"].spawn(self._faults.run(fault, load_begin_ns=begin_ns), name=fault.name)
        await self._until_loaded(begin_ns + round(duration_s * 1e9))
        self._record.phases["load"] = (begin_ns, runtime.now_ns())

    async def _until_loaded(self, end_ns: int) -> None:
        """Wait for the end of the load, at run time ``end_ns`` at the latest."""
        await self._halt.sleep(end_ns - self._runtime.now_ns())

    async def _heal(self) -> None:
        """Every fault ends within the load, but a server may still be starting."""
        self._begin_phase("heal", None)
        if not await self._groups["faults"].wait(HEAL_BOUND_S):
            raise ClusterError(f"not every fault had ended {HEAL_BOUND_S:g} s after the load")
        await self._faults.heal()

    async def _drain(self) -> bool:
        """Wait until nothing is left to wait for. False if it does not come to that within the bound.

        The bound begins when everything is healed and includes the reconnections of the coordinators, which try again
        after at most 10 s times the time factor.
        """
        bound_s = self._scenario.drain.bound_s
        self._begin_phase("drain", bound_s)
        begin_ns = self._runtime.now_ns()
        self._note("drain", begin_ns)
        deadline_ns = begin_ns + round(bound_s * 1e9)
        drained = await until_quiet(
            self._is_drained, runtime=self._runtime, deadline_ns=deadline_ns, sleep=self._halt.sleep
        )
        self._record.phases["drain"] = (begin_ns, self._runtime.now_ns())
        return drained

    async def _settle(self) -> None:
        self._begin_phase("end state", None)
        await self._stop_clients()
        deadline_ns = self._runtime.now_ns() + round(SETTLE_BOUND_S * 1e9)
        await until_quiet(self._nothing_in_flight, runtime=self._runtime, deadline_ns=deadline_ns)

    async def _nothing_in_flight(self) -> bool:
        return not any(link.in_flight for link in self._testbed.links.values())

    async def _server(self) -> str | None:
        """Name and version of the servers, as the first zone's reports them."""
        direct = self._testbed.direct(self._scenario.zones[0])
        (reply,) = await direct.execute(("INFO", "server"))
        if not isinstance(reply, bytes):
            return None
        lines = (line.partition(":") for line in reply.decode().splitlines())
        facts = {name: value.strip() for name, colon, value in lines if colon}
        name = facts.get("server_name", "redis")
        return f"{name} {facts.get(f'{name}_version', facts.get('redis_version', 'of unknown version'))}"

    def _begin_phase(self, name: str, bound_s: float | None) -> None:
        LOGGER.info("%s begins", name)
        self._phase_begin_ns = self._runtime.now_ns()
        self._record.phase = None
        self._tell(self._record)
        self._watcher.phase(name, bound_s)

    def _note(self, phase: str, begin_ns: int) -> None:
        self._record.phase = phase, begin_ns
        self._tell(self._record)

    async def _report_progress(self) -> None:
        """And let the tables be cut: here no operation is half written."""
        while not await self._halt.sleep(_PROGRESS_NS):
            self._tables.cut(self._runtime.now_ns())
            elapsed_s = (self._runtime.now_ns() - self._phase_begin_ns) / 1e9
            self._watcher.progress(elapsed_s, self._counts)
