"""The network between clients and servers in both arms: a coordinator a zone, and the links from each to the others."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, cast

from zonelab.cluster.client.lent_coordinators import LentCoordinators
from zonelab.cluster.client.place import ClientPlace
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Batch, Channel, Upstream
from zonelab.cluster.connections.marked import MarkedCommands
from zonelab.cluster.connections.peer import FarEnd, Peer
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.direct import DirectConnection, DirectZone
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.coordinators.remote import RemoteCoordinator
from zonelab.cluster.coordinators.token_ring import MakeCoordinator, RingCoordinator, RingStatistics
from zonelab.cluster.links.link import Link
from zonelab.cluster.options.codec import CommandCodec, PlainCodec
from zonelab.cluster.options.hinted_handoff import HintedChannel
from zonelab.cluster.options.read_repair.coordinator import RepairingCoordinator
from zonelab.cluster.options.strict.door import StrictDoor
from zonelab.cluster.options.strict.votes import StrictRules
from zonelab.cluster.options.versions.anti_entropy import AntiEntropy
from zonelab.cluster.options.versions.clock import VersionClock
from zonelab.cluster.options.versions.coordinator import VersionedCoordinator
from zonelab.cluster.topology.topology import one_dc
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Connection, Runtime, Task

CONNECT_NS_MAX = 10_000_000_000
"""A coordinator that has not reached every zone's running server by then never will."""


