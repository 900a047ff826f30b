"""The tasks of one run and what stops them: Ctrl-C, or the first exception that nobody expected."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from zonelab.engine.ports import Promise, Runtime, Task

DISMISS_BOUND_S = 10.0
"""Longest time for cancelled tasks to end."""

_POLL_NS = 1_000_000
_QUIET_POLL_NS = 100_000_000
_QUIET_READINGS = 2


@asynccontextmanager
async def at_end(last: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Await ``last`` however the block ends, unless nobody carries the run on, as after Ctrl-C in a simulation.

    The coroutines of such a run are closed where they wait, and must not wait for anything more.
    """
    try:
        yield
    except GeneratorExit:
        raise
    except BaseException:
        await last()
        raise
    else:
        await last()


async def until_quiet(
    is_quiet: Callable[[], Awaitable[bool]],
    *,
    runtime: Runtime,
    deadline_ns: int,
    sleep: Callable[[int], Awaitable[bool | None]] | None = None,
) -> bool:
    """Ask until ``is_quiet`` holds twice in a row, and return whether it did before ``deadline_ns``.

    A single reading proves nothing: what goes from one place to another may be seen in neither. ``sleep`` returns True
    to give up, as ``Halt.sleep`` does; by default that of ``runtime``, which never does.
    """
    sleep = sleep or runtime.sleep
    quiet = 0
    while quiet < _QUIET_READINGS and runtime.now_ns() < deadline_ns:
        quiet = quiet + 1 if await is_quiet() else 0
        if await sleep(_QUIET_POLL_NS):
            break
    return quiet >= _QUIET_READINGS


class Halt:
    """The end of a run before its time. Once set it stays set; the first cause is the one that counts."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._sleepers: dict[int, Promise[None]] = {}
        self._next_sleeper = 0
        self.interrupted = False
        self.error: Exception | None = None

    @property
    def called(self) -> bool:
        return self.interrupted or self.error is not None

    def interrupt(self) -> None:
        self.interrupted = True
        self._wake_all()

    def fail(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        self._wake_all()

    async def sleep(self, duration_ns: int) -> bool:
        """Sleep, but no longer than until the halt. True if halted."""
        if self.called or duration_ns <= 0:
            return self.called
        key = self._next_sleeper
        self._next_sleeper += 1
        promise = self._sleepers[key] = self._runtime.promise()
        timer = self._runtime.call_later(duration_ns, lambda: self._wake(key))
        try:
            await promise
        finally:
            timer.cancel()
            self._sleepers.pop(key, None)
        return self.called

    def _wake(self, key: int) -> None:
        promise = self._sleepers.pop(key, None)
        if promise is not None and not promise.done():
            promise.set_result(None)

    def _wake_all(self) -> None:
        for key in list(self._sleepers):
            self._wake(key)


class TaskGroup:
    """Tasks that belong together. An exception in one of them halts the run."""

    def __init__(self, runtime: Runtime, halt: Halt) -> None:
        self._runtime = runtime
        self._halt = halt
        self._tasks: dict[int, tuple[Task[None], Coroutine[Any, Any, None]]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> None:
        key = self._next
        self._next += 1
        self._tasks[key] = self._runtime.spawn(self._guard(key, coroutine), name=name), coroutine

    async def wait(self, bound_s: float) -> bool:
        """Wait until every task has ended. False if some had not at the bound."""
        deadline_ns = self._runtime.now_ns() + round(bound_s * 1e9)
        while (left := next((task for task, _ in self._tasks.values() if not task.done()), None)) is not None:
            while not left.done():  # this one alone is asked every ms
                if self._runtime.now_ns() >= deadline_ns:
                    return False
                await self._runtime.sleep(_POLL_NS)
        return True

    async def dismiss(self) -> None:
        """Cancel what is left and wait for its end."""
        for task, _ in list(self._tasks.values()):
            task.cancel()
        await self.wait(DISMISS_BOUND_S)
        for task, coroutine in self._tasks.values():
            if task.done():
                coroutine.close()  # cancelled before its first step, it would complain that nobody awaited it
        self._tasks.clear()

    async def _guard(self, key: int, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            await coroutine
        except Exception as error:  # whatever it is, it must end the run and be reported, not vanish with its task
            self._halt.fail(error)
        finally:
            self._tasks.pop(key, None)
