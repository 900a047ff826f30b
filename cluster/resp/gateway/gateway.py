"""The coordinator of one zone as a process runs it: its links and connections to all zones, and its RESP port.

Every process owns the links that its own coordinator uses: from its zone to each other zone, for requests, and back,
for answers. To cut two zones off from each other in both directions of traffic, cut the links in both processes.

With a topology it is the coordinator of one node, and "zones" are all nodes. Coordinators of other data centres then
hand it writes at a second port, which speaks RESP as well.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

import hiredis

from zonelab.cluster.client.lent_coordinators import LentCoordinators, connected
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Batch, Channel
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.coordinators.token_ring import RingCoordinator
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.resp.gateway.behind_hints import BehindHints
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import CommandTable, table_from
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream, WireCommands
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.resp.wire_ring import PassingRing, WireRing
from zonelab.cluster.topology.topology import placed
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import Address, ClusterError

READY_S = 10.0
"""Seconds that a starting gateway waits for some server's command table."""

PEER_IN_FLIGHT_MAX = 200_000
"""Commands of a coordinator of another data centre under way: its writes go on to the zones that answer while the own
server does not. So many messages has a process of Dynomite at most by default (``max_msgs``)."""

FIRST_S = 0.1
"""Seconds between tries of a coordinator of another data centre until it answers for the first time."""

_UNWATCH = wire.command(b"UNWATCH")
_INTRODUCTION = wire.command(b"COMMAND") + wire.command(b"HELLO", b"2")


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """A zone's server as it describes itself."""

    table: CommandTable
    product: str
    version: str


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
        self._lent = LentCoordinators(
            self.runtime,
            make=lambda owners: self._own_coordinator(owners, self.coordinator.statistics),
            drop=self._drop,
            unwatch=lambda: Batch(WireCommands([("UNWATCH",)], protocol=2), writes=True, packed=_UNWATCH),
        )
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
            self._server = self._port_of(self.coordinator, introduction, self._port, level=self._level)
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

    def _own_coordinator(self, zones: tuple[str, ...], statistics: CoordinatorStatistics | None = None) -> Coordinator:
        """Make the coordinator of ``zones``, with connections of its own; one of them is in the own zone."""
        channels = {target: self._behind_hints(target, self._network.channel(self.zone, target)) for target in zones}
        own = [node.name for node in self._network.topology.positions[self.zone].zone.nodes]
        zone = next(name for name in zones if name in own)
        return PlainCoordinator(zone=zone, channels=channels, runtime=self.runtime, statistics=statistics)

    def _behind_hints(self, target: str, channel: Channel) -> Channel:
        hinted = self._network.hinted.get((self.zone, target))
        return channel if hinted is None else BehindHints(channel, hinted)

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
        self._for_peers = self._port_of(passing, introduction, settings, level=Level.DC_ONE)
        await self._for_peers.start()

    def _port_of(
        self, coordinator: Coordinator, introduction: Introduction, settings: PortSettings, *, level: Level
    ) -> RespServer:
        return RespServer(
            coordinator=coordinator,
            table=introduction.table,
            own_address=self.addresses[self.zone],
            settings=settings,
            level=level,
            lease=self._lease,
            release=self._lent.release,
            writes=self._writes,
            runtime=self.runtime,
            scripts=self._scripts,
            product=introduction.product,
            version=introduction.version,
        )

    async def _lease(self, watch: bytes) -> Coordinator:
        """Lend a coordinator with connections of its own, for a client that watches keys, to where these are.

        Raises ``ClusterError`` if too many have one.
        """
        ring = self.coordinator
        owners = ring.together(watch, 1) if isinstance(ring, WireRing) else tuple(self.addresses)
        assert owners, watch
        return await self._lent.lease(owners)

    def _drop(self, channel: Channel) -> None:
        self._network.drop(channel.channel if isinstance(channel, BehindHints) else channel)

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


async def introduced(addresses: list[Address]) -> Introduction:
    """Ask the first server that answers for its commands, product and version. Raises ``ClusterError``."""
    begin_s = asyncio.get_running_loop().time()
    while True:
        for address in addresses:
            try:
                return await _introduced_by(address)
            except (OSError, TimeoutError):
                continue
        if asyncio.get_running_loop().time() - begin_s > READY_S:
            raise ClusterError(f"no server answers at {', '.join(map(str, dict.fromkeys(addresses)))}")
        await asyncio.sleep(0.1)


async def _introduced_by(address: Address) -> Introduction:
    async with asyncio.timeout(READY_S):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        try:
            writer.write(_INTRODUCTION)
            parser = hiredis.Reader()
            commands = await _next_reply(parser, reader)
            facts = await _next_reply(parser, reader)
        finally:
            writer.close()
    try:
        values = dict(zip(facts[::2], facts[1::2], strict=True))
        return Introduction(
            table=table_from(commands), product=values[b"server"].decode(), version=values[b"version"].decode()
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ClusterError(f"the server at {address} is no Redis of version 7 or later: {error}") from error


async def _next_reply(parser: hiredis.Reader, reader: asyncio.StreamReader) -> Any:
    while (reply := parser.gets()) is False:
        data = await reader.read(65536)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        parser.feed(data)
    return reply
