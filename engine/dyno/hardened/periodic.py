"""Work that is repeated at a fixed rate while a queue object is open, whatever befalls a single run."""

from collections.abc import Awaitable, Callable

from engine.dyno.errors import COMMAND_FAILURES
from engine.ports import Runtime, Task

NS_PER_MS = 1_000_000


class Periodic:
    """Runs ``action`` every ``interval_ms``. A run that fails is counted; overdue runs are skipped, not caught up.

    The first run comes after a drawn part of the interval, so that programs which start together do not run together.
    """

    def __init__(self, action: Callable[[], Awaitable[None]], *, interval_ms: int, runtime: Runtime, name: str) -> None:
        self._action = action
        self._interval_ns = interval_ms * NS_PER_MS
        self._runtime = runtime
        self._name = name
        self._task: Task[None] | None = None
        self.runs = 0
        self.failures = 0
        self.last_error: Exception | None = None

    def start(self) -> None:
        if self._task is not None:
            raise RuntimeError(f"{self._name} is already running")
        self._task = self._runtime.spawn(self._loop(), name=self._name)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None and task.done():
            await task.join()
        elif task is not None:
            task.cancel()

    async def _loop(self) -> None:
        runtime, interval_ns = self._runtime, self._interval_ns
        due_ns = runtime.now_ns() + 1 + runtime.random(self._name).randrange(interval_ns)
        while True:
            await runtime.sleep(max(0, due_ns - runtime.now_ns()))
            await self._run()
            overdue = max(0, runtime.now_ns() - due_ns) // interval_ns
            due_ns += (overdue + 1) * interval_ns

    async def _run(self) -> None:
        self.runs += 1
        try:
            await self._action()
        except COMMAND_FAILURES as error:
            self.failures += 1
            self.last_error = error
