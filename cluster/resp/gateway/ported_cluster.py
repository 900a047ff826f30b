"""The real arm's testbed with a RESP port at every coordinator, for programs that are not the lab's own."""

import asyncio
import logging
from collections.abc import Sequence

from zonelab.cluster.real.cluster import RealCluster, RealSettings, Servers
from zonelab.cluster.real.zones.port import PortReservation
from zonelab.cluster.resp.gateway.introduction import Introduction, introduced
from zonelab.cluster.resp.gateway.zone_port import ZonePort
from zonelab.cluster.resp.programs.program import PortProgram
from zonelab.cluster.resp.programs.session import ProgramSession
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.votes.levels import Levels, Setting
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.zone import Address, ClusterError
from zonelab.engine.ports import Runtime

LOGGER = logging.getLogger("zonelab.ports")


class PortedCluster(RealCluster):
    """``RealCluster`` whose coordinators serve clients at ports, all in this process; zones of one server each.

    Faults of its links, servers and coordinators are those of every ``Testbed``: when a coordinator dies, its clients
    are disconnected and nobody listens at its port until it is back. ``setting``: level of clients that choose none.
    """

    def __init__(self, servers: Servers, settings: RealSettings, *, setting: Setting) -> None:
        self._writes = GatheredWrites()
        super().__init__(servers, settings)
        self._setting = setting
        self._reserved: list[PortReservation] = []
        self._failovers: list[FailoverAddress] = []
        self.ports: dict[str, RespServer] = {}
        """By zone; there once the cluster has started."""

    def port(self, zone: str) -> Address:
        """Return where clients of ``zone`` connect. Raises ``ClusterError`` before the start."""
        if zone not in self.ports:
            raise ClusterError(f"zone {zone} has no port yet")
        return self.ports[zone].address

    async def add_program(self, zone: str, name: str, *, failover: bool = False) -> Address:
        """Return a further address of the zone's port, at which clients are the program ``name``.

        With ``failover`` a connection that is made while the zone's coordinator is dead is at the next zone's, in their
        order. Raises ``ClusterError`` before the start, or if the program has an address already.
        """
        self.port(zone)
        reservation = PortReservation(None)
        self._reserved.append(reservation)
        if failover:
            program = self.ports[zone].new_program(name, fails_over=True)
            ports = [self.ports[one] for one in (zone, *(other for other in self.ports if other != zone))]
            self._failovers.append(FailoverAddress(program, ports))
            await self._failovers[-1].listen(reservation.port)
        else:
            program = await self.ports[zone].add_program(name, port=reservation.port)
        assert program.address is not None
        return program.address

    async def start(self) -> None:
        await super().start()
        try:
            introduction = await introduced([zone.address for zone in self.zones.values()])
            for zone in self.zones:
                await self._listen(zone, introduction)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        for address in self._failovers:
            address.close()
        self._failovers.clear()
        for server in self.ports.values():
            await server.stop()
        self.ports.clear()
        for reservation in self._reserved:
            reservation.release()
        self._reserved.clear()
        await super().stop()

    async def _listen(self, zone: str, introduction: Introduction) -> None:
        """Listen at a port that stays the coordinator's own while it is dead."""
        reservation = PortReservation(None)
        self._reserved.append(reservation)
        made = ZonePort(
            zone,
            self.network,
            zones={name: one.address for name, one in self.zones.items()},
            runtime=self.runtime,
            writes=self._writes,
        )
        settings = PortSettings(port=reservation.port, busy_poll_us=0)
        level = self._setting.write if isinstance(self._setting, Levels) else self._setting
        server = made.server(made.coordinator, introduction, settings, level=level)
        if isinstance(self._setting, Levels):
            server.read_level = self._setting.read
        await server.start()
        self.ports[zone] = server
        made.coordinator.port = _DyingPort(server, self.runtime)

    def _network(self, settings: RealSettings) -> Network:
        return Network(
            self.zones,
            runtime=self.runtime,
            settings=settings,
            upstream=self._connect_to,
            passing=self._raw_to,
            clocks=self.clocks,
            codec=WireCodec(),
        )

    def _raw_to(self, zone: str) -> RawUpstream:
        return RawUpstream(
            self.zones[zone].address,
            loop=asyncio.get_running_loop(),
            backlog_bytes=PortSettings().zone_backlog_bytes,
            writes=self._writes,
        )


class _DyingPort:
    """``CoordinatorPort`` of a RESP port."""

    def __init__(self, server: RespServer, runtime: Runtime) -> None:
        self._server = server
        self._runtime = runtime

    def crash(self) -> None:
        self._server.crash()

    def restart(self) -> None:
        self._runtime.spawn(self._back(), name="port")

    async def _back(self) -> None:
        try:
            await self._server.start()
        except ClusterError as error:
            LOGGER.error("a coordinator's port did not come back: %s", error)


class FailoverAddress:
    """Listener for the connections of ``program``, each at the first of ``ports`` that listens when it is made.

    It stays as long as it is, whatever port dies: a client that connects again is at the next one. While none listens,
    connections are closed at once.
    """

    def __init__(self, program: PortProgram, ports: Sequence[RespServer]) -> None:
        self._program = program
        self._ports = ports
        self._listener: asyncio.Server | None = None

    async def listen(self, port: int) -> None:
        """Listen at ``port`` of the ports' host. Raises ``ClusterError``."""
        home = self._ports[0]
        self._listener = await home.listener(self._session, port)
        self._program.address = home.address_of(self._listener)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _session(self) -> asyncio.BaseProtocol:
        for port in self._ports:
            if port.listens:
                return ProgramSession(port, self._program)
        return _Closed()


class _Closed(asyncio.Protocol):
    """Connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
