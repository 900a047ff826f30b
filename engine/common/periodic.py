"""Work that is repeated at a fixed rate while a queue object is open, whatever befalls a single run."""

from collections.abc import Awaitable, Callable

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.ports import Runtime, Task
from zonelab.engine.units import NS_PER_MS


class Periodic:
    """Runs ``action`` every ``interval_ms``. Runs that are overdue because one took long are skipped, not caught up.

    The first run comes after an interval; with ``spread`` after a drawn part of it, so that programs which start
    together do not run together. A run that fails is counted in ``failures`` and kept in ``last_error``, and the next
    one comes at its time; if it ``dies_on_error``, as in the original's pipelined queue, none comes any more
    (https://github.com/Netflix/dyno-queues/issues/85).
    """

    def __init__(
        self,
        action: Callable[[], Awaitable[object]],
        *,
        interval_ms: int,
        runtime: Runtime,
        name: str,
        spread: bool = False,
        dies_on_error: bool = False,
    ) -> None:
        self._action = action
        self._interval_ns = interval_ms * NS_PER_MS
        self._runtime = runtime
        self._name = name
        self._spread = spread
        self._dies_on_error = dies_on_error
        self._task: Task[None] | None = None
        self.runs = 0
        self.failures = 0
        self.last_error: Exception | None = None

    def start(self) -> None:
        if self._task is not None:
            raise RuntimeError(f"{self._name!r} is already running")
        self._task = self._runtime.spawn(self._loop(), name=self._name)

    async def close(self) -> None:
        """Stop. A run cut in the middle leaves what a crash would: the next one mends it."""
        task, self._task = self._task, None
        if task is not None and task.done():
            await task.join()
        elif task is not None:
            task.cancel()

    async def _loop(self) -> None:
        runtime, interval_ns = self._runtime, self._interval_ns
        due_ns = runtime.now_ns() + self._first_ns()
        while True:
            await runtime.sleep(max(0, due_ns - runtime.now_ns()))
            if not await self._run() and self._dies_on_error:
                return
            overdue = max(0, runtime.now_ns() - due_ns) // interval_ns
            due_ns += (overdue + 1) * interval_ns

    def _first_ns(self) -> int:
        return 1 + self._runtime.random(self._name).randrange(self._interval_ns) if self._spread else self._interval_ns

    async def _run(self) -> bool:
        self.runs += 1
        try:
            await self._action()
        except COMMAND_FAILURES as error:
            self.failures += 1
            self.last_error = error
            return False
        return True
