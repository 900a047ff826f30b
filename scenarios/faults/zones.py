"""Faults of a zone's server: it dies, loses its power, stands still, becomes slow, has no memory or no disk left."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from zonelab.cluster.fields import Flag, Problem
from zonelab.cluster.zone import FillsDisk, LosesPower, Restart, Zone, ZoneError, ZoneState
from zonelab.scenarios.faults.fault import Action, Changes, Choices, ClusterPart, OfZone, Stage, Targets, WarmSource

_FACTOR_LEAST = 4.0


class OfServer(OfZone):
    """A fault of the server itself."""

    part: ClassVar[ClusterPart | None] = ClusterPart.SERVER
    stops_server = True

    def holds(self, targets: Targets) -> set[str]:
        return {f"zone {self.zone}"}

    @abstractmethod
    async def strike(self, zone: Zone) -> None: ...

    @abstractmethod
    async def relieve(self, zone: Zone, source: WarmSource) -> None: ...

    def action(self, stage: Stage) -> Action:
        zone = stage.testbed.zones[self.zone]
        return Action(partial(self.strike, zone), partial(self.relieve, zone, partial(self._source, stage)))

    def _source(self, stage: Stage) -> Zone:
        for name, zone in stage.testbed.zones.items():
            if name != self.zone and zone.state is ZoneState.RUNNING:
                return zone
        raise ZoneError(f"zone {self.zone}: no running zone to copy the data from")


class ServerDeath(OfServer):
    """The server dies; it comes back with its own files, without them, or with a copy of a live zone's data."""

    leaves = ZoneState.DEAD

    @property
    def comes_back(self) -> Restart:
        raise NotImplementedError

    async def strike(self, zone: Zone) -> None:
        await zone.kill()

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await zone.restart(self.comes_back, warm_from=source() if self.comes_back is Restart.WARM else None)

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        if self.comes_back is Restart.WARM:
            if len(targets.zones) == 1:
                yield Problem.of(f"{path}.restart", "warm", "keep, as there is no other zone to copy from")
            elif targets.servers != targets.zones:
                yield Problem.of(f"{path}.restart", "warm", "keep, as no other server holds the same keys")


class Kill(ServerDeath):
    """Kill a zone's server (SIGKILL), which comes back with its data by default when the fault ends."""

    colour = "#d62728"
    harm = 10

    kind: Literal["kill"]
    zone: str
    restart: Literal["keep", "warm"] = "keep"
    """Comes back with its own files, or with a copy of a live zone's data."""

    @property
    def comes_back(self) -> Restart:
        return Restart(self.restart)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"restart": restarts(targets)}


class Wipe(ServerDeath):
    """Kill a zone's server (SIGKILL), which comes back without data when the fault ends."""

    colour = "#8b0000"
    harm = 12

    kind: Literal["wipe"]
    zone: str

    @property
    def comes_back(self) -> Restart:
        return Restart.WIPE


class PowerFailure(ServerDeath):
    """The machine of a zone's server loses its power, and the file what was not flushed; in simulation only."""

    colour = "#e377c2"
    harm = 11
    part = None
    not_up = "only a simulated machine can lose its power"
    simulated_only = True

    kind: Literal["power_failure"]
    zone: str
    torn: Flag = False
    """The file ends at a random byte of what was not flushed, instead of before all of it."""
    restart: Literal["keep", "warm"] = "keep"

    @property
    def comes_back(self) -> Restart:
        return Restart(self.restart)

    async def strike(self, zone: Zone) -> None:
        await self._machine(zone).fail_power(torn=self.torn)

    def action(self, stage: Stage) -> Action:
        self._machine(stage.testbed.zones[self.zone])
        return super().action(stage)

    def _machine(self, zone: Zone) -> LosesPower:
        if not isinstance(zone, LosesPower):
            raise ZoneError(f"zone {zone.name}: {self.kind} is possible in simulation only")
        return zone

    def _extent(self, part: float, random: Random) -> Changes:
        return {"torn": random.random() < 0.5}

    def milder(self) -> Iterator[Changes]:
        if self.torn:
            yield {"torn": False}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"restart": restarts(targets), "torn": (False, True)}


class Pause(OfServer):
    """Freeze a zone's server (SIGSTOP): it keeps its connections and answers nobody."""

    colour = "#ff7f0e"
    harm = 6
    leaves = ZoneState.PAUSED

    kind: Literal["pause"]
    zone: str

    async def strike(self, zone: Zone) -> None:
        await zone.pause()

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await zone.resume()


class Memory(OfServer):
    """Make a zone's server refuse commands that need more memory (OOM); it executes all others."""

    colour = "#393b79"
    harm = 5
    stops_server = False

    kind: Literal["memory"]
    zone: str

    async def strike(self, zone: Zone) -> None:
        await zone.fill_memory()

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await zone.free_memory()


class DiskFull(OfServer):
    """Fill the disk of a zone's server: it refuses writes (MISCONF) once it has not kept one, or ends (AOF always)."""

    colour = "#6b4c9a"
    harm = 5
    of_files = True

    kind: Literal["disk_full"]
    zone: str

    async def strike(self, zone: Zone) -> None:
        await self._disk_of(zone).fill_disk()

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await self._disk_of(zone).free_disk()
        if zone.state is ZoneState.DEAD:
            await zone.restart(Restart.KEEP)

    def action(self, stage: Stage) -> Action:
        self._disk_of(stage.testbed.zones[self.zone])
        return super().action(stage)

    def _disk_of(self, zone: Zone) -> FillsDisk:
        if not isinstance(zone, FillsDisk):
            raise ZoneError(f"zone {zone.name}: {self.kind} is possible in simulation and on process zones only")
        return zone


class SlowZone(OfServer):
    """Make a zone's server slow: a real one runs for only a part of every 100 ms (SIGSTOP, SIGCONT)."""

    amount_field = "factor"
    colour = "#ffbb78"
    harm = 3
    outlives_server = True
    stops_server = False
    same_in_both_arms = False

    kind: Literal["slow"]
    zone: str
    factor: Annotated[float, Field(strict=True, gt=1, allow_inf_nan=False)] = 100.0
    """With 4 it has a quarter of its speed: a real server runs for 25 ms of every 100 ms."""

    @property
    def amount(self) -> str:
        return f"x{self.factor:g}"

    def holds(self, targets: Targets) -> set[str]:
        return {f"speed of {self.zone}"}

    async def strike(self, zone: Zone) -> None:
        await zone.slow_down(self.factor)

    async def relieve(self, zone: Zone, source: WarmSource) -> None:
        await zone.slow_down(1)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"factor": 1 + (self.factor - 1) * part}

    def milder(self) -> Iterator[Changes]:
        if self.factor > _FACTOR_LEAST:
            yield {"factor": float(self.factor // 2)}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"factor": (2.0, 10.0, 100.0, 1000.0)}


def restarts(targets: Targets) -> Choices:
    """Return the data with which a server may come back."""
    return ("keep", "warm") if len(targets.zones) > 1 else ("keep",)
