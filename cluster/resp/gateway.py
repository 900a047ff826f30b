"""The coordinator of one zone as a process runs it: its links and connections to all zones, and its RESP port.

Every process owns the links that its own coordinator uses: from its zone to each other zone, for requests, and back,
for answers. To cut two zones off from each other in both directions of traffic, cut the links in both processes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import hiredis

from cluster.coordinator import Coordinator
from cluster.lag import parse_lag
from cluster.levels import Level
from cluster.link import Cut, Link
from cluster.network import Network, NetworkSettings
from cluster.real.runtime import RealRuntime
from cluster.resp import wire
from cluster.resp.server import PortSettings, RespServer
from cluster.resp.table import CommandTable, table_from
from cluster.resp.upstream import RawUpstream
from cluster.statistics import CoordinatorStatistics
from cluster.zone import Address, ClusterError

READY_S = 10.0
"""How long a starting gateway waits for some server to tell it its commands."""

CONNECT_S = 2.0
"""How long it then waits for the other zones; it serves without them as well."""

_INTRODUCTION = wire.command(b"COMMAND") + wire.command(b"HELLO", b"2")


class GatewayControl(Protocol):
    """What an administration of a running gateway may ask and do."""

    def topology(self) -> dict[str, Any]: ...
    def statistics(self) -> dict[str, Any]: ...
    def set_level(self, *, read: Level | None = None, write: Level | None = None) -> None: ...
    def set_lag(self, other: str, lag: str) -> None: ...
    def set_loss(self, other: str, probability: float) -> None: ...
    def cut(self, other: str, mode: Cut) -> None: ...
    def mend(self, other: str) -> None: ...
    def heal(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """What a zone's server says about itself."""

    table: CommandTable
    product: str
    version: str


