"""Three simulated zones, a queue between them, and ways to let a client die, be overtaken or lose a reply."""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from support.engine.dyno import SHARDS, Content, Interceptor, content
from support.engine.dyno_v2 import make_pipelined, shard_content

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.real.cluster import RealCluster
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.dyno import DynoQueue, DynoSettings, LocalOnly, QueueKeys, ShardingStrategy, UnackResult
from zonelab.engine.dyno.v2 import PipelinedQueue
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Command, Connection, Indeterminate, PortError, Reply, ServerError, Unavailable

MS = 1_000_000
LEASE_MS = 1000
NAME, PREFIX = "jobs", "dyno"
SIMULATION = SimSettings(
    seed=1,
    lag=parse_lag("0"),
    timeouts=Timeouts(factor=0.1),
    schedule=Schedule(tie_break=TieBreak.FIFO),
)


class Died(Exception):
    """The program ended between two commands."""


class Wrapper:
    def __init__(self, inner: Connection) -> None:
        self.inner = inner

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self.inner.execute(*commands)


class Dies(Wrapper):
    """The program dies when its ``nth`` command called ``name`` has been carried out."""

    def __init__(self, inner: Connection, name: str, nth: int) -> None:
        super().__init__(inner)
        self._name, self._left = name, nth

    async def execute(self, *commands: Command) -> list[Reply]:
        if self._left == 0:
            raise Died
        replies = await self.inner.execute(*commands)
        self._left -= commands[0][0] == self._name
        if self._left == 0:
            raise Died
        return replies


class DiesWithin(Wrapper):
    """The program dies in its first pipeline that begins with ``name``: only ``applied`` commands of it were sent."""

    def __init__(self, inner: Connection, name: str, applied: int) -> None:
        super().__init__(inner)
        self._name, self._applied = name, applied

    async def execute(self, *commands: Command) -> list[Reply]:
        if commands[0][0] != self._name:
            return await self.inner.execute(*commands)
        await self.inner.execute(*commands[: self._applied])
        raise Died


class AtNth(Wrapper):
    """Something else than usual becomes of the ``nth`` command called ``name``."""

    def __init__(self, inner: Connection, name: str, nth: int = 1) -> None:
        super().__init__(inner)
        self._name, self._left = name, nth

    async def execute(self, *commands: Command) -> list[Reply]:
        if commands[0][0] == self._name:
            self._left -= 1
            if self._left == 0:
                return await self.instead(*commands)
        return await self.inner.execute(*commands)

    async def instead(self, *commands: Command) -> list[Reply]:
        raise NotImplementedError


class Fails(AtNth):
    """It is not carried out."""

    async def instead(self, *commands: Command) -> list[Reply]:
        raise Unavailable("no connection")


class Repeats(AtNth):
    """The client library repeats it: it was carried out, but its reply was lost."""

    async def instead(self, *commands: Command) -> list[Reply]:
        await self.inner.execute(*commands)
        return await self.inner.execute(*commands)


class LosesReply(AtNth):
    """It is carried out, but its reply is lost, and the program is told so."""

    async def instead(self, *commands: Command) -> list[Reply]:
        await self.inner.execute(*commands)
        raise Indeterminate("reply lost")


Wrap = Callable[[Connection], Connection]


