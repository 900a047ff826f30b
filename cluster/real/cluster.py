"""The real arm's testbed: real servers as zones, and between them links and coordinators on asyncio."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Protocol

from zonelab.cluster.client.connection import ClientConnection
from zonelab.cluster.client.place import ClientPlace
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.coordinators.direct import SingleZoneReads
from zonelab.cluster.real.connection import GreetingUpstream, RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.subscriber import subscribe
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import Zone
from zonelab.engine.ports import Command, Connection


class Servers(Protocol):
    """Zones that are started together on entry and are all gone on exit, such as
    ``zonelab.cluster.real.zones.ZoneSet``.
    """

    def __iter__(self) -> Iterator[Zone]: ...
    async def __aenter__(self) -> object: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RealSettings(NetworkSettings):
    """Settings of a cluster on real servers; the servers have their own.

    ``greetings``: by zone, commands with which every connection to its server begins, such as a login.
    """

    greetings: Mapping[str, Sequence[Command]] = field(default_factory=dict)


class RealCluster:
    """``Testbed`` on real servers. Make it inside a running event loop; ``start`` and ``stop``, or ``async with``."""

    def __init__(self, servers: Servers, settings: RealSettings) -> None:
        self._servers = servers
        self._entered = False
        self._greetings = settings.greetings
        self.runtime = RealRuntime(seed=settings.seed)
        self.zones: dict[str, Zone] = {zone.name: zone for zone in servers}
        epoch_ns, run_ns = self.runtime.epoch_ns, self.runtime.now_ns
        self.clocks = {name: NodeClock(epoch_ns=epoch_ns, run_ns=run_ns) for name in self.zones}
        self.network = self._network(settings)
        self.links = self.network.links
        self._places: dict[str, ClientPlace] = {}
        self.coordinators = self.network.coordinators

    @property
    def epoch_ns(self) -> int:
        return self.runtime.epoch_ns

    def connection(self, zone: str, level: Setting) -> Connection:
        return self.coordinators[zone].connection(level)

    def client_connection(self, zone: str, level: Setting) -> ClientConnection:
        """Return a client's connection with a state of its own: MULTI, WATCH, blocking commands, pub/sub."""
        if zone not in self._places:
            connect = partial(subscribe, lambda: self.zones[zone].address, self._greetings.get(zone, ()))
            self._places[zone] = self.network.client_place(zone, subscribe=connect)
        return ClientConnection(self._places[zone], level)

    def reads(self, zone: str, target: str) -> Connection:
        return SingleZoneReads(self.coordinators[zone], target, runtime=self.runtime)

    def direct(self, zone: str) -> Connection:
        return self.network.direct(zone)

    def at_rest(self, since_ns: int) -> bool:
        return self.network.at_rest(since_ns)

    def clock(self, zone: str) -> NodeClock:
        """The clock of the clients in ``zone``. The server has that of this machine."""
        return self.clocks[zone]

    async def start(self) -> None:
        try:
            await self._servers.__aenter__()
            self._entered = True
            self.network.open()
            await self.network.connected()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        self.network.close()
        await self.runtime.close()
        if self._entered:
            self._entered = False
            await self._servers.__aexit__(None, None, None)

    async def __aenter__(self) -> "RealCluster":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def _network(self, settings: RealSettings) -> Network:
        return Network(
            self.zones, runtime=self.runtime, settings=settings, upstream=self._connect_to, clocks=self.clocks
        )

    def _connect_to(self, zone: str) -> RedisUpstream:
        address, loop = self.zones[zone].address, asyncio.get_running_loop()
        if greeting := self._greetings.get(zone):
            return GreetingUpstream(address, loop=loop, greeting=greeting)
        return RedisUpstream(address, loop=loop)
