"""Several zones as one: started together, and all gone at the end, however it ends."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.signals import termination_interrupts
from zonelab.cluster.real.zones.waiting import to_completion
from zonelab.cluster.zone import ZoneError


class ZoneSet:
    """An asynchronous context manager: starts all zones concurrently on entry, stops them all on exit.

    If one fails to start, those that did start are stopped and its ``ZoneError`` is raised. Before it starts
    anything it removes what dead labs left behind. Ctrl-C, SIGTERM and SIGHUP inside the block leave nothing behind.
    """

    def __init__(self, zones: Sequence[RealZone]) -> None:
        self._zones = {zone.name: zone for zone in zones}
        if len(self._zones) != len(zones) or not zones:
            names = ", ".join(zone.name for zone in zones) or "none"
            raise ZoneError(f"got zone names {names}; accepted: one or more, all different")
        self._exit = contextlib.ExitStack()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._zones)

    def __getitem__(self, name: str) -> RealZone:
        try:
            return self._zones[name]
        except KeyError:
            raise ZoneError(f"no zone {name!r}; there are: {', '.join(self._zones)}") from None

    def __iter__(self) -> Iterator[RealZone]:
        return iter(self._zones.values())

    def __len__(self) -> int:
        return len(self._zones)

    async def __aenter__(self) -> Self:
        self._exit.enter_context(termination_interrupts())
        try:
            for kind in dict.fromkeys(type(zone) for zone in self):
                await kind.remove_stale()
            await self._start_all()
        except BaseException:
            await self._leave(suppress_errors=True)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._leave(suppress_errors=error is not None)

    async def _start_all(self) -> None:
        starts = [asyncio.ensure_future(zone.start()) for zone in self]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            for start in starts:
                start.cancel()
            await to_completion(asyncio.wait(starts))
            raise

    async def _leave(self, *, suppress_errors: bool) -> None:
        with self._exit:
            errors = await to_completion(self._stop_all())
        if errors and not suppress_errors:
            raise errors[0]

    async def _stop_all(self) -> list[BaseException]:
        """Stop every zone, also when stopping another one fails; return the failures."""
        outcomes = await asyncio.gather(*(zone.stop() for zone in self), return_exceptions=True)
        return [outcome for outcome in outcomes if outcome is not None]
