"""The verbs of a zone, which state allows which, and what happens when one fails; how is for the subclasses."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from redis.exceptions import RedisError

from zonelab.cluster.real.zones import admin
from zonelab.cluster.real.zones.port import HOST, PortReservation
from zonelab.cluster.real.zones.settings import ZoneSettings, checked_name
from zonelab.cluster.real.zones.waiting import to_completion
from zonelab.cluster.real.zones.warm import WarmCopy
from zonelab.cluster.zone import Address, Persistence, Restart, Zone, ZoneError, ZoneState

_LOG_LINES = 5

_SLOW_PERIOD_S = 0.1
"""Period of a slowed server, that of the kernel's quota of processor time (CFS bandwidth control)."""

_RUN_LEAST_S = 0.001
"""Timers are no finer: a server that is very slow has longer periods."""


class RealZone(ABC):
    """A zone on a real server. Implements ``zonelab.cluster.zone.Zone``; verbs of one zone are carried out one at a
    time.

    A server that dies by itself is noticed: ``state`` says DEAD then, as after ``kill``. A failed or cancelled
    ``start`` leaves nothing behind, a failed ``restart`` leaves the zone DEAD.
    """

    def __init__(self, name: str, settings: ZoneSettings) -> None:
        self._name = checked_name(name)
        self._base_settings = settings
        self._state = ZoneState.STOPPED
        self._verbs = asyncio.Lock()
        self._reservation: PortReservation | None = None
        self._address: Address | None = None
        self._turns: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def persistence(self) -> Persistence:
        return self._base_settings.persistence

    @property
    def state(self) -> ZoneState:
        if self._state in (ZoneState.RUNNING, ZoneState.PAUSED) and self._has_exited():
            self._state = ZoneState.DEAD
        return self._state

    @property
    def address(self) -> Address:
        """Return where clients reach the server. Raises ``ZoneError`` before the first start."""
        if self._address is None:
            raise ZoneError(f"zone {self._name} has no address before its first start")
        return self._address

    @property
    def socket(self) -> str | None:
        """A file at which programs on this machine reach the server, too, unless it was restarted as a copy."""
        return None

    async def start(self) -> None:
        async with self._allowed("start", ZoneState.STOPPED):
            try:
                await self._create()
                await self._until_ready(await self._launch(private=False))
            except BaseException:
                await to_completion(self._remove())
                raise
            self._state = ZoneState.RUNNING

    async def stop(self) -> None:
        with contextlib.suppress(ZoneError):  # it goes, whatever its turns have met
            await self.slow_down(1)
        await to_completion(self._stop())

    async def kill(self) -> None:
        async with self._allowed("kill", ZoneState.RUNNING, ZoneState.PAUSED):
            await to_completion(self._change(ZoneState.DEAD))

    async def pause(self) -> None:
        async with self._allowed("pause", ZoneState.RUNNING):
            await to_completion(self._change(ZoneState.PAUSED))

    async def resume(self) -> None:
        async with self._allowed("resume", ZoneState.PAUSED):
            await to_completion(self._change(ZoneState.RUNNING))

    async def fill_memory(self) -> None:
        async with self._allowed("fill the memory", ZoneState.RUNNING):
            await self._limit_memory(1)

    async def free_memory(self) -> None:
        async with self._allowed("free the memory", ZoneState.RUNNING):
            await self._limit_memory(0)

    @property
    def slowed(self) -> bool:
        """True while the server runs and stands still in turns."""
        return self._turns is not None and not self._turns.done()

    async def slow_down(self, factor: float) -> None:
        """Raises ``ZoneError`` also if the server could not be stopped or woken since it was slowed down."""
        if not factor >= 1:
            raise ZoneError(f"zone {self._name}: a slow-down must be at least 1, got {factor}")
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await turns
        if factor > 1:
            self._turns = asyncio.create_task(self._take_turns(factor))

    async def restart(self, mode: Restart, *, warm_from: Zone | None = None) -> None:
        async with self._allowed("restart", ZoneState.DEAD):
            source = self._warm_source(mode, warm_from)
            try:
                if mode is not Restart.KEEP:
                    await self._wipe()
                launched = await self._launch(private=source is not None)
                await self._until_ready(launched)
                if source is not None:
                    await self._copy(source, target=launched)
                    await self._until_ready(self.address)
            except BaseException:
                await to_completion(self._terminate())
                raise
            self._state = ZoneState.RUNNING

    async def server_version(self) -> str:
        """Product and version of the running server, for example ``valkey 9.1.2``."""
        self._require("ask for the version", ZoneState.RUNNING)
        return await admin.server_version(self.address)

    async def _take_turns(self, factor: float) -> None:
        """Stand still and run; other verbs have their turn while the server runs."""
        period_s = max(_SLOW_PERIOD_S, _RUN_LEAST_S * factor)
        while True:
            async with self._verbs:
                if self.state is ZoneState.RUNNING:
                    await self._stand_still(period_s - period_s / factor)
            await asyncio.sleep(period_s / factor)

    async def _stand_still(self, for_s: float) -> None:
        try:
            try:
                await to_completion(self._freeze())
                await asyncio.sleep(for_s)
            except asyncio.CancelledError:
                await to_completion(self._thaw())
                raise
            await to_completion(self._thaw())
        except ZoneError:
            if self.state is ZoneState.RUNNING:  # it has not died
                raise

    async def _limit_memory(self, limit_bytes: int) -> None:
        """The setting is gone when the server ends."""
        try:
            async with admin.admin_client(self.address) as client:
                await admin.execute(client, "CONFIG", "SET", "maxmemory", limit_bytes)
        except (OSError, RedisError) as error:
            raise ZoneError(f"zone {self.name}: its memory cannot be limited: {error}") from error

    @abstractmethod
    def remove_now(self) -> None:
        """Stop, blocking and without an event loop: the last resort when the interpreter exits."""

    @classmethod
    @abstractmethod
    async def remove_stale(cls) -> list[str]:
        """Remove what labs that no longer live left behind, and name it."""

    @abstractmethod
    async def _create(self) -> None:
        """Reserve the address and make the place for the data."""

    @abstractmethod
    async def _launch(self, *, private: bool) -> Address:
        """Begin to run the server; return where it will answer: not at the zone's address if ``private``."""

    @abstractmethod
    async def _terminate(self) -> None:
        """SIGKILL the server if it runs, and wait for its end."""

    @abstractmethod
    async def _freeze(self) -> None: ...

    @abstractmethod
    async def _thaw(self) -> None: ...

    @abstractmethod
    async def _wipe(self) -> None:
        """Replace the data of a dead server by none."""

    @abstractmethod
    async def _remove(self) -> None:
        """Terminate, and remove all that exists of the zone. Must work in every state, also half-created."""

    @abstractmethod
    def _has_exited(self) -> bool: ...

    @abstractmethod
    async def _log_tail(self, lines: int) -> list[str]: ...

    @abstractmethod
    def _serving_port(self) -> int:
        """The port on which the server itself must listen to be reached at ``address``."""

    @abstractmethod
    async def _replication_address(self) -> Address:
        """Return where the server of another zone of the same kind reaches this one."""

    def _reserve_address(self) -> None:
        # The second start uses the port of the first: a zone's address is for life.
        self._reservation = PortReservation(self._address.port if self._address else self._base_settings.port)
        self._address = Address(HOST, self._reservation.port)

    def _release_port(self) -> None:
        if self._reservation is not None:
            self._reservation.release()
            self._reservation = None

    async def _stop(self) -> None:
        async with self._verbs:
            if self._state is not ZoneState.STOPPED:
                await self._remove()
                self._state = ZoneState.STOPPED

    async def _change(self, target: ZoneState) -> None:
        action = {
            ZoneState.DEAD: self._terminate,
            ZoneState.PAUSED: self._freeze,
            ZoneState.RUNNING: self._thaw,
        }[target]
        await action()
        self._state = target

    @contextlib.asynccontextmanager
    async def _allowed(self, verb: str, *states: ZoneState) -> AsyncIterator[None]:
        async with self._verbs:
            self._require(verb, *states)
            yield

    def _require(self, verb: str, *states: ZoneState) -> None:
        if self.state not in states:
            accepted = " or ".join(states)
            raise ZoneError(f"zone {self._name}: cannot {verb} while {self.state}; it must be {accepted}")

    def _warm_source(self, mode: Restart, warm_from: Zone | None) -> "RealZone | None":
        if mode is not Restart.WARM:
            if warm_from is not None:
                raise ZoneError(f"zone {self._name}: restart {mode} takes no zone to copy from, got {warm_from.name}")
            return None
        if not isinstance(warm_from, RealZone) or type(warm_from) is not type(self) or warm_from is self:
            got = "none" if warm_from is None else f"{warm_from.name} ({type(warm_from).__name__})"
            raise ZoneError(
                f"zone {self._name}: restart warm needs another {type(self).__name__} to copy from, got {got}"
            )
        if warm_from.state is not ZoneState.RUNNING:
            raise ZoneError(
                f"zone {self._name}: cannot restart warm from zone {warm_from.name} while it is {warm_from.state}"
            )
        return warm_from

    async def _copy(self, source: "RealZone", *, target: Address) -> None:
        copy = WarmCopy(
            source_name=source.name,
            source=source.address,
            source_for_target=await source._replication_address(),
            target_name=self._name,
            target=target,
            serving_port=self._serving_port(),
            snapshot=self.persistence is Persistence.RDB,
        )
        await copy.run(timeout_s=self._base_settings.warm_timeout_s)

    async def _until_ready(self, address: Address) -> None:
        timeout_s = self._base_settings.start_timeout_s
        deadline = asyncio.get_running_loop().time() + timeout_s
        while not await admin.answers(address):
            if self._has_exited():
                raise ZoneError(f"zone {self._name}: the server ended while it started: {await self._log()}")
            if asyncio.get_running_loop().time() > deadline:
                late = f"zone {self._name}: the server did not answer PING at {address} in {timeout_s:g} s"
                raise ZoneError(f"{late}: {await self._log()}")
            await admin.poll()

    async def _log(self) -> str:
        lines = [line.strip() for line in await self._log_tail(_LOG_LINES)]
        return " | ".join(line for line in lines if line) or "it logged nothing"
