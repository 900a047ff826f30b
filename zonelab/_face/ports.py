"""Ports of a cluster's zones for any Redis client: for each zone a coordinator with a port, in the test's process."""

from collections.abc import Mapping
from contextlib import AsyncExitStack

from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.links.link import Link
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.testbed import Testbed, TestbedAround
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings

Links = Mapping[tuple[str, str], Link]


class Ports:
    """Coordinators with ports, one for each zone.

    Each has links of its own, so that a fault of links must begin and end on each of ``views``, too."""

    def __init__(self, testbed: Testbed, settings: NetworkSettings, *, level: Level) -> None:
        self._testbed, self._settings, self._level = testbed, settings, level
        self._gateways: dict[str, ZoneGateway] = {}
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        """Start the port of every zone. The servers must answer already."""
        addresses = {name: zone.address for name, zone in self._testbed.zones.items()}
        port = PortSettings(busy_poll_us=0)
        for name in addresses:
            gateway = ZoneGateway(name, addresses, settings=self._settings, port=port, level=self._level)
            self._gateways[name] = await self._stack.enter_async_context(gateway)

    async def stop(self) -> None:
        await self._stack.aclose()

    @property
    def urls(self) -> dict[str, str]:
        """Return the URL to which clients connect, by zone."""
        return {name: f"redis://{gateway.address}" for name, gateway in self._gateways.items()}

    @property
    def views(self) -> list[Testbed]:
        """The testbed with the links and coordinators of the ports: a link as its source has it, and as its target."""
        gateways = self._gateways
        coordinators = {name: gateway.coordinator for name, gateway in gateways.items()}
        pairs = self._testbed.links
        by_source = {(one, other): gateways[one].links[one, other] for one, other in pairs}
        by_target = {(one, other): gateways[other].links[one, other] for one, other in pairs}
        return [_PortsTestbed(self._testbed, links, coordinators) for links in (by_source, by_target)]


class _PortsTestbed(TestbedAround):
    def __init__(self, testbed: Testbed, links: Links, coordinators: Mapping[str, Coordinator]) -> None:
        super().__init__(testbed)
        self._links, self._coordinators = links, coordinators

    @property
    def links(self) -> Links:
        return self._links

    @property
    def coordinators(self) -> Mapping[str, Coordinator]:
        return self._coordinators
