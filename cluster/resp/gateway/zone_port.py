"""The RESP ports of one zone's coordinator, and the coordinators of their own that it lends to clients that watch."""

from collections.abc import Mapping

from zonelab.cluster.client.lent_coordinators import LentCoordinators
from zonelab.cluster.connections.batch import Batch, Channel
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.resp.gateway.behind_hints import BehindHints
from zonelab.cluster.resp.gateway.introduction import Introduction
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, WireCommands
from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.resp.wire_ring import WireRing
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Runtime

_UNWATCH = wire.command(b"UNWATCH")


class ZonePort:
    """Maker of the ports of ``zone``, whose coordinator ``network`` has, with channels that carry bytes.

    ``zones``: address of each zone's server. ``writes``: of those channels. ``scripts``: as of ``PortHost``.
    """

    def __init__(
        self,
        zone: str,
        network: Network,
        *,
        zones: Mapping[str, Address],
        runtime: Runtime,
        writes: GatheredWrites,
        scripts: RememberedScripts | None = None,
    ) -> None:
        self.zone = zone
        self._network = network
        self._addresses = zones
        self._runtime = runtime
        self._writes = writes
        self._scripts = scripts
        self._lent = LentCoordinators(
            runtime,
            make=lambda owners: self._own_coordinator(owners, self.coordinator.statistics),
            drop=self._drop,
            unwatch=lambda: Batch(WireCommands([("UNWATCH",)], protocol=2), writes=True, packed=_UNWATCH),
        )

    @property
    def coordinator(self) -> Coordinator:
        return self._network.coordinators[self.zone]

    def server(
        self, coordinator: Coordinator, introduction: Introduction, settings: PortSettings, *, level: Level
    ) -> RespServer:
        """Return a port of ``coordinator`` that does not listen yet."""
        return RespServer(
            coordinator=coordinator,
            table=introduction.table,
            own_address=self._addresses[self.zone],
            settings=settings,
            level=level,
            lease=self._lease,
            release=self._lent.release,
            writes=self._writes,
            runtime=self._runtime,
            scripts=self._scripts,
            product=introduction.product,
            version=introduction.version,
        )

    async def _lease(self, watch: bytes) -> Coordinator:
        """Lend a coordinator with connections of its own, for a client that watches keys, to where these are.

        Raises ``ClusterError`` if too many have one.
        """
        ring = self.coordinator
        owners = ring.together(watch, 1) if isinstance(ring, WireRing) else tuple(self._addresses)
        assert owners, watch
        return await self._lent.lease(owners)

    def _own_coordinator(self, zones: tuple[str, ...], statistics: CoordinatorStatistics | None = None) -> Coordinator:
        """Make the coordinator of ``zones``, with connections of its own; one of them is in the own zone."""
        channels = {target: self._behind_hints(target, self._network.channel(self.zone, target)) for target in zones}
        own = [node.name for node in self._network.topology.positions[self.zone].zone.nodes]
        zone = next(name for name in zones if name in own)
        return PlainCoordinator(zone=zone, channels=channels, runtime=self._runtime, statistics=statistics)

    def _behind_hints(self, target: str, channel: Channel) -> Channel:
        hinted = self._network.hinted.get((self.zone, target))
        return channel if hinted is None else BehindHints(channel, hinted)

    def _drop(self, channel: Channel) -> None:
        self._network.drop(channel.channel if isinstance(channel, BehindHints) else channel)
