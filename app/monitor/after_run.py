"""The last part of a run's page: what was read last, while the run is checked, and then the verdict."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from socket import socket
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware

from zonelab.app.monitor.app import OPEN_PATHS, not_accepted, page_routes
from zonelab.app.monitor.feed import Feed
from zonelab.cluster.admin.guard import Guard
from zonelab.cluster.admin.serving import Bounds, serving_at
from zonelab.scenarios.errors import NotAccepted

OVER = "The run is over; its verdict is being worked out."
COMES_BACK_S = 5.0
"""Pages whose connection ended with the run's event loop come back after a second; so long they are waited for."""
TAKES_S = 10
"""Seconds that whoever looks may take to read the verdict, report included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """Last message to a run's page: the verdict in one ``word`` and in ``sentences``, and the report.

    ``report`` is its path, ``html`` the report itself, which the page keeps, as nobody serves it any more.
    """

    word: str
    sentences: Sequence[str] = ()
    report: str | None = None
    html: str | None = None


NOT_JUDGED = Ending(word="not judged", sentences=("What kept the run from its verdict is said where it was started.",))


class AfterRun:
    """Serves the page at ``listener``, in a thread of its own, from its making to ``end``.

    ``hello`` and ``last`` are what the page showed before; ``looked`` whether somebody was looking then.
    """

    def __init__(
        self, listener: socket, *, token: str, hello: Mapping[str, Any], last: Mapping[str, Any], looked: bool
    ) -> None:
        self._listener, self._token = listener, token
        self._hello, self._last, self._looked = dict(hello), last, looked
        self.phase = "check"
        self._loop = asyncio.new_event_loop()
        self._told: asyncio.Future[Ending] = self._loop.create_future()
        self._thread = threading.Thread(target=self._serve, name="live page")
        self._thread.start()

    def end(self, ending: Ending) -> None:
        """Tell everybody who looks, and end. Blocks until they have it, for 15 s at most."""
        self._loop.call_soon_threadsafe(self._told.set_result, ending)
        self._thread.join()
        self._loop.close()

    @property
    def queues(self) -> "AfterRun":
        return self

    async def find(self, name: str, engine: str, message_id: str, /) -> list[dict[str, Any]]:
        raise NotAccepted("the run is over: zonelab lens shows what became of a message")

    def hello(self) -> dict[str, Any]:
        return self._hello

    async def read(self) -> dict[str, Any]:
        now_ms = time.time_ns() // 1_000_000
        so_far = {**self._last.get("run", {}), "phase": self.phase}
        return {**self._last, "now_ms": now_ms, "over": OVER, "run": so_far}

    def _serve(self) -> None:
        self._loop.run_until_complete(self._until_told())

    async def _until_told(self) -> None:
        feed = Feed(self.read)
        guard = Middleware(Guard, token=self._token, reading_needs_token=True, open_to_all=OPEN_PATHS)
        app = Starlette(
            routes=page_routes(self, feed), middleware=[guard], exception_handlers={NotAccepted: not_accepted}
        )
        async with serving_at(app, self._listener, bounds=Bounds(token=self._token, finish_s=TAKES_S)):
            ending = await self._told
            if self._looked:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(feed.first_listener.wait(), COMES_BACK_S)
            feed.end(asdict(ending))
            await asyncio.sleep(0)
