"""Testbed: all that a scenario can do with a cluster, whichever arm it runs on."""

from collections.abc import Mapping
from typing import Protocol

from zonelab.cluster.client.connection import ClientConnection
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.links.link import Link
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.zone import Zone
from zonelab.engine.ports import Connection, Runtime


class Testbed(Protocol):
    """Zones, the links between them, and a coordinator in each."""

    @property
    def runtime(self) -> Runtime: ...
    @property
    def epoch_ns(self) -> int:
        """Wall clock (Unix time, ns) at run time 0; every clock of the run is this plus run time."""

    @property
    def zones(self) -> Mapping[str, Zone]: ...
    @property
    def links(self) -> Mapping[tuple[str, str], Link]:
        """One per ordered pair of zones, by (source, target)."""

    @property
    def coordinators(self) -> Mapping[str, Coordinator]: ...
    def connection(self, zone: str, level: Setting) -> Connection:
        """A client's connection to the coordinator of ``zone``."""

    def client_connection(self, zone: str, level: Setting) -> ClientConnection:
        """A client's connection with a state of its own: for MULTI, WATCH, blocking commands and pub/sub."""

    def reads(self, zone: str, target: str) -> Connection:
        """A connection of a client of ``zone`` that reads ``target`` alone: see ``SingleZoneReads``."""

    def direct(self, zone: str) -> Connection:
        """A connection straight to the server of ``zone``."""

    def clock(self, zone: str) -> NodeClock:
        """The wall clock of ``zone``, always the same object: what sets it wrong does so for all who use it."""

    def at_rest(self, since_ns: int) -> bool:
        """Return what hinted handoff and anti-entropy had to do is done; ``since_ns`` was after the last write."""

    async def start(self) -> None:
        """Start every zone and connect every coordinator. On failure nothing is left running."""

    async def stop(self) -> None: ...


class TestbedAround:
    """``Testbed`` that hands everything on to ``testbed``."""

    __test__ = False  # its name begins as those do that pytest collects

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed

    @property
    def runtime(self) -> Runtime:
        return self._testbed.runtime

    @property
    def epoch_ns(self) -> int:
        return self._testbed.epoch_ns

    @property
    def zones(self) -> Mapping[str, Zone]:
        return self._testbed.zones

    @property
    def links(self) -> Mapping[tuple[str, str], Link]:
        return self._testbed.links

    @property
    def coordinators(self) -> Mapping[str, Coordinator]:
        return self._testbed.coordinators

    def connection(self, zone: str, level: Setting) -> Connection:
        return self._testbed.connection(zone, level)

    def client_connection(self, zone: str, level: Setting) -> ClientConnection:
        return self._testbed.client_connection(zone, level)

    def reads(self, zone: str, target: str) -> Connection:
        return self._testbed.reads(zone, target)

    def direct(self, zone: str) -> Connection:
        return self._testbed.direct(zone)

    def clock(self, zone: str) -> NodeClock:
        return self._testbed.clock(zone)

    def at_rest(self, since_ns: int) -> bool:
        return self._testbed.at_rest(since_ns)

    async def start(self) -> None:
        await self._testbed.start()

    async def stop(self) -> None:
        await self._testbed.stop()
