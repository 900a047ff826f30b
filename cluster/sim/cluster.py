"""The simulated testbed: simulated servers as zones, with the same links and coordinators between them as real ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.batch import Channel
from cluster.coordinator import Coordinator
from cluster.datastore import Datastore
from cluster.direct import DirectConnection
from cluster.lag import Constant, Lag
from cluster.levels import Level
from cluster.link import Link
from cluster.peer import Peer
from cluster.sim.clock import NodeClock
from cluster.sim.runtime import SimRuntime
from cluster.sim.server import ServerSettings
from cluster.sim.ties import Schedule
from cluster.sim.upstream import SimUpstream
from cluster.sim.zone import SimZone
from cluster.timeouts import Timeouts
from cluster.zone import ClusterError
from engine.ports import Connection

EPOCH_NS = 1_700_000_000_000_000_000
"""Wall clock at run time 0, in Unix time, if nothing else is set: 14 November 2023, 22:13:20 UTC."""

CONNECT_NS_MAX = 10_000_000_000
"""A coordinator that has not reached every zone's running server by then never will."""


@dataclass(frozen=True, kw_only=True)
class SimSettings:
    """``lags`` overrides ``lag`` for single links, by (source, target); a drawn lag holds for ``coherence_ns``.

    ``server`` holds for the servers of all zones. ``keep_trace`` keeps what happened for a comparison line by line.
    """

    seed: int
    schedule: Schedule = field(default_factory=Schedule)
    server: ServerSettings = field(default_factory=ServerSettings)
    coherence_ns: int = 25_000_000
    lag: Lag = field(default_factory=Constant)
    lags: Mapping[tuple[str, str], Lag] | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    epoch_ns: int = EPOCH_NS
    keep_trace: bool = False


class SimCluster:
    """``Testbed`` in virtual time. What uses it runs in ``runtime.run_until_complete``."""

    def __init__(self, zones: Sequence[str], settings: SimSettings) -> None:
        if not zones or len(dict.fromkeys(zones)) != len(zones):
            raise ClusterError(f"zone names {list(zones)} are not accepted; accepted: one or more, all different")
        self._settings = settings
        self.runtime = SimRuntime(seed=settings.seed, schedule=settings.schedule, keep_trace=settings.keep_trace)
        self.clocks = {name: NodeClock(epoch_ns=settings.epoch_ns, run_ns=self.runtime.now_ns) for name in zones}
        self.zones = {name: self._zone(name) for name in zones}
        self.links = {pair: self._link(*pair) for pair in self._pairs()}
        self.coordinators: dict[str, Coordinator] = {}
        self._datastores: list[Datastore] = []
        self._peers: list[Peer] = []
        self._direct: dict[str, DirectConnection] = {}

    @property
    def epoch_ns(self) -> int:
        return self._settings.epoch_ns

    def clock(self, zone: str) -> NodeClock:
        """The clock of the machines of ``zone``: clients there and the server take their time from it."""
        return self.clocks[zone]

    def connection(self, zone: str, level: Level) -> Connection:
        return self.coordinators[zone].connection(level)

    def direct(self, zone: str) -> Connection:
        return self._direct[zone]

    async def start(self) -> None:
        starts = [self.runtime.spawn(zone.start(), name=f"start {name}") for name, zone in self.zones.items()]
        for start in starts:
            await start.join()
        for zone in self.zones:
            self._direct[zone] = DirectConnection(self._datastore(zone), runtime=self.runtime)
            channels = {target: self._channel(zone, target) for target in self.zones}
            self.coordinators[zone] = Coordinator(zone=zone, channels=channels, runtime=self.runtime)
        await self.connected()

    async def stop(self) -> None:
        for peer in self._peers:
            peer.close()
        for datastore in self._datastores:
            datastore.close()
        self._peers.clear()
        self._datastores.clear()
        self.runtime.close()
        for zone in self.zones.values():
            await zone.stop()

    async def connected(self) -> None:
        """Wait until every coordinator reaches every zone. Raises ``ClusterError`` if it takes over 10 s."""
        deadline_ns = self.runtime.now_ns() + CONNECT_NS_MAX
        while not all(coordinator.connected for coordinator in self.coordinators.values()):
            if self.runtime.now_ns() > deadline_ns:
                lost = [zone for zone, coordinator in self.coordinators.items() if not coordinator.connected]
                raise ClusterError(f"coordinators of {', '.join(lost)} did not reach every zone within 10 s")
            await self.runtime.sleep(1_000_000)

    async def __aenter__(self) -> "SimCluster":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def _pairs(self) -> list[tuple[str, str]]:
        return [(source, target) for source in self.zones for target in self.zones if source != target]

    def _zone(self, name: str) -> SimZone:
        return SimZone(name, runtime=self.runtime, clock=self.clocks[name], settings=self._settings.server)

    def _link(self, source: str, target: str) -> Link:
        lag = (self._settings.lags or {}).get((source, target), self._settings.lag)
        return Link(
            source=source,
            target=target,
            runtime=self.runtime,
            lag=lag,
            random=self.runtime.random(f"link {source}>{target}"),
            coherence_ns=self._settings.coherence_ns,
        )

    def _datastore(self, zone: str) -> Datastore:
        upstream = SimUpstream(self.zones[zone].server, runtime=self.runtime)
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
