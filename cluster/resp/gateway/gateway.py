"""The coordinator of one zone as a process runs it: its links and connections to all zones, and its RESP port.

Every process owns the links that its own coordinator uses: from its zone to each other zone, for requests, and back,
for answers. To cut two zones off from each other in both directions of traffic, cut the links in both processes.

With a topology it is the coordinator of one node, and "zones" are all nodes. Coordinators of other data centres then
hand it writes at a second port, which speaks RESP as well.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from zonelab.cluster.client.lent_coordinators import connected
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Channel
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.token_ring import RingCoordinator
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.resp.gateway.introduction import Introduction, introduced
from zonelab.cluster.resp.gateway.zone_port import ZonePort
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.resp.wire_ring import PassingRing, WireRing
from zonelab.cluster.topology.topology import placed
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import Address, ClusterError

PEER_IN_FLIGHT_MAX = 200_000
"""Commands of a coordinator of another data centre under way: its writes go on to the zones that answer while the own
server does not. So many messages has a process of Dynomite at most by default (``max_msgs``)."""

FIRST_S = 0.1
"""Seconds between tries of a coordinator of another data centre until it answers for the first time."""


class ZoneGateway:
    """The coordinator of ``zone`` with a RESP port. Make it inside a running event loop; ``async with``.

    ``zones`` are the addresses of all zones' servers, its own among them. ``peers``: where coordinators listen to those
    of other data centres; needed of this one and of all that are in another data centre, if there are any.
    """

    def __init__(
        self,
        zone: str,
        zones: Mapping[str, Address],
        *,
        settings: NetworkSettings,
        port: PortSettings | None = None,
        level: Level = Level.DC_ONE,
        peers: Mapping[str, Address] | None = None,
    ) -> None:
        if zone not in zones:
            raise ClusterError(f"zone {zone!r} is not among the zones: {', '.join(zones)}")
        self._peers_at = dict(peers or {})
        self.zone = zone
        self.addresses = dict(zones)
        self.runtime = RealRuntime(seed=settings.seed)
        self._port = port or PortSettings()
        self._level = level
        self._timeouts = settings.timeouts
        self._far_servers: list[ServerConnection] = []
        self._writes = GatheredWrites()
        self._scripts = RememberedScripts() if self._port.reload_scripts else None
        self._shared: set[str] = set()  # zones with a connection for all clients; others are of clients that watch
        self._server: RespServer | None = None
        self._for_peers: RespServer | None = None
        self._network = Network(
            zones,
            runtime=self.runtime,
            settings=settings,
            upstream=self._connect_to,
            clocks={zone: NodeClock(epoch_ns=self.runtime.epoch_ns, run_ns=self.runtime.now_ns)},
            own=(zone,),
            codec=WireCodec(),
            far_end=self._far_server,
        )
        self.links = self._network.links
        self._ports = ZonePort(
            zone, self._network, zones=self.addresses, runtime=self.runtime, writes=self._writes, scripts=self._scripts
        )

    @property
    def coordinator(self) -> Coordinator:
        return self._network.coordinators[self.zone]

    @property
    def connected_to(self) -> dict[str, bool]:
        """Return whether each server is reached now, by its zone's name."""
        channels = zip(self.coordinator.zones, self.coordinator.channels, strict=True)
        return {zone: channel.connected for zone, channel in channels}

    @property
    def server(self) -> RespServer:
        if self._server is None:
            raise ClusterError(f"the gateway of zone {self.zone} has not been started")
        return self._server

    @property
    def address(self) -> Address:
        """Return where clients connect."""
        return self.server.address

    async def start(self) -> None:
        """Connect, and listen. Raises ``ClusterError`` if no zone's server answers, or the port cannot be had."""
        try:
            introduction = await introduced([self.addresses[self.zone], *self.addresses.values()])
            self._network.serve(self.zone, ring=partial(WireRing, table=introduction.table))
            if self.zone in self._peers_at:
                await self._listen_to_peers(introduction)
            await connected(self.coordinator, self.runtime)
            self._network.compare_zones(self.coordinator)
            self._server = self._ports.server(self.coordinator, introduction, self._port, level=self._level)
            await self._server.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        for server in (self._server, self._for_peers):
            if server is not None:
                await server.stop()
        self._network.close()
        for far in self._far_servers:
            far.close()
        await self.runtime.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def topology(self) -> dict[str, Any]:
        """Zones with their servers' addresses, this gateway's zone, port and levels.

        ``data_centres``: their zones, and the tokens of the nodes of these; empty without a topology.
        """
        return {
            "zone": self.zone,
            "port": str(self.address),
            "zones": {name: str(address) for name, address in self.addresses.items()},
            "data_centres": {} if self._network.topology.flat else placed(self._network.topology),
            "read_level": self.server.read_level.value,
            "write_level": self.server.write_level.value,
        }

    def statistics(self) -> dict[str, Any]:
        """Counts since the start, of the port and the coordinator; which coordinators elsewhere are reached now."""
        coordinator = self.coordinator
        counts = coordinator.statistics.as_dict()
        for unknown in counts["unknown_scripts"].values():
            since = datetime.fromtimestamp((self.runtime.epoch_ns + unknown.pop("since_ns")) / 1e9, UTC)
            unknown["since_utc"] = f"{since:%Y-%m-%dT%H:%M:%SZ}"
        forwards: Mapping[str, Channel] = {}
        if isinstance(coordinator, RingCoordinator):
            counts["zone_failures"] |= coordinator.elsewhere.zone_failures
            forwards = coordinator.forwards
        return {
            "port": self.server.counts(),
            "coordinator": counts,
            "peers": {name: channel.connected for name, channel in forwards.items()},
        }

    def set_level(self, *, read: Level | None = None, write: Level | None = None) -> None:
        """For connections made from now on; those that exist keep theirs, as in Dynomite."""
        self.server.read_level = read or self.server.read_level
        self.server.write_level = write or self.server.write_level

    def _far_server(self, far: str) -> ServerConnection:
        """The connection to the coordinator ``far`` of another data centre."""
        loop, address, port = asyncio.get_running_loop(), self._peers_at[far], self._port
        upstream = RawUpstream(
            address, loop=loop, backlog_bytes=port.zone_backlog_bytes, writes=self._writes, password=port.password
        )
        patient = replace(self._timeouts, datastore_ms=self._timeouts.remote_write_ms)
        server = ServerConnection(upstream=upstream, runtime=self.runtime, timeouts=patient)
        self._far_servers.append(server)
        self.runtime.spawn(_opened_once_there(server, address), name=f"first connection to {far}")
        return server

    async def _listen_to_peers(self, introduction: Introduction) -> None:
        ring = self.coordinator
        assert isinstance(ring, WireRing)
        passing = PassingRing(
            table=introduction.table,
            node=self.zone,
            topology=self._network.topology,
            channels=ring.channel_of,
            forwards={},
            runtime=self.runtime,
            make=self._network.making(self.zone),
            statistics=ring.statistics,
        )
        address = self._peers_at[self.zone]
        settings = replace(
            self._port,
            host=address.host,
            port=address.port,
            certificate=None,
            private_key=None,
            in_flight_max=PEER_IN_FLIGHT_MAX,
            in_flight_begin=PEER_IN_FLIGHT_MAX,
            reply_bytes=self._port.zone_backlog_bytes,
        )
        self._for_peers = self._ports.server(passing, introduction, settings, level=Level.DC_ONE)
        await self._for_peers.start()

    def _connect_to(self, zone: str) -> RawUpstream:
        shared = zone not in self._shared
        self._shared.add(zone)
        return RawUpstream(
            self.addresses[zone],
            loop=asyncio.get_running_loop(),
            backlog_bytes=self._port.zone_backlog_bytes,
            writes=self._writes,
            scripts=self._scripts if shared else None,
        )


async def _opened_once_there(server: ServerConnection, address: Address) -> None:
    """Coordinators that begin together would else wait for each other's back-off."""
    while True:
        try:
            _, writer = await asyncio.open_connection(address.host, address.port)
        except OSError:
            await asyncio.sleep(FIRST_S)
        else:
            writer.close()
            server.open()
            return
