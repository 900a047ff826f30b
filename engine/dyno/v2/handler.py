"""The unack handler of a pipelined queue: runs at a fixed rate until it is closed."""

from collections.abc import Awaitable, Callable

from engine.dyno.errors import COMMAND_FAILURES
from engine.ports import Runtime, Task

NS_PER_MS = 1_000_000


class PeriodicHandler:
    """Runs ``run`` every ``interval_ms``. Runs that are overdue because one took long are skipped, not caught up.

    A run that fails is counted in ``failures`` and kept in ``last_error``, and the next run comes at its time; if it
    ``dies_on_error``, as the original does, none comes any more
    (https://github.com/Netflix/dyno-queues/issues/85).
    """

    def __init__(
        self,
        runtime: Runtime,
        run: Callable[[], Awaitable[object]],
        *,
        interval_ms: int,
        name: str,
        dies_on_error: bool = False,
    ) -> None:
        self._runtime = runtime
        self._run = run
        self._interval_ns = interval_ms * NS_PER_MS
        self._name = name
        self._dies_on_error = dies_on_error
        self._task: Task[None] | None = None
        self.runs = 0
        self.failures = 0
        self.last_error: Exception | None = None

    def start(self) -> None:
        if self._task is not None:
            raise RuntimeError("the unack handler is already running")
        self._task = self._runtime.spawn(self._loop(), name=self._name)

    async def close(self) -> None:
        """Stop. A run cut in the middle leaves what a crash would: the next handler mends it."""
        task, self._task = self._task, None
        if task is not None and task.done():
            await task.join()
        elif task is not None:
            task.cancel()

    async def _loop(self) -> None:
        runtime = self._runtime
        due_ns = runtime.now_ns() + self._interval_ns
        while True:
            await runtime.sleep(max(0, due_ns - runtime.now_ns()))
            self.runs += 1
            try:
                await self._run()
            except COMMAND_FAILURES as error:
                self.failures += 1
                self.last_error = error
                if self._dies_on_error:
                    return
            overdue = max(0, runtime.now_ns() - due_ns) // self._interval_ns
            due_ns += (overdue + 1) * self._interval_ns
