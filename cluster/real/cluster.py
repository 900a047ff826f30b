"""The real arm's testbed: real servers as zones, and between them links and coordinators on asyncio."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from cluster.batch import Channel
from cluster.clock import RunClock
from cluster.coordinator import Coordinator
from cluster.datastore import Datastore
from cluster.direct import DirectConnection
from cluster.lag import Constant, Lag
from cluster.levels import Level
from cluster.link import Link
from cluster.peer import Peer
from cluster.real.connection import RedisUpstream
from cluster.real.runtime import RealRuntime
from cluster.timeouts import Timeouts
from cluster.zone import ClusterError, Zone
from engine.ports import Clock, Connection

CONNECT_NS_MAX = 10_000_000_000
"""A coordinator that has not reached every zone's running server by then never will."""


class Servers(Protocol):
    """Zones that are started together on entry and are all gone on exit, such as ``cluster.real.zones.ZoneSet``."""

    def __iter__(self) -> Iterator[Zone]: ...
    async def __aenter__(self) -> object: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RealSettings:
    """``lags`` overrides ``lag`` for single links, by (source, target); a drawn lag holds for ``coherence_ns``."""

    seed: int
    coherence_ns: int = 25_000_000
    lag: Lag = Constant()  # noqa: RUF009 (immutable)
    lags: Mapping[tuple[str, str], Lag] | None = None
    timeouts: Timeouts = Timeouts()  # noqa: RUF009 (immutable)


class RealCluster:
    """``Testbed`` on real servers. Make it inside a running event loop; ``start`` and ``stop``, or ``async with``."""

    def __init__(self, servers: Servers, settings: RealSettings) -> None:
        self._servers = servers
        self._entered = False
        self._settings = settings
        self.runtime = RealRuntime(seed=settings.seed)
        self.zones: dict[str, Zone] = {zone.name: zone for zone in servers}
        self.links = {pair: self._link(*pair) for pair in self._pairs()}
        self.coordinators: dict[str, Coordinator] = {}
        self._datastores: list[Datastore] = []
        self._peers: list[Peer] = []
        self._direct: dict[str, DirectConnection] = {}

    @property
    def epoch_ns(self) -> int:
        return self.runtime.epoch_ns

    def clock(self, zone: str) -> Clock:
        return RunClock(epoch_ns=self.epoch_ns, now_ns=self.runtime.now_ns)

    def connection(self, zone: str, level: Level) -> Connection:
        return self.coordinators[zone].connection(level)

    def direct(self, zone: str) -> Connection:
        return self._direct[zone]

    async def start(self) -> None:
        try:
            await self._servers.__aenter__()
            self._entered = True
            for zone in self.zones:
                self._direct[zone] = DirectConnection(self._datastore(zone), runtime=self.runtime)
                channels = {target: self._channel(zone, target) for target in self.zones}
                self.coordinators[zone] = Coordinator(zone=zone, channels=channels, runtime=self.runtime)
            await self.connected()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        for peer in self._peers:
            peer.close()
        for datastore in self._datastores:
            datastore.close()
        self._peers.clear()
        self._datastores.clear()
        await self.runtime.close()
        if self._entered:
            self._entered = False
            await self._servers.__aexit__(None, None, None)

    async def connected(self) -> None:
        """Wait until every coordinator reaches every zone. Raises ``ClusterError`` if it takes over 10 s."""
        deadline_ns = self.runtime.now_ns() + CONNECT_NS_MAX
        while not all(coordinator.connected for coordinator in self.coordinators.values()):
            if self.runtime.now_ns() > deadline_ns:
                lost = [zone for zone, coordinator in self.coordinators.items() if not coordinator.connected]
                raise ClusterError(f"coordinators of {', '.join(lost)} did not reach every zone within 10 s")
            await self.runtime.sleep(1_000_000)

    async def __aenter__(self) -> "RealCluster":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def _pairs(self) -> list[tuple[str, str]]:
        return [(source, target) for source in self.zones for target in self.zones if source != target]

    def _link(self, source: str, target: str) -> Link:
        lag = (self._settings.lags or {}).get((source, target), self._settings.lag)
        random = self.runtime.random(f"link {source}>{target}")
        return Link(
            source=source,
            target=target,
            runtime=self.runtime,
            lag=lag,
            random=random,
            coherence_ns=self._settings.coherence_ns,
        )

    def _datastore(self, zone: str) -> Datastore:
        upstream = RedisUpstream(self.zones[zone].address, loop=asyncio.get_running_loop())
        datastore = Datastore(upstream=upstream, runtime=self.runtime, timeouts=self._settings.timeouts)
        self._datastores.append(datastore)
        datastore.open()
        return datastore

    def _channel(self, source: str, target: str) -> Channel:
        datastore = self._datastore(target)
        if source == target:
            return datastore
        peer = Peer(
            datastore=datastore,
            outbound=self.links[source, target],
            inbound=self.links[target, source],
            runtime=self.runtime,
            timeouts=self._settings.timeouts,
        )
        self._peers.append(peer)
        return peer
