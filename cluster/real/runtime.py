"""``Runtime`` on asyncio: the real arm's time, tasks and random streams."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Generic, TypeVar

from zonelab.cluster.random_streams import Streams
from zonelab.cluster.real.timers import PendingTimer, Timers
from zonelab.engine.ports import Promise

T = TypeVar("T")


class RealTask(Generic[T]):
    """``Task`` around an asyncio task."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self._task = task

    def cancel(self) -> None:
        self._task.cancel()

    def done(self) -> bool:
        return self._task.done()

    async def join(self) -> T:
        # Shielded: who stops waiting for a task does not thereby stop the task.
        return await asyncio.shield(self._task)


class _Promise(asyncio.Future[Any]):
    """A future that takes its result even when whoever awaited it alone has been cancelled."""

    def set_result(self, result: Any, /) -> None:
        if not self.cancelled():
            super().set_result(result)


class RealRuntime:
    """Run time begins when it is made, inside a running event loop. ``close`` cancels what was spawned and is left."""

    def __init__(self, *, seed: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._begin_ns = time.monotonic_ns()
        self._timers = Timers(self._loop)
        self._streams = Streams(seed)
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self.epoch_ns = time.time_ns()

    def now_ns(self) -> int:
        return time.monotonic_ns() - self._begin_ns

    async def sleep(self, duration_ns: int) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = self.call_later(duration_ns, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> PendingTimer:
        return self._timers.call_at(time.monotonic_ns() + delay_ns, callback)

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> RealTask[T]:
        task = self._loop.create_task(coroutine, name=name)
        self._tasks[task] = None
        task.add_done_callback(lambda ended: self._tasks.pop(ended, None))
        return RealTask(task)

    def promise(self) -> Promise[Any]:
        return _Promise(loop=self._loop)

    def random(self, user: str) -> Random:
        return self._streams.stream(user)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._timers.close()
