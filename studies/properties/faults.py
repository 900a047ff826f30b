"""Faults of a state machine: the kinds of a scenario, begun by a step, ended by time or by a later step."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from zonelab.cluster.links.lag import Lag
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.zone import Restart, ZoneState
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.faults.fault import Fault, Stage
from zonelab.scenarios.faults.links import CutFault, CutMode
from zonelab.scenarios.faults.programs import CoordinatorCrash
from zonelab.scenarios.faults.zones import Kill, Pause, PowerFailure, ServerDeath, Wipe
from zonelab.scenarios.spec.scenario import Load, Scenario
from zonelab.scenarios.spec.topology import TopologySection

End = Callable[[], Awaitable[None]]


class Trouble(StrEnum):
    """Trouble that a state machine may cause to the programs and the cluster."""

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


@dataclass(frozen=True, eq=False)
class _InForce:
    fault: Fault
    end: End
    holds: frozenset[str]


class Troubles:
    """The faults in force in one cluster, by what they hold; nothing is held by two."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._targets = Scenario(
            name="machine", topology=TopologySection(zones=tuple(cluster.zones)), load=Load(duration_s=1, rate_per_s=0)
        )
        self._stage = Stage(targets=self._targets, testbed=cluster)
        self._held: dict[str, _InForce] = {}

    def __len__(self) -> int:
        return len(self._held)

    def free_zones(self) -> list[str]:
        return [name for name in self._cluster.zones if self._free(_pause(name))]

    def dead_zones(self) -> list[str]:
        return [name for name, zone in self._cluster.zones.items() if zone.state is ZoneState.DEAD]

    def free_links(self) -> list[tuple[str, str]]:
        return [pair for pair in self._cluster.links if self._free(_cut(pair, CutMode.DROP))]

    def free_coordinators(self) -> list[str]:
        """Zones whose coordinator runs and whose links are whole."""
        return [name for name in self._cluster.zones if self._free(_crash(name))]

    async def kill(self, zone: str, kind: Trouble) -> None:
        """Dead, of one of ``DEATHS``, until ``revive`` or ``heal``."""
        death = DEATHS[kind].model_copy(update={"zone": zone})
        await self._begin(death, end=lambda: self._possible(death).action(self._stage).end())

    async def revive(self, zone: str) -> None:
        for name in _pause(zone).holds(self._targets):
            await self._end(name)

    async def pause(self, zone: str, *, for_ms: int) -> None:
        await self._begin(_pause(zone), for_ms=for_ms)

    async def cut(self, links: Iterable[tuple[str, str]], mode: CutMode, *, for_ms: int) -> None:
        for pair in links:
            await self._begin(_cut(pair, mode), for_ms=for_ms)

    async def crash_coordinator(self, zone: str, *, for_ms: int) -> None:
        await self._begin(_crash(zone), for_ms=for_ms)

    def slow(self, links: Iterable[tuple[str, str]], lag: Lag) -> None:
        """From now on; it is no fault that ends."""
        for pair in links:
            self._cluster.links[pair].set_lag(lag)

    async def heal(self) -> None:
        """End all of them. Zones that take a copy of another come back last, when there is one to copy from."""
        dead = self.dead_zones()
        for name in sorted(self._held, key=lambda name: self._held[name].fault.target in dead):
            await self._end(name)

    def forget(self) -> None:
        """Leave everything as it is from now on."""
        self._held.clear()

    def _free(self, fault: Fault) -> bool:
        return self._held.keys().isdisjoint(fault.holds(self._targets))

    async def _begin(self, fault: Fault, *, end: End | None = None, for_ms: int | None = None) -> None:
        action = fault.action(self._stage)
        await action.begin()
        begun = _InForce(fault, end or action.end, frozenset(fault.holds(self._targets)))
        self._held |= dict.fromkeys(sorted(begun.holds), begun)
        if for_ms is not None:
            self._cluster.runtime.call_later(for_ms * NS_PER_MS, lambda: self._expire(begun))

    def _expire(self, fault: _InForce) -> None:
        name = min(fault.holds)
        if self._held.get(name) is fault:
            self._cluster.runtime.spawn(self._end(name), name=f"end {name}")

    async def _end(self, name: str) -> None:
        fault = self._held.get(name)
        if fault is not None:
            for held in fault.holds:
                del self._held[held]
            await fault.end()

    def _possible(self, death: ServerDeath) -> ServerDeath:
        """With its own files if there is no other zone to copy from."""
        others = (zone for name, zone in self._cluster.zones.items() if name != death.zone)
        if death.comes_back is not Restart.WARM or any(zone.state is ZoneState.RUNNING for zone in others):
            return death
        return death.model_copy(update={"restart": "keep"})


def _pause(zone: str) -> Pause:
    return Pause.model_construct(kind="pause", zone=zone)


def _cut(pair: tuple[str, str], mode: CutMode) -> CutFault:
    return CutFault.model_construct(kind="cut", one_way=">".join(pair), mode=mode)


def _crash(zone: str) -> CoordinatorCrash:
    return CoordinatorCrash.model_construct(kind="coordinator_crash", zone=zone)