class Stage:
    """Where a course is played. ``compat``: by queues with the original's defects; ``level`` is the course's to set.

    On three simulated zones that are made for it, unless ``cluster`` is another testbed.
    """

    def __init__(self, *, compat: bool, cluster: SimCluster | RealCluster | None = None) -> None:
        self.compat = compat
        self.level = Level.DC_QUORUM
        self.cluster = cluster or SimCluster(SHARDS, SIMULATION)
        self.keys = QueueKeys(prefix=PREFIX, queue=NAME)

    def connection(self, zone: str, level: Level) -> Connection:
        return self.cluster.connection(zone, level)

    def play(self, course: "Course") -> str:
        async def program() -> str:
            async with self.cluster:
                return await course(self)

        return self.cluster.runtime.run_until_complete(program())

    def queue(
        self,
        zone: str = "a",
        *,
        shards: tuple[str, ...] = SHARDS,
        serves: str | None = None,
        quorum: Wrap = lambda connection: connection,
        local: Wrap = lambda connection: connection,
        strategy: ShardingStrategy | None = None,
    ) -> DynoQueue:
        """A program's queue object in ``zone``. What it pushes goes to the shard that it serves, if nothing is said."""
        serves = serves or zone
        return DynoQueue(
            NAME,
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            quorum=quorum(self.connection(zone, self.level)),
            local=local(self.connection(zone, Level.DC_ONE)),
            settings=DynoSettings(
                prefix=PREFIX,
                shards=shards,
                shard=serves,
                unack_ms=LEASE_MS,
                unack_interval_ms=500,
                compat=self.compat,
            ),
            strategy=strategy or LocalOnly(serves),
        )

    def pipelined(
        self, zone: str = "a", *, shard: str | None = None, quorum: Wrap = lambda connection: connection
    ) -> PipelinedQueue:
        """A V2 queue of one shard, that of its zone if nothing is said."""
        return make_pipelined(
            quorum(self.connection(zone, self.level)),
            local=self.connection(zone, Level.DC_ONE),
            runtime=self.cluster.runtime,
            clock=self.cluster.clock(zone),
            name=NAME,
            prefix=PREFIX,
            shard=shard or zone,
            unack_ms=LEASE_MS,
            unack_interval_ms=500,
            compat=self.compat,
        )

    def multi(
        self,
        zone: str = "a",
        *,
        strategy: ShardingStrategy | None = None,
        by_shard: Mapping[str, Wrap] = MappingProxyType({}),
    ) -> MultiQueue:
        """A multi-shard queue of a program in ``zone``; ``by_shard`` wraps the connections of single shards."""
        queues = {
            shard: self.pipelined(zone, shard=shard, **({"quorum": by_shard[shard]} if shard in by_shard else {}))
            for shard in SHARDS
        }
        return MultiQueue(NAME, shard=zone, queues=queues, strategy=strategy)

    async def pipelined_state(self, message_id: str) -> str:
        """As ``state``, of V2's keys: the payload belongs to the shard, too."""
        states: dict[str, str] = {}
        for zone in SHARDS:
            found = []
            for shard in SHARDS:
                content = await shard_content(self.cluster.direct(zone), self.pipelined(shard=shard).keys)
                places = content.state(message_id)
                found += [f"{place}:{shard}" for place in places.split() if place != "-"]
            states[zone] = " ".join(found) or "gone"
        return of_zones(states)

    async def sleep(self, duration_ms: int) -> None:
        await self.cluster.runtime.sleep(duration_ms * MS)

    async def lease_ends(self) -> None:
        await self.sleep(LEASE_MS)

    def set_lag(self, source: str, target: str, lag: str) -> None:
        self.cluster.links[source, target].set_lag(parse_lag(lag))

    def cut(self, source: str, target: str) -> None:
        """In both directions; what is sent is refused at once."""
        for link in ((source, target), (target, source)):
            self.cluster.links[link].cut(Cut.DROP)

    async def mend(self) -> None:
        """Every link, and wait until the coordinators are connected again."""
        for link in self.cluster.links.values():
            link.mend()
        await self.cluster.network.connected()

    async def content(self, zone: str = "a") -> Content:
        return await content(self.cluster.direct(zone), self.keys)

    async def state(self, message_id: str = "x") -> str:
        """H for the payload, Q:s waiting and U:s leased in shard s; zone by zone if they differ."""
        states = {zone: (await self.content(zone)).state(message_id) or "gone" for zone in SHARDS}
        return of_zones(states)

    async def kill(self, zone: str) -> None:
        await self.cluster.zones[zone].kill()

    async def come_back(self, zone: str, mode: Restart, *, warm_from: str | None = None) -> None:
        """Start the killed server of ``zone`` and wait until the coordinators are connected to it."""
        source = None if warm_from is None else self.cluster.zones[warm_from]
        await self.cluster.zones[zone].restart(mode, warm_from=source)
        await self.cluster.network.connected()

    async def wipe(self, *zones: str) -> None:
        """Kill the servers of ``zones`` and start them again without their data."""
        for zone in zones:
            await self.kill(zone)
            await self.come_back(zone, Restart.WIPE)


Course = Callable[[Stage], Coroutine[Any, Any, str]]
AnyStage = TypeVar("AnyStage", bound=Stage)


def dies(name: str, nth: int = 1) -> Wrap:
    return lambda connection: Dies(connection, name, nth)


def dies_within(name: str, *, applied: int) -> Wrap:
    return lambda connection: DiesWithin(connection, name, applied)


def repeats(name: str, nth: int = 1) -> Wrap:
    return lambda connection: Repeats(connection, name, nth)


def loses_reply(name: str, nth: int = 1) -> Wrap:
    return lambda connection: LosesReply(connection, name, nth)


def meanwhile(name: str, event: Callable[[], Coroutine[Any, Any, None]], nth: int = 1) -> Wrap:
    return lambda connection: Interceptor(connection, name, event, nth)


def fails(name: str) -> Wrap:
    return lambda connection: Fails(connection, name)


def of_zones(states: Mapping[str, str]) -> str:
    """One for all, or zone by zone if they differ."""
    if len(dict.fromkeys(states.values())) == 1:
        return next(iter(states.values()))
    return ", ".join(f"{zone} has {state}" for zone, state in states.items())


async def death(operation: Coroutine[Any, Any, Any]) -> None:
    """Run ``operation``, in which the program dies."""
    try:
        await operation
    except Died:
        return
    raise AssertionError("the program should have died")


async def failure(operation: Coroutine[Any, Any, Any]) -> str:
    """How ``operation`` failed, or what it returned."""
    try:
        return said(await operation)
    except (PortError, ServerError) as error:
        kind = next(base for base in type(error).__mro__ if base.__module__ == "zonelab.engine.ports")
        return kind.__name__


def said(value: object) -> str:
    """A result in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UnackResult):
        return f"{value.requeued} requeued, {value.stale} dropped"
    if isinstance(value, list):
        return ids(value) or "nothing"
    return str(value)


def ids(deliveries: list[Delivery]) -> str:
    return " ".join(delivery.message.id for delivery in deliveries)


def messages(names: str) -> list[Message]:
    return [Message(id=name) for name in names]


X = Message(id="x", payload="first")
