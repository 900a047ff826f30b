"""Programs that take their time: each works on its commands, a few at once at most, before it sends them."""

from functools import partial

from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.sim.station import Station, StationSettings
from zonelab.cluster.testbed import Testbed, TestbedAround
from zonelab.cluster.votes.levels import Setting
from zonelab.engine.ports import Command, Connection, Promise, Reply, Runtime
from zonelab.scenarios.clients.program_crash import Routable, wrapped
from zonelab.scenarios.queues.under_test import Wrap


class BusyTestbed(TestbedAround):
    """``Testbed`` in simulation whose programs have a ``Station`` each, in front of all their connections."""

    def __init__(self, testbed: Testbed, cluster: SimCluster, settings: StationSettings) -> None:
        super().__init__(testbed)
        self._cluster = cluster
        self._settings = settings
        self._stations: dict[str, Station] = {}

    def connection(self, zone: str, level: Setting) -> Connection:
        return _BusyConnection(self._testbed.connection(zone, level), self)

    def reads(self, zone: str, target: str) -> Connection:
        return _BusyConnection(self._testbed.reads(zone, target), self)

    def station(self, process: str) -> Station:
        """The same for all connections of a program."""
        if process not in self._stations:
            runtime = self._cluster.runtime
            random = runtime.random(f"program {process}")
            self._stations[process] = Station(runtime.environment, self._settings, random=random)
        return self._stations[process]


class _BusyConnection(Routable):
    """A connection of nobody yet. ``zonelab.scenarios.clients.program_crash.wrapped`` makes it one of a certain
    program.
    """

    def __init__(self, way: Connection, testbed: BusyTestbed) -> None:
        self._way = way
        self._testbed = testbed

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self._way.execute(*commands)

    def routed(self, process: str, wrap: Wrap) -> Connection:
        way = wrapped(self._way, process, wrap)
        return _OfProgram(way, self._testbed.station(process), self._testbed.runtime)


class _OfProgram:
    def __init__(self, way: Connection, station: Station, runtime: Runtime) -> None:
        self._way = way
        self._station = station
        self._runtime = runtime

    async def execute(self, *commands: Command) -> list[Reply]:
        done: Promise[None] = self._runtime.promise()
        self._station.serve(len(commands), partial(done.set_result, None))
        await done
        return await self._way.execute(*commands)
