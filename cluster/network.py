"""What stands between clients and servers in both arms: a coordinator a zone, and the links from each to the others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from cluster.clock import NodeClock
from cluster.connections.batch import Channel, Upstream
from cluster.connections.peer import Far, Peer
from cluster.connections.server import Datastore
from cluster.connections.timeouts import Timeouts
from cluster.coordinator import Coordinator
from cluster.coordinators.remote import FarCoordinator
from cluster.coordinators.token_ring import MakeCoordinator, RingCoordinator, RingStatistics
from cluster.direct import DirectConnection
from cluster.links.lag import Constant, Lag
from cluster.links.link import Link
from cluster.options.codec import Codec, PlainCodec
from cluster.options.hinted_handoff import HandoffSettings, HintedChannel
from cluster.options.read_repair.coordinator import RepairingCoordinator
from cluster.options.versions.anti_entropy import AntiEntropy
from cluster.options.versions.clock import COORDINATORS_MAX, AntiEntropySettings, VersionClock, Votes
from cluster.options.versions.coordinator import VersionedCoordinator
from cluster.topology.topology import Topology, one_dc
from cluster.votes.statistics import CoordinatorStatistics
from cluster.votes.vote import Setting
from cluster.zone import ClusterError
from cluster.zone_servers import ZoneServers
from engine.ports import Connection, Runtime, Task

CONNECT_NS_MAX = 10_000_000_000
"""A coordinator that has not reached every zone's running server by then never will."""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """``lags`` overrides ``lag`` for single links, by (source, target); a drawn lag holds for ``coherence_ns``.

    ``loss`` is the share of transmissions that every link loses. ``topology`` says where the nodes are whose names the
    network is given; without it each is a zone of one data centre. ``read_repair`` is Dynomite's option of this name,
    ``hinted_handoff``, ``votes`` by version and ``anti_entropy`` are ours. The last two keep versions.
    """

    seed: int
    lag: Lag = field(default_factory=Constant)
    lags: Mapping[tuple[str, str], Lag] | None = None
    coherence_ns: int = 25_000_000
    loss: float = 0.0
    timeouts: Timeouts = field(default_factory=Timeouts)
    topology: Topology | None = None
    read_repair: bool = False
    hinted_handoff: HandoffSettings | None = None
    votes: Votes = Votes.VALUE
    anti_entropy: AntiEntropySettings | None = None

    def __post_init__(self) -> None:
        if self.versioned and self.read_repair:
            raise ClusterError(
                "read_repair has versions of its own, not those of votes by version and anti_entropy; accepted: one or "
                "the other"
            )
        if self.anti_entropy is not None and self.topology is not None and not self.topology.flat:
            raise ClusterError("anti_entropy needs one data centre and zones of one server, got another topology")
        if self.versioned and self.topology is not None and len(self.topology.nodes) > COORDINATORS_MAX:
            raise ClusterError(f"versions are for up to {COORDINATORS_MAX} servers, got {len(self.topology.nodes)}")

    @property
    def versioned(self) -> bool:
        """Writes carry versions."""
        return self.votes is Votes.VERSION or self.anti_entropy is not None


class Network:
    """The part of a ``Testbed`` that is the same in both arms. ``upstream`` makes a connection to a zone's server."""

    clocks: Mapping[str, NodeClock]

    def __init__(
        self,
        zones: Iterable[str],
        *,
        runtime: Runtime,
        settings: NetworkSettings,
        upstream: Callable[[str], Upstream],
    ) -> None:
        self._names = tuple(zones)
        self._topology = settings.topology or one_dc(self._names)
        if sorted(self._topology.nodes) != sorted(self._names):
            raise ClusterError(f"servers {list(self._names)} are not the topology's nodes {list(self._topology.nodes)}")
        self._run = runtime
        self._settings = settings
        self._upstream = upstream
        self.links = {
            (one, other): self._link(one, other) for one in self._names for other in self._names if one != other
        }
        self.coordinators: dict[str, Coordinator] = {}
        self._direct: dict[str, DirectConnection] = {}
        self._datastores: list[Datastore] = []
        self._peers: list[Peer] = []
        self._background: list[Task[None]] = []
        self._comparing: list[AntiEntropy] = []
        self._hinting: list[HintedChannel] = []
        self._version_clocks: dict[str, VersionClock] = {}
        self._codec: Codec = PlainCodec()

    def connection(self, zone: str, level: Setting) -> Connection:
        return self.coordinators[zone].connection(level)

    def direct(self, zone: str) -> Connection:
        """Straight to the server of ``zone``, or to each key's own where it has several."""
        rack = next((rack for rack in self._topology.racks if rack.name == zone), None)
        if rack is None or len(rack.nodes) == 1:
            return self._direct[zone]
        return ZoneServers(rack, self._topology, self._direct)

    def one_server(self, name: str) -> Connection:
        """Straight to one server."""
        return self._direct[name]

    def at_rest(self, since_ns: int) -> bool:
        """What the options do in the background has come to its end; ``since_ns`` was after the last write."""
        return all(channel.at_rest for channel in self._hinting) and all(
            comparing.at_rest(since_ns) for comparing in self._comparing
        )

    async def connected(self) -> None:
        """Wait until every coordinator reaches every zone. Raises ``ClusterError`` if it takes over 10 s."""
        deadline_ns = self._run.now_ns() + CONNECT_NS_MAX
        while not all(coordinator.connected for coordinator in self.coordinators.values()):
            if self._run.now_ns() > deadline_ns:
                lost = [zone for zone, coordinator in self.coordinators.items() if not coordinator.connected]
                raise ClusterError(f"coordinators of {', '.join(lost)} did not reach every zone within 10 s")
            await self._run.sleep(1_000_000)

    def _open(self) -> None:
        """Make the coordinators and begin to connect; the servers' addresses must be known."""
        for zone in self._names:
            self._direct[zone] = DirectConnection(self._datastore(zone), runtime=self._run)
            channels = {target: self._channel(zone, target) for target in self._names}
            self.coordinators[zone] = self._serving(zone, channels)
            self._compare_zones(self.coordinators[zone])

    def _serving(self, name: str, channels: Mapping[str, Channel]) -> Coordinator:
        topology = self._topology
        make = self._making(name)
        statistics = CoordinatorStatistics() if topology.flat else RingStatistics()
        channels = self._hinted(name, channels, statistics)
        if not isinstance(statistics, RingStatistics):
            return make(zone=name, channels=channels, runtime=self._run, statistics=statistics)
        forwards = {
            far: self._peer(name, far, FarCoordinator(far, self.coordinators, runtime=self._run))
            for far in topology.nodes
            if self._apart(name, far)
        }
        return RingCoordinator(
            node=name,
            topology=topology,
            channels=channels,
            forwards=forwards,
            runtime=self._run,
            make=make,
            statistics=statistics,
        )

    def _making(self, name: str) -> MakeCoordinator:
        """What makes the coordinators of ``name``, with the options of the settings."""
        settings = self._settings
        if settings.read_repair:
            return partial(RepairingCoordinator, now_ms=self.clocks[name].now_ms, codec=self._codec)
        if not settings.versioned:
            return Coordinator
        clock = self._version_clock(name)
        return partial(VersionedCoordinator, clock=clock, votes=settings.votes, codec=self._codec)

    def _version_clock(self, name: str) -> VersionClock:
        """Always the same one for ``name``."""
        if name not in self._version_clocks:
            position = sorted(self._topology.nodes).index(name)
            self._version_clocks[name] = VersionClock(now_us=self.clocks[name].now_us, position=position)
        return self._version_clocks[name]

    def _hinted(
        self, source: str, channels: Mapping[str, Channel], statistics: CoordinatorStatistics
    ) -> Mapping[str, Channel]:
        """``channels`` of ``source``, with hints for those in its own data centre if the settings say so."""
        settings = self._settings.hinted_handoff
        if settings is None:
            return channels
        hinted = {
            target: HintedChannel(
                channel, runtime=self._run, settings=settings, count=statistics.count, codec=self._codec
            )
            for target, channel in channels.items()
            if not self._apart(source, target)
        }
        self._hinting += hinted.values()
        return {target: hinted.get(target, channel) for target, channel in channels.items()}

    def _compare_zones(self, coordinator: Coordinator) -> None:
        """Begin to compare the zone of ``coordinator`` with the others, if the settings say so."""
        settings = self._settings.anti_entropy
        if settings is not None:
            comparing = AntiEntropy(
                coordinator,
                clock=self._version_clock(coordinator.zone),
                runtime=self._run,
                settings=settings,
                decoded=self._codec.decoded,
            )
            self._comparing.append(comparing)
            self._background.append(self._run.spawn(comparing.run(), name=f"anti-entropy {coordinator.zone}"))

    def _apart(self, one: str, other: str) -> bool:
        """In different data centres."""
        return self._topology.places[one].dc is not self._topology.places[other].dc

    def _close(self) -> None:
        """Drop every connection; what is in flight fails."""
        for task in self._background:
            task.cancel()
        self._background.clear()
        for peer in self._peers:
            peer.close()
        for datastore in self._datastores:
            datastore.close()
        self._peers.clear()
        self._datastores.clear()

    def _link(self, source: str, target: str) -> Link:
        settings = self._settings
        link = Link(
            source=source,
            target=target,
            runtime=self._run,
            lag=(settings.lags or {}).get((source, target), settings.lag),
            random=self._run.random(f"link {source}>{target}"),
            coherence_ns=settings.coherence_ns,
        )
        link.set_loss(settings.loss)
        return link

    def _datastore(self, zone: str) -> Datastore:
        upstream = self._upstream(zone)
        datastore = Datastore(upstream=upstream, runtime=self._run, timeouts=self._settings.timeouts)
        self._datastores.append(datastore)
        datastore.open()
        return datastore

    def _channel(self, source: str, target: str) -> Channel:
        datastore = self._datastore(target)
        if source == target:
            return datastore
        return self._peer(source, target, datastore)

    def _peer(self, source: str, target: str, far: Far) -> Peer:
        timeouts = self._settings.timeouts
        peer = Peer(
            datastore=far,
            outbound=self.links[source, target],
            inbound=self.links[target, source],
            runtime=self._run,
            timeouts=timeouts.between_data_centres() if self._apart(source, target) else timeouts,
        )
        self._peers.append(peer)
        return peer
