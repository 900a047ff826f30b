"""A simulated zone: the verbs that break and mend a simulated server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.server import ServerSettings, SimServer
from zonelab.cluster.zone import Address, Persistence, Restart, Zone, ZoneError, ZoneState, keeps_no_files
from zonelab.engine.common.mutex import Mutex

_PORT = 6379


class SimZone:
    """Implements ``Zone``, ``FillsDisk`` and ``LosesPower`` of ``zonelab.cluster.zone``.

    Verbs of one zone are carried out one at a time, as on real servers. ``clock`` is the server's clock.
    """

    def __init__(self, name: str, *, runtime: SimRuntime, clock: NodeClock, settings: ServerSettings) -> None:
        self.name = name
        self.clock = clock
        self.server = SimServer(
            name, runtime=runtime, clock=clock, settings=settings, random=runtime.random(f"server {name}")
        )
        self._runtime = runtime
        self._start_ns = settings.start_ns
        self._state = ZoneState.STOPPED
        self._verbs = Mutex(runtime)

    @property
    def state(self) -> ZoneState:
        if self._state in (ZoneState.RUNNING, ZoneState.PAUSED) and not self.server.listening:
            self._state = ZoneState.DEAD
        return self._state

    @property
    def address(self) -> Address:
        return Address(f"{self.name}.simulated", _PORT)

    @property
    def persistence(self) -> Persistence:
        return self.server.settings.persistence

    async def start(self) -> None:
        async with self._verb("start", ZoneState.STOPPED):
            await self._runtime.sleep(self._start_ns)
            self.server.boot()
            self._state = ZoneState.RUNNING

    async def stop(self) -> None:
        async with self._verbs:
            if self.server.listening:
                self.server.kill()
            self.server.disk.wipe()
            self._state = ZoneState.STOPPED

    async def kill(self) -> None:
        async with self._verb("kill", ZoneState.RUNNING, ZoneState.PAUSED):
            self.server.kill()
            self._state = ZoneState.DEAD

    async def fail_power(self, *, torn: bool = False) -> None:
        async with self._verb("fail the power", ZoneState.RUNNING, ZoneState.PAUSED):
            self.server.fail_power(torn=torn)
            self._state = ZoneState.DEAD

    async def pause(self) -> None:
        async with self._verb("pause", ZoneState.RUNNING):
            self.server.pause()
            self._state = ZoneState.PAUSED

    async def resume(self) -> None:
        async with self._verb("resume", ZoneState.PAUSED):
            self._state = ZoneState.RUNNING
            self.server.resume()

    async def fill_memory(self) -> None:
        async with self._verb("fill the memory", ZoneState.RUNNING):
            self.server.limit_memory(full=True)

    async def free_memory(self) -> None:
        async with self._verb("free the memory", ZoneState.RUNNING):
            self.server.limit_memory(full=False)

    async def fill_disk(self) -> None:
        async with self._verb("fill the disk", ZoneState.RUNNING):
            if self.persistence is Persistence.NONE:
                raise ZoneError(keeps_no_files(self.name))
            self.server.disk.fill()

    async def free_disk(self) -> None:
        async with self._verb("free the disk", ZoneState.RUNNING, ZoneState.DEAD):
            self.server.disk.free()

    async def restart(self, mode: Restart, *, warm_from: Zone | None = None) -> None:
        async with self._verb("restart", ZoneState.DEAD):
            source = self._warm_source(mode, warm_from)
            if mode is not Restart.KEEP:
                self.server.disk.wipe()
            await self._runtime.sleep(self._start_ns)
            if source is not None and source.state is not ZoneState.RUNNING:
                raise ZoneError(f"zone {self.name}: warm copy from zone {source.name} failed: it is {source.state}")
            self.server.boot(copy=None if source is None else source.server.snapshot())
            self._state = ZoneState.RUNNING

    async def slow_down(self, factor: float) -> None:
        if not factor >= 1:
            raise ZoneError(f"zone {self.name}: a slow-down must be at least 1, got {factor}")
        self.server.slowdown = factor
        self._runtime.note(self.name, f"slow down {factor}")

    @asynccontextmanager
    async def _verb(self, verb: str, *states: ZoneState) -> AsyncIterator[None]:
        async with self._verbs:
            if self.state not in states:
                accepted = " or ".join(states)
                raise ZoneError(f"zone {self.name}: cannot {verb} while {self.state}; it must be {accepted}")
            self._runtime.note(self.name, verb)
            yield

    def _warm_source(self, mode: Restart, warm_from: Zone | None) -> "SimZone | None":
        if mode is not Restart.WARM:
            if warm_from is not None:
                raise ZoneError(f"zone {self.name}: restart {mode} takes no zone to copy from, got {warm_from.name}")
            return None
        if not isinstance(warm_from, SimZone) or warm_from is self:
            got = "none" if warm_from is None else f"{warm_from.name} ({type(warm_from).__name__})"
            raise ZoneError(f"zone {self.name}: restart warm needs another SimZone to copy from, got {got}")
        if warm_from.state is not ZoneState.RUNNING:
            raise ZoneError(
                f"zone {self.name}: cannot restart warm from zone {warm_from.name} while it is {warm_from.state}"
            )
        return warm_from
