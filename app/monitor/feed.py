"""One reading a second for everybody who looks at a page, and none while nobody does."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

LOGGER = logging.getLogger("zonelab.monitor")

PERIOD_S = 1.0


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """A server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n".encode()


class Feed:
    """Reads by ``read`` each ``period_s`` while there are ``events`` that somebody waits for.

    Who is slow gets the newest reading when ready for it: nothing is kept for anybody.
    """

    def __init__(self, read: Callable[[], Awaitable[Mapping[str, Any]]], *, period_s: float = PERIOD_S) -> None:
        self._read = read
        self._period_s = period_s
        self._listeners = 0
        self.first_listener = asyncio.Event()
        """Set when somebody has begun to look."""
        self._reading: asyncio.Task[None] | None = None
        self._next: asyncio.Future[bytes] | None = None
        self._ended = False
        self._last: bytes | None = None

    @property
    def listeners(self) -> int:
        return self._listeners

    async def events(self) -> AsyncIterator[bytes]:
        """For ever; ends when the readings do."""
        self._listeners += 1
        self.first_listener.set()
        if self._reading is None or (self._reading.done() and not self._ended):
            self._reading = asyncio.create_task(self._go_on())
        try:
            while not (self._ended or self._reading.done()):
                if self._next is None:
                    self._next = asyncio.get_running_loop().create_future()
                upcoming = self._next
                both: set[asyncio.Future[Any]] = {upcoming, self._reading}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if upcoming.done():
                    yield upcoming.result()
            if self._last is not None:
                yield self._last
        finally:
            self._listeners -= 1
            if not self._listeners:
                self.close()

    def end(self, shown: Mapping[str, Any] | None = None) -> None:
        """Everybody's events end, also of those who come later; with ``shown``, by one that is called ``end``."""
        self._ended = True
        self._last = None if shown is None else event("end", shown)
        self.close()

    def close(self) -> None:
        """Everybody's events end."""
        if self._reading is not None:
            self._reading.cancel()

    async def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        next_s = loop.time()
        while True:
            try:
                message = event("reading", await self._read())
            except Exception:
                LOGGER.exception("what the live page shows could not be read")
                raise
            waited_for, self._next = self._next, None
            if waited_for is not None:
                waited_for.set_result(message)
            next_s = max(next_s + self._period_s, loop.time())
            await asyncio.sleep(next_s - loop.time())
