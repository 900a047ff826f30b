"""Interface of a queue under test, of any engine: instances for producers and consumers, depths and end states."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level, Setting
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.fifo.consumer.listener import Listener
from zonelab.engine.fifo.events import Observer
from zonelab.engine.ports import Clock, Connection, PortError, Runtime
from zonelab.engine.queue import Queue

if TYPE_CHECKING:
    from zonelab.analysis.runs.order import OrderHistory

Wrap = Callable[[Connection], Connection]


@runtime_checkable
class SeesTheWorld(Protocol):
    """A wrapper of connections of one program that also makes its runtime and its clock."""

    def runtime_of(self, runtime: Runtime) -> Runtime: ...
    def clock_of(self, clock: Clock) -> Clock: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """Surroundings of one program in ``zone``, from which its queue is made: ``runtime`` and ``clock`` of its machine.

    ``zones``: the names of all zones. ``connection`` goes through the zone's coordinator at the level of the run,
    ``local`` through the same at DC_ONE, ``safe`` at DC_SAFE_QUORUM; ``reads`` has a connection for each zone that
    reads that zone alone.
    """

    zone: str
    zones: tuple[str, ...]
    runtime: Runtime
    clock: Clock
    connection: Connection
    local: Connection
    safe: Connection
    reads: Mapping[str, Connection]


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueNames:
    """Names that a queue has where its servers are not those of one run alone.

    ``name`` and ``prefix``: of its keys, by default the adapter's own. ``program``: what the names of its programs
    begin with, which no other process has or had.
    """

    name: str | None = None
    prefix: str | None = None
    program: str = ""


OF_A_RUN = QueueNames()
"""A run has servers of its own, and the same names each time."""


def site_of(testbed: Testbed, zones: tuple[str, ...], zone: str, *, level: Setting, wrap: Wrap) -> Site:
    """``wrap`` is applied to each of the connections, and to runtime and clock if it knows how."""
    runtime: Runtime = testbed.runtime
    clock: Clock = testbed.clock(zone)
    if isinstance(wrap, SeesTheWorld):
        runtime, clock = wrap.runtime_of(runtime), wrap.clock_of(clock)
    return Site(
        zone=zone,
        zones=zones,
        runtime=runtime,
        clock=clock,
        connection=wrap(testbed.connection(zone, level)),
        local=wrap(testbed.connection(zone, Level.DC_ONE)),
        safe=wrap(testbed.connection(zone, Level.DC_SAFE_QUORUM)),
        reads={name: wrap(testbed.reads(zone, name)) for name in zones},
    )


@dataclass(frozen=True, slots=True)
class Depth:
    """Counts of the messages that a shard lists: waiting or delayed, and leased."""

    waiting: int
    leased: int

    @property
    def empty(self) -> bool:
        return self.waiting == 0 and self.leased == 0


class QueueUnderTest(Protocol):
    """One queue on one testbed."""

    @property
    def shards(self) -> Mapping[str, str]:
        """Shard → the zone whose consumers serve it."""

    async def producer(self, zone: str, wrap: Wrap) -> Queue: ...
    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        """A queue instance of its own, as a program of its own would have; all its commands pass through ``wrap``."""

    async def depth(self, shard: str) -> Depth:
        """Return the depth in the server of the serving zone. Raises ``PortError`` if it does not answer."""

    def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``zonelab.analysis.runs.history.FINAL_STATE`` as the server of ``zone`` has them. Raises
        ``PortError``.
        """


async def is_empty(queue: QueueUnderTest) -> bool:
    """Return whether no shard lists any message; False, too, if a server does not answer."""
    try:
        return all([(await queue.depth(shard)).empty for shard in queue.shards])
    except PortError:
        return False


class GroupMember(Protocol):
    """A program of a consumer group. ``close`` is its own stop order; ``kill`` ends it between two commands."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...
    def kill(self) -> None: ...


@runtime_checkable
class OrderedQueueUnderTest(Protocol):
    """A queue of ordered messages, whose consumers are members of a group and are handed what they are to do."""

    @property
    def commit_every(self) -> int | None:
        """Listeners commit by hand after so many messages of a partition; None: what succeeded is committed."""

    def record(self, history: "OrderHistory") -> None:
        """Record into ``history`` what programs do from now on."""

    def observer(self, zone: str) -> Observer:
        """Writes into the history what a program of ``zone`` does."""

    async def member(self, zone: str, wrap: Wrap, *, name: str, listener: Listener, observer: Observer) -> GroupMember:
        """A program of ``zone``, not started yet; all its commands pass through ``wrap``."""

    def acknowledges(self, name: str) -> bool:
        """Return what the program of that name is handed, and commits, counts as delivered and acknowledged: of several
        groups those of one do. All are in the history of order.
        """

    async def gone(self, name: str, zone: str) -> None:
        """The program of that name has died, and its zone notices that its connections are closed."""

    def final_order(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``zonelab.analysis.runs.order.FINAL_ORDER`` as the server of ``zone`` has them. Raises
        ``PortError``.
        """


@runtime_checkable
class RunsServices(Protocol):
    """A queue that needs programs in the background, beside producers and consumers: ``Scenario.services``."""

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        """The program, not started yet; all its commands pass through ``wrap``. ``close`` is its own stop order."""
