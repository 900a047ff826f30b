"""The simulated testbed: simulated servers as zones, with the same links and coordinators between them as real ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from zonelab.cluster.client.connection import ClientConnection
from zonelab.cluster.client.place import ClientPlace
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.coordinators.direct import SingleZoneReads
from zonelab.cluster.sim.first_answers import SimCoordinator
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.schedule import Schedule
from zonelab.cluster.sim.server import ServerSettings, SimServer
from zonelab.cluster.sim.station import Station, StationSettings
from zonelab.cluster.sim.subscriber import subscribe
from zonelab.cluster.sim.upstream import BehindCoordinator, SimUpstream
from zonelab.cluster.sim.zone import SimZone
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.wiring.network import Network
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Connection


class ServerChanges:
    """``Changes`` for the clients of the zone ``own`` among ``servers``."""

    def __init__(self, servers: Mapping[str, SimServer], *, own: str) -> None:
        self._own = servers[own]
        self._all = list(servers.values())

    def listen(self, keys: Sequence[bytes], changed: Callable[[], None], *, everywhere: bool) -> Callable[[], None]:
        stops = [server.listen(keys, changed) for server in (self._all if everywhere else [self._own])]

        def stop() -> None:
            for one in stops:
                one()

        return stop


EPOCH_NS = 1_700_000_000_000_000_000
"""Wall clock at run time 0, in Unix time, if nothing else is set: 14 November 2023, 22:13:20 UTC."""


@dataclass(frozen=True, kw_only=True)
class SimSettings(NetworkSettings):
    """``server``: the servers of all zones. ``keep_trace``: keep what happened, for a comparison line by line.

    ``coordinator``: the time that each coordinator takes over the commands which it passes to its own server, whoever
    sent them; none if not given.
    """

    schedule: Schedule = field(default_factory=Schedule)
    server: ServerSettings = field(default_factory=ServerSettings)
    coordinator: StationSettings | None = None
    epoch_ns: int = EPOCH_NS
    keep_trace: bool = False


class SimCluster:
    """``Testbed`` in virtual time. What uses it runs in ``runtime.run_until_complete``; ``sim_test`` sees to that.

    ``zones`` are the servers by the names of their zones, with the verbs that break them (``kill``, ``pause``, …),
    ``links`` those between zones, by (source, target), and ``coordinators`` those of the zones. ``runtime.sleep`` lets
    so many ns pass.

    Example, in which those of the methods stand in place of the dots::

        @sim_test(seeds=1)
        async def test_mine(testbed: SimCluster) -> None:
            ...
    """

    def __init__(self, zones: Sequence[str], settings: SimSettings) -> None:
        if not zones or len(dict.fromkeys(zones)) != len(zones):
            raise ClusterError(f"got zone names {list(zones)}; accepted: one or more, all different")
        self.epoch_ns = settings.epoch_ns
        self.runtime = SimRuntime(seed=settings.seed, schedule=settings.schedule, keep_trace=settings.keep_trace)
        self.clocks = {name: NodeClock(epoch_ns=settings.epoch_ns, run_ns=self.runtime.now_ns) for name in zones}
        self.zones = {
            name: SimZone(name, runtime=self.runtime, clock=self.clocks[name], settings=settings.server)
            for name in zones
        }
        self._stations = {} if settings.coordinator is None else self._coordinators_of(zones, settings.coordinator)
        self.network = Network(
            zones,
            runtime=self.runtime,
            settings=settings,
            upstream=self._connect_to,
            clocks=self.clocks,
            plain=SimCoordinator,
            passing=self._pass_to if self._stations else None,
            counts_bytes=True,
        )
        self.links = self.network.links
        self._places: dict[str, ClientPlace] = {}
        self.coordinators = self.network.coordinators

    def connection(self, zone: str, level: Setting) -> Connection:
        """Return a client's connection to a coordinator.

        Args:
            zone: that of the coordinator.
            level: consistency level of the client's commands.

        Example::

            connection = testbed.connection("a", Level.DC_QUORUM)
            print(await connection.execute(("SET", "k", "v"), ("GET", "k")))  # [b'OK', b'v']
        """
        return self.coordinators[zone].connection(level)

    def client_connection(self, zone: str, level: Setting) -> ClientConnection:
        """Return a client's connection with a state of its own: MULTI, WATCH, blocking commands, pub/sub.

        Args:
            zone: that of the coordinator.
            level: consistency level of the client's commands.

        Example::

            mine = testbed.client_connection("a", Level.DC_QUORUM)
            print(await mine.execute(("MULTI",), ("INCR", "n"), ("EXEC",)))  # [b'OK', b'QUEUED', [1]]
        """
        place = self._places.get(zone)
        if place is None:
            server = self.zones[zone].server
            changes = ServerChanges({name: one.server for name, one in self.zones.items()}, own=zone)
            place = self._places[zone] = self.network.client_place(
                zone, refusal=server.refusal, subscribe=partial(subscribe, server, self.runtime), changes=changes
            )
        return ClientConnection(place, level)

    def reads(self, zone: str, target: str) -> Connection:
        """Return a client's connection that reads one zone alone.

        Args:
            zone: that of the client.
            target: the zone that it reads.

        Example::

            print(await testbed.reads("a", "b").execute(("GET", "k")))  # [None]
        """
        return SingleZoneReads(self.coordinators[zone], target, runtime=self.runtime)

    def direct(self, zone: str) -> Connection:
        """Return a connection straight to a server, past coordinators and links.

        Args:
            zone: that of the server.

        Example::

            print(await testbed.direct("b").execute(("SET", "k", "v")))  # [b'OK']
        """
        return self.network.direct(zone)

    def at_rest(self, since_ns: int) -> bool:
        """Return whether replication has nothing left to do.

        Args:
            since_ns: a run time after the last write.

        Example::

            await testbed.connection("a", Level.DC_ONE).execute(("SET", "k", "v"))
            print(testbed.at_rest(testbed.runtime.now_ns()))  # True
        """
        return self.network.at_rest(since_ns)

    def clock(self, zone: str) -> NodeClock:
        """Return the clock of a zone's machines: clients there and the server take their time from it.

        Args:
            zone: its name.

        Example::

            await testbed.runtime.sleep(1_000_000_000)
            print(testbed.clock("a").now_ms() * 1_000_000 >= testbed.epoch_ns + 1_000_000_000)  # True
        """
        return self.clocks[zone]

    async def start(self) -> None:
        """Start every zone and connect every coordinator."""
        starts = [self.runtime.spawn(zone.start(), name=f"start {name}") for name, zone in self.zones.items()]
        for start in starts:
            await start.join()
        self.network.open()
        await self.network.connected()

    async def stop(self) -> None:
        """Stop everything; whatever still runs on it is closed."""
        self.network.close()
        self.runtime.close()
        for zone in self.zones.values():
            await zone.stop()

    async def __aenter__(self) -> "SimCluster":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def _connect_to(self, zone: str) -> SimUpstream:
        return SimUpstream(self.zones[zone].server, runtime=self.runtime)

    def _pass_to(self, zone: str) -> SimUpstream:
        return BehindCoordinator(self.zones[zone].server, runtime=self.runtime, station=self._stations[zone])

    def _coordinators_of(self, zones: Sequence[str], settings: StationSettings) -> dict[str, Station]:
        return {
            name: Station(
                self.runtime.environment,
                settings,
                random=self.runtime.random(f"coordinator {name}"),
                deaths=partial(self._deaths_of, name),
            )
            for name in zones
        }

    def _deaths_of(self, zone: str) -> int:
        return self.coordinators[zone].deaths if zone in self.coordinators else 0  # before they are there, none
