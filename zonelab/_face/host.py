"""Hosts, on which queues are opened: a started testbed, and the state of each queue that its programs share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from zonelab.cluster.connections.answered import AnsweredConnection
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Clock, Connection, Runtime
from zonelab.engine.sync import CoroutineRunner
from zonelab.scenarios.clients.services import Services
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.under_test import QueueNames, QueueUnderTest, RunsServices, is_empty
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt, TaskGroup, until_quiet

if TYPE_CHECKING:
    from zonelab._face.recording import ProgramRecording  # loads pyarrow


class UserProgram:
    """``Wrap`` of a user's program: errors that a zone's port replies in place of servers are raised."""

    def __call__(self, connection: Connection) -> Connection:
        return AnsweredConnection(connection)

    def runtime_of(self, runtime: Runtime) -> Runtime:
        return runtime

    def clock_of(self, clock: Clock) -> Clock:
        return clock


PROGRAM = UserProgram()


@dataclass(kw_only=True)
class SharedQueue:
    """One queue on a host: its adapter, its services, and its history if there is one."""

    name: str
    scenario: Scenario
    adapter: QueueUnderTest
    recording: "ProgramRecording | None"
    services: Services | None
    program: str = ""
    """The beginning of the names of its programs."""
    runtime: Runtime
    users: list[Any] = field(default_factory=list)
    """The objects that have it open, each with ``close``."""
    programs: int = 0
    started: bool = False

    def process(self, zone: str) -> str:
        """Return a new name for a program in ``zone``."""
        self.programs += 1
        return f"consumer-{zone}-{self.programs}"

    async def start(self) -> None:
        """Start the engine's background programs if they do not run yet."""
        if not self.started:
            self.started = True
            if self.services is not None:
                await self.services.start()

    async def until_empty(self, *, deadline_ns: int) -> bool:
        """Wait until no shard lists any message. Returns False if that is not so at the deadline."""
        return await until_quiet(partial(is_empty, self.adapter), runtime=self.runtime, deadline_ns=deadline_ns)

    async def close(self) -> None:
        """Close everything that has the queue open, and its services."""
        for user in list(self.users):
            await user.close()
        if self.started and self.services is not None:
            await self.services.close()
        self.started = False


class _Fault(Protocol):
    @property
    def name(self) -> str: ...

    holds: frozenset[str]

    async def close(self) -> None: ...


class Host:
    """Testbed on which queues are opened.

    ``document``: the scenario of the testbed, without a queue. ``program``: prefix of its programs' names."""

    def __init__(
        self, testbed: Testbed, document: Mapping[str, Any], *, program: str = "", records: bool = False
    ) -> None:
        self.testbed = testbed
        self.document = document
        self.queues: dict[str, SharedQueue] = {}
        self.failed = Halt(testbed.runtime)
        self.faults_begun = 0
        self._faults: list[_Fault] = []
        self._program = program
        self._records = records
        self._closed = False

    def check_open(self) -> None:
        """Raise ``ClusterError`` if the host is closed."""
        if self._closed:
            raise ClusterError("the connection is closed: open the queue within its block")

    def shared(self, name: str, prefix: str | None, scenario: Scenario) -> SharedQueue:
        """Return the queue of this name. Raises ``ClusterError`` if it is open here with other options."""
        self.check_open()
        known = self.queues.get(name)
        if known is not None:
            if known.scenario != scenario:
                raise ClusterError(f"queue {name!r} was opened with other options here; use those, or another name")
            return known
        adapter = queue_under_test(self.testbed, scenario, QueueNames(name=name, prefix=prefix, program=self._program))
        services = None
        if scenario.services and isinstance(adapter, RunsServices):
            tasks = TaskGroup(self.testbed.runtime, self.failed)
            services = Services(scenario.services, open_service=adapter.service, tasks=tasks)
        made = SharedQueue(
            name=name,
            scenario=scenario,
            adapter=adapter,
            recording=self._recording(scenario, adapter),
            services=services,
            program=self._program,
            runtime=self.testbed.runtime,
        )
        self.queues[name] = made
        return made

    def _recording(self, scenario: Scenario, adapter: QueueUnderTest) -> "ProgramRecording | None":
        if not self._records:
            return None
        from zonelab._face.recording import ProgramRecording

        return ProgramRecording(self.testbed, scenario, adapter)

    def begin_fault(self, fault: _Fault) -> None:
        """Register ``fault`` as in force. Raises ``ClusterError`` if another one holds what it needs."""
        for other in self._faults:
            if held := sorted(other.holds & fault.holds):
                raise ClusterError(f"fault {fault.name}: {other.name} already holds {', '.join(held)}")
        self._faults.append(fault)
        self.faults_begun += 1

    def end_fault(self, fault: _Fault) -> bool:
        """Remove ``fault`` from those in force. Returns False if it is not among them."""
        there = fault in self._faults
        if there:
            self._faults.remove(fault)
        return there

    def record_fault(self, row: dict[str, Any]) -> None:
        """Write a fault that has ended into every history."""
        for queue in self.queues.values():
            if queue.recording is not None:
                queue.recording.faults.append(row)

    async def heal(self) -> None:
        """End every fault."""
        for fault in list(self._faults):
            await fault.close()

    async def close(self) -> None:
        """Close every queue that is open."""
        self._closed = True
        for queue in self.queues.values():
            await queue.close()


class QueuePlace:
    """A place where coroutines open queues."""

    zone: str
    zones: tuple[str, ...]
    is_port = False
    """It is the port of one zone of a cluster, which decides about levels itself."""

    def __init__(self, host: Host) -> None:
        self._host = host


class BlockingPlace(ABC):
    """A place where programs without an event loop open queues."""

    @property
    @abstractmethod
    def _place(self) -> QueuePlace: ...

    @property
    @abstractmethod
    def _runner(self) -> CoroutineRunner: ...

    @property
    def _is_simulated(self) -> bool:
        """True if time passes only within calls."""
        return False