class Network:
    """Links, connections and coordinators; the same in both arms and behind RESP ports.

    ``upstream`` makes a connection to a zone's server; ``passing``, if given, the one by which coordinators reach it.
    ``far_end`` makes what leads to a coordinator of another data centre; by default that is one of ``coordinators``.
    ``counts_bytes``: of what links with a lag or a fault carry. ``plain`` makes a coordinator without options.
    ``own``: the zones whose coordinators are here, by default all.
    """

    def __init__(
        self,
        zones: Iterable[str],
        *,
        runtime: Runtime,
        settings: NetworkSettings,
        upstream: Callable[[str], Upstream],
        clocks: Mapping[str, NodeClock],
        own: Collection[str] | None = None,
        codec: CommandCodec | None = None,
        far_end: Callable[[str], FarEnd] | None = None,
        plain: type[PlainCoordinator] = PlainCoordinator,
        passing: Callable[[str], Upstream] | None = None,
        counts_bytes: bool = False,
    ) -> None:
        self._names = tuple(zones)
        self._own = self._names if own is None else own
        self.topology = settings.topology or one_dc(self._names)
        if sorted(self.topology.nodes) != sorted(self._names):
            raise ClusterError(f"servers {list(self._names)} are not the topology's nodes {list(self.topology.nodes)}")
        self._run = runtime
        self._settings = settings
        self._upstream = upstream
        self._passing = passing or upstream
        self._plain = plain
        self._counts_bytes = counts_bytes
        self.links = {
            (one, other): self._link(one, other)
            for one in self._names
            for other in self._names
            if one != other and (one in self._own or other in self._own)
        }
        self.coordinators: dict[str, Coordinator] = {}
        self._direct: dict[str, DirectConnection] = {}
        self._server_connections: dict[ServerConnection, None] = {}
        self._peers: dict[Peer, None] = {}
        self._background: list[Task[None]] = []
        self._comparing: list[AntiEntropy] = []
        self.hinted: dict[tuple[str, str], HintedChannel] = {}
        """Ways on which writes wait for servers that are away, by (source, target)."""
        self._version_clocks: dict[str, VersionClock] = {}
        self._clocks = clocks
        self._codec = codec or PlainCodec()
        self._far_end = far_end or partial(RemoteCoordinator, coordinators=self.coordinators, runtime=runtime)

    def direct(self, zone: str) -> Connection:
        """Straight to the server of ``zone``, or to each key's own where it has several."""
        rack = next((rack for rack in self.topology.racks if rack.name == zone), None)
        if rack is None or len(rack.nodes) == 1:
            return self._direct[zone]
        return DirectZone(rack, self.topology, self._direct)

    def at_rest(self, since_ns: int) -> bool:
        """Return what the options do in the background has come to its end; ``since_ns`` was after the last write."""
        return all(channel.at_rest for channel in self.hinted.values()) and all(
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

    def open(self) -> None:
        """Make the coordinators and begin to connect; the servers' addresses must be known."""
        for zone in self._own:
            self._direct[zone] = DirectConnection(self._server_connection(self._upstream(zone)), runtime=self._run)
            self.compare_zones(self.serve(zone))

    def serve(self, name: str, *, ring: Callable[..., RingCoordinator] = RingCoordinator) -> Coordinator:
        """Make the coordinator of ``name``; ``ring`` does where there are several nodes a zone or data centres."""
        channels: Mapping[str, Channel] = {target: self.channel(name, target) for target in self._names}
        make = self.making(name)
        statistics = CoordinatorStatistics() if self.topology.flat else RingStatistics()
        channels = self._with_hints(name, channels, statistics)
        if isinstance(statistics, RingStatistics):
            others = [far for far in self.topology.nodes if self._apart(name, far)]
            coordinator: Coordinator = ring(
                node=name,
                topology=self.topology,
                channels=channels,
                forwards={far: self._peer(name, far, self._far_end(far)) for far in others},
                runtime=self._run,
                make=make,
                statistics=statistics,
            )
        else:
            coordinator = make(zone=name, channels=channels, runtime=self._run, statistics=statistics)
        if self._settings.replication.strict:
            coordinator.door = StrictDoor(
                zones=len(self.topology.positions[name].dc.racks),
                data_centres=len(self.topology.dcs),
                codec=self._codec,
                count=statistics.count,
            )
        self.coordinators[name] = coordinator
        return coordinator

    def making(self, name: str) -> MakeCoordinator:
        """Return what makes the coordinators of ``name``, with the options of the settings."""
        settings = self._settings.replication
        if settings.read_repair:
            return partial(RepairingCoordinator, now_ms=self._clocks[name].now_ms, codec=self._codec)
        if not settings.versioned:
            return partial(self._plain, rules=StrictRules) if settings.strict else self._plain
        clock = self._version_clock(name)
        return partial(VersionedCoordinator, clock=clock, votes=settings.votes, codec=self._codec)

    def _version_clock(self, name: str) -> VersionClock:
        """Always the same one for ``name``."""
        if name not in self._version_clocks:
            position = sorted(self.topology.nodes).index(name)
            self._version_clocks[name] = VersionClock(now_us=self._clocks[name].now_us, position=position)
        return self._version_clocks[name]

    def _with_hints(
        self, source: str, channels: Mapping[str, Channel], statistics: CoordinatorStatistics
    ) -> Mapping[str, Channel]:
        """``channels`` of ``source``, with hints for those in its own data centre if the settings say so."""
        settings = self._settings.replication.hinted_handoff
        if settings is None:
            return channels
        hinted = {
            target: HintedChannel(
                channel, runtime=self._run, settings=settings, count=statistics.count, codec=self._codec
            )
            for target, channel in channels.items()
            if not self._apart(source, target)
        }
        self.hinted |= {(source, target): channel for target, channel in hinted.items()}
        return {target: hinted.get(target, channel) for target, channel in channels.items()}

    def compare_zones(self, coordinator: Coordinator) -> None:
        """Begin to compare the zone of ``coordinator`` with the others, if the settings say so."""
        settings = self._settings.replication.anti_entropy
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
        return self.topology.positions[one].dc is not self.topology.positions[other].dc

    def close(self) -> None:
        """Drop every connection; what is in flight fails."""
        for task in self._background:
            task.cancel()
        self._background.clear()
        for peer in self._peers:
            peer.close()
        for server in self._server_connections:
            server.close()
        self._peers.clear()
        self._server_connections.clear()

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

    def _server_connection(self, upstream: Upstream) -> ServerConnection:
        server = ServerConnection(upstream=upstream, runtime=self._run, timeouts=self._settings.timeouts)
        self._server_connections[server] = None
        server.open()
        return server

    def channel(self, source: str, target: str) -> Channel:
        """A way of its own from the coordinator of ``source`` to the server of ``target``."""
        server = self._server_connection(self._passing(target))
        if source == target:
            return server
        return self._peer(source, target, server)

    def client_place(self, zone: str, **of_the_arm: Any) -> ClientPlace:
        """Return the place of clients of ``zone``, whose coordinator is there; ``of_the_arm``: see ``ClientPlace``."""
        settings = self._settings.replication
        options = settings.read_repair or settings.versioned or settings.strict or settings.hinted_handoff is not None
        lent = LentCoordinators(
            self._run,
            make=partial(self._coordinator_of_its_own, zone),
            drop=self.drop,
            unwatch=lambda: Batch(MarkedCommands([("UNWATCH",)]), writes=True),
        )
        without = "the cluster has options of replication" if options else ""
        return ClientPlace(
            runtime=self._run,
            coordinator=self.coordinators[zone],
            lease=partial(lent.lease, self._names),
            release=lent.release,
            without=without if self.topology.flat else "zones have several servers, or there are several data centres",
            **of_the_arm,
        )

    def _coordinator_of_its_own(self, zone: str, zones: tuple[str, ...]) -> Coordinator:
        """A coordinator of ``zone`` with connections to ``zones`` that nobody else uses."""
        return self._plain(
            zone=zone,
            channels={target: self.channel(zone, target) for target in zones},
            runtime=self._run,
            statistics=self.coordinators[zone].statistics,
        )

    def drop(self, channel: Channel) -> None:
        """Close a way that ``channel`` has made; what is in flight on it fails."""
        if isinstance(channel, Peer):
            channel.close()
            self._peers.pop(channel, None)
            channel = cast(ServerConnection, channel.far_end)
        assert isinstance(channel, ServerConnection)
        channel.close()
        self._server_connections.pop(channel, None)

    def _peer(self, source: str, target: str, far: FarEnd) -> Peer:
        timeouts = self._settings.timeouts
        peer = Peer(
            far_end=far,
            outbound=self.links[source, target],
            inbound=self.links[target, source],
            runtime=self._run,
            timeouts=timeouts.between_data_centres() if self._apart(source, target) else timeouts,
            hinted=self._settings.replication.hinted_handoff is not None,
            counts_bytes=self._counts_bytes,
        )
        self._peers[peer] = None
        return peer
