"""Faults of a state machine: begun by a step, ended by time or by a later step."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum

from cluster.links.lag import Lag
from cluster.links.link import Cut
from cluster.sim.cluster import SimCluster
from cluster.zone import Restart, Zone, ZoneState
from scenarios.faults.zones import Kill, PowerFailure, ServerDeath, Wipe

_NS_PER_MS = 1_000_000

End = Callable[[], Awaitable[None]]


class Trouble(StrEnum):
    """What a state machine may do to the programs and the cluster."""

    CRASH = "crash"  # a program dies, between two commands or where it is
    STALL = "stall"  # a program stands still between two commands
    LAG = "lag"  # links become slower, or faster
    PAUSE = "pause"  # a zone's server stands still (SIGSTOP)
    HOLD = "hold"  # links carry nothing for some time, and then everything
    DROP = "drop"  # connections over links are reset, and what is sent meanwhile is lost
    KILL_KEEP = "kill_keep"  # a zone's server dies (SIGKILL) and comes back with its own files
    KILL_WIPE = "kill_wipe"  # … with nothing
    KILL_WARM = "kill_warm"  # … with a copy of a running zone's data
    POWER_FAILURE = "power_failure"  # … with its own files, without what was not flushed to them
    COORDINATOR_CRASH = "coordinator_crash"  # a coordinator dies with commands on their way; another takes its place


DEATHS: Mapping[Trouble, ServerDeath] = {
    Trouble.KILL_KEEP: Kill.model_construct(kind="kill"),
    Trouble.KILL_WIPE: Wipe.model_construct(kind="wipe"),
    Trouble.KILL_WARM: Kill.model_construct(kind="kill", restart="warm"),
    Trouble.POWER_FAILURE: PowerFailure.model_construct(kind="power_failure"),
}
"""The same as faults of a scenario, of whatever zone."""


class Troubles:
    """The faults in force in one cluster, by what they hold; nothing is held by two."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._ends: dict[str, End] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def holds(self, *names: str) -> bool:
        return any(name in self._ends for name in names)

    def free_zones(self) -> list[str]:
        return [name for name in self._cluster.zones if not self.holds(zone_key(name))]

    def dead_zones(self) -> list[str]:
        return [name for name, zone in self._cluster.zones.items() if zone.state is ZoneState.DEAD]

    def free_links(self) -> list[tuple[str, str]]:
        return [pair for pair in self._cluster.links if not self.holds(link_key(pair))]

    def free_coordinators(self) -> list[str]:
        """Zones whose coordinator runs and whose links are whole."""
        return [name for name in self._cluster.zones if not self.holds(*map(link_key, self._around(name)))]

    async def kill(self, zone: str, kind: Trouble) -> None:
        """Dead, of one of ``DEATHS``, until ``revive`` or ``heal``."""
        death = DEATHS[kind]
        await death.strike(self._cluster.zones[zone])
        self._ends[zone_key(zone)] = lambda: self._restart(zone, death.comes_back)

    async def revive(self, zone: str) -> None:
        await self._end(zone_key(zone))

    async def pause(self, zone: str, *, for_ms: int) -> None:
        await self._cluster.zones[zone].pause()
        self._hold(zone_key(zone), self._cluster.zones[zone].resume, for_ms)

    def cut(self, links: Iterable[tuple[str, str]], mode: Cut, *, for_ms: int) -> None:
        for pair in links:
            link = self._cluster.links[pair]
            link.cut(mode)
            self._hold(link_key(pair), _calling(link.mend), for_ms)

    def crash_coordinator(self, zone: str, *, for_ms: int) -> None:
        coordinator = self._cluster.coordinators[zone]
        coordinator.crash()
        self.cut(self._around(zone), Cut.DROP, for_ms=for_ms)
        self._hold(f"coordinator {zone}", _calling(coordinator.restart), for_ms)

    def slow(self, links: Iterable[tuple[str, str]], lag: Lag) -> None:
        """From now on; it is no fault that ends."""
        for pair in links:
            self._cluster.links[pair].set_lag(lag)

    async def heal(self) -> None:
        """End all of them. Zones that take a copy of another come back last, when there is one to copy from."""
        for name in sorted(self._ends, key=self._last_to_end):
            await self._end(name)

    def forget(self) -> None:
        """Leave everything as it is from now on."""
        self._ends.clear()

    def _around(self, zone: str) -> list[tuple[str, str]]:
        return [pair for pair in self._cluster.links if zone in pair]

    def _last_to_end(self, name: str) -> bool:
        return name.startswith("zone ") and self._cluster.zones[name.removeprefix("zone ")].state is ZoneState.DEAD

    def _hold(self, name: str, end: End, for_ms: int) -> None:
        self._ends[name] = end
        runtime = self._cluster.runtime
        runtime.call_later(for_ms * _NS_PER_MS, lambda: self._expire(name, end))

    def _expire(self, name: str, end: End) -> None:
        if self._ends.get(name) is end:
            self._cluster.runtime.spawn(self._end(name), name=f"end {name}")

    async def _end(self, name: str) -> None:
        end = self._ends.pop(name, None)
        if end is not None:
            await end()

    async def _restart(self, zone: str, restart: Restart) -> None:
        source = self._running_besides(zone) if restart is Restart.WARM else None
        mode = Restart.KEEP if restart is Restart.WARM and source is None else restart
        await self._cluster.zones[zone].restart(mode, warm_from=source)

    def _running_besides(self, zone: str) -> Zone | None:
        others = (other for name, other in self._cluster.zones.items() if name != zone)
        return next((other for other in others if other.state is ZoneState.RUNNING), None)


def zone_key(zone: str) -> str:
    return f"zone {zone}"


def link_key(pair: tuple[str, str]) -> str:
    return f"link {pair[0]}>{pair[1]}"


def _calling(undo: Callable[[], None]) -> End:
    async def end() -> None:
        undo()

    return end
