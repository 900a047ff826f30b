"""Pops that wait: they hold no connection, are woken when a job becomes ready, and look by themselves now and then."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence

from zonelab.app.gmq_service.backend.jobs import Jobs
from zonelab.app.gmq_service.backend.pool import Slots
from zonelab.engine.gmq.jobs import Job

LOOK_S = 0.1
"""A job that another program made ready is found after this long."""

LOOKS_PER_S_MAX = 2_000
"""Looks of all waiting pops together; with many of them each looks less often."""


class Caller:
    """The caller of a request. ``gone`` once nobody will hear the answer."""

    def __init__(self) -> None:
        self.gone = False
        self._waits: dict[asyncio.Future[None], None] = {}

    def leave(self) -> None:
        """Mark the caller as gone, and wake all that wait for it."""
        self.gone = True
        for wait in list(self._waits):
            _wake(wait)

    def begin(self, wait: "asyncio.Future[None]") -> None:
        self._waits[wait] = None

    def end(self, wait: "asyncio.Future[None]") -> None:
        self._waits.pop(wait, None)


class Pops:
    """``held``: slots of a pool that a waiting pop takes one of, as in the original, where it holds a connection."""

    def __init__(self, jobs: Callable[[], Jobs], *, held: Slots | None, held_s: float) -> None:
        self._jobs = jobs
        self._held, self._held_s = held, held_s
        self._waiting: defaultdict[str, dict[asyncio.Future[None], None]] = defaultdict(dict)
        self._stopping = False
        self.waiting = 0

    def ready(self, topic: str) -> None:
        """One of those who wait for ``topic`` looks now."""
        queue = self._waiting.get(topic)
        while queue:
            wait = next(iter(queue))
            del queue[wait]
            if not wait.done():
                wait.set_result(None)
                return

    def stop(self) -> None:
        """Nobody waits any longer."""
        self._stopping = True
        for queue in self._waiting.values():
            for wait in list(queue):
                _wake(wait)

    async def pop(self, topics: Sequence[str], *, wait_s: float, caller: Caller) -> Job | None:
        """A job of the first of ``topics`` that has any, as soon as there is one; None after ``wait_s``."""
        if self._held is None:
            return await self._pop(topics, wait_s, caller)
        await self._held.take(wait_s=self._held_s)
        try:
            return await self._pop(topics, wait_s, caller)
        finally:
            self._held.give()

    async def _pop(self, topics: Sequence[str], wait_s: float, caller: Caller) -> Job | None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_s
        while not caller.gone:
            wait = self._begin(topics, caller)
            try:
                job = await self._jobs().pop(topics, lambda: not caller.gone)
                rest_s = deadline_s - loop.time()
                if job is not None or rest_s <= 0 or self._stopping or caller.gone:
                    return job
                timer = loop.call_later(min(self._look_s(), rest_s), _wake, wait)
                await wait
                timer.cancel()
            finally:
                self._end(topics, caller, wait)
        return None

    def _look_s(self) -> float:
        return max(LOOK_S, self.waiting / LOOKS_PER_S_MAX)

    def _begin(self, topics: Sequence[str], caller: Caller) -> "asyncio.Future[None]":
        """Before looking, so that no job becomes ready unheard in between."""
        wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for topic in topics:
            self._waiting[topic][wait] = None
        caller.begin(wait)
        self.waiting += 1
        return wait

    def _end(self, topics: Sequence[str], caller: Caller, wait: "asyncio.Future[None]") -> None:
        self.waiting -= 1
        caller.end(wait)
        for topic in topics:
            queue = self._waiting.get(topic)
            if queue is None:
                continue
            queue.pop(wait, None)
            if not queue:
                del self._waiting[topic]


def _wake(wait: "asyncio.Future[None]") -> None:
    if not wait.done():
        wait.set_result(None)