class ZoneGateway(Network):
    """The coordinator of ``zone`` with a RESP port. Make it inside a running event loop; ``async with``.

    ``zones`` are the addresses of all zones' servers, its own among them.
    """

    def __init__(
        self,
        zone: str,
        zones: Mapping[str, Address],
        *,
        settings: NetworkSettings,
        port: PortSettings | None = None,
        level: Level = Level.DC_ONE,
    ) -> None:
        if zone not in zones:
            raise ClusterError(f"zone {zone!r} is not among the zones: {', '.join(zones)}")
        self.zone = zone
        self.addresses = dict(zones)
        self.runtime = RealRuntime(seed=settings.seed)
        self._port = port or PortSettings()
        self._level = level
        self._network = settings
        self._idle: list[Coordinator] = []
        self._server: RespServer | None = None
        super().__init__(zones, runtime=self.runtime, settings=settings, upstream=self._connect_to)
        self.links = {ends: link for ends, link in self.links.items() if zone in ends}

    @property
    def coordinator(self) -> Coordinator:
        return self.coordinators[self.zone]

    @property
    def server(self) -> RespServer:
        if self._server is None:
            raise ClusterError(f"the gateway of zone {self.zone} has not been started")
        return self._server

    @property
    def address(self) -> Address:
        """Where clients connect."""
        return self.server.address

    async def start(self) -> None:
        """Connect, and listen. Raises ``ClusterError`` if no zone's server answers, or the port cannot be had."""
        try:
            introduction = await introduced([self.addresses[self.zone], *self.addresses.values()])
            self.coordinators[self.zone] = self._own_coordinator()
            await self._connected(self.coordinator)
            self._server = RespServer(
                coordinator=self.coordinator,
                table=introduction.table,
                own_address=self.addresses[self.zone],
                settings=self._port,
                level=self._level,
                lease=self._lease,
                release=self._release,
                product=introduction.product,
                version=introduction.version,
            )
            await self._server.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop()
        self._close()
        await self.runtime.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def topology(self) -> dict[str, Any]:
        """Zones with their servers' addresses, this gateway's zone, port and levels, and the state of its links."""
        return {
            "zone": self.zone,
            "port": str(self.address),
            "zones": {name: str(address) for name, address in self.addresses.items()},
            "read_level": self.server.read_level.value,
            "write_level": self.server.write_level.value,
            "links": [_described(link) for link in self.links.values()],
        }

    def statistics(self) -> dict[str, Any]:
        """Counts since the start: of the port, of the coordinator, and what is on its way now."""
        coordinator = self.coordinator
        channels = zip(self._names_in_order(), coordinator.channels, strict=True)
        return {
            "port": self.server.counts(),
            "coordinator": coordinator.statistics.as_dict(),
            "connected": {name: channel.connected for name, channel in channels},
            "links": {f"{link.source}>{link.target}": link.in_flight for link in self.links.values()},
        }

    def set_level(self, *, read: Level | None = None, write: Level | None = None) -> None:
        """For connections made from now on; those that exist keep theirs, as in Dynomite."""
        self.server.read_level = read or self.server.read_level
        self.server.write_level = write or self.server.write_level

    def set_lag(self, other: str, lag: str) -> None:
        """Both ways between this zone and ``other``. Raises ``ValueError`` if ``lag`` cannot be read."""
        parsed = parse_lag(lag)
        for link in self._links_with(other):
            link.set_lag(parsed)

    def set_loss(self, other: str, probability: float) -> None:
        for link in self._links_with(other):
            link.set_loss(probability)

    def cut(self, other: str, mode: Cut) -> None:
        for link in self._links_with(other):
            link.cut(mode)

    def mend(self, other: str) -> None:
        for link in self._links_with(other):
            link.mend()

    def heal(self) -> None:
        """Mend every link and give it the lag and loss that it began with."""
        for ends, link in self.links.items():
            link.mend()
            link.set_lag((self._network.lags or {}).get(ends, self._network.lag))
            link.set_loss(self._network.loss)

    def _links_with(self, other: str) -> list[Link]:
        found = [link for ends, link in self.links.items() if other in ends and other != self.zone]
        if not found:
            others = ", ".join(name for name in self.addresses if name != self.zone)
            raise ClusterError(f"zone {self.zone} has no link to {other!r}; it has links to: {others}")
        return found

    def _names_in_order(self) -> list[str]:
        return [self.coordinator.zone_name(position) for position in range(len(self.coordinator.channels))]

    def _own_coordinator(self, statistics: CoordinatorStatistics | None = None) -> Coordinator:
        channels = {target: self._channel(self.zone, target) for target in self.addresses}
        return Coordinator(zone=self.zone, channels=channels, runtime=self.runtime, statistics=statistics)

    async def _connected(self, coordinator: Coordinator) -> None:
        deadline_s = self.runtime.now_ns() + int(CONNECT_S * 1e9)
        while not coordinator.connected and self.runtime.now_ns() < deadline_s:
            await self.runtime.sleep(1_000_000)

    async def _lease(self) -> Coordinator:
        """A coordinator with connections of its own, for a client that watches keys."""
        if self._idle:
            return self._idle.pop()
        coordinator = self._own_coordinator(self.coordinator.statistics)
        try:
            await self._connected(coordinator)
        except asyncio.CancelledError:  # the client has left
            self._idle.append(coordinator)
            raise
        return coordinator

    def _release(self, coordinator: Coordinator) -> None:
        """Its connections forget what was watched, and serve the next client."""
        watching_no_more = wire.command(b"UNWATCH")
        coordinator.submit(Level.DC_ONE, (("UNWATCH",),), lambda _: None, packed=watching_no_more)
        self._idle.append(coordinator)

    def _connect_to(self, zone: str) -> RawUpstream:
        loop = asyncio.get_running_loop()
        return RawUpstream(self.addresses[zone], loop=loop, backlog_bytes=self._port.zone_backlog_bytes)


def _described(link: Link) -> dict[str, Any]:
    cut = link.cut_mode.value if link.cut_mode is not None else None
    return {
        "source": link.source,
        "target": link.target,
        "lag": str(link.lag),
        "loss": link.loss,
        "cut": cut,
        "in_flight": link.in_flight,
    }


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
        told = dict(zip(facts[::2], facts[1::2], strict=True))
        return Introduction(
            table=table_from(commands), product=told[b"server"].decode(), version=told[b"version"].decode()
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
