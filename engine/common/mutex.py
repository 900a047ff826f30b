"""Locks for the tasks of one runtime: one at a time, or at most so many."""

from collections import deque
from types import TracebackType

from zonelab.engine.ports import Promise, Runtime


class Semaphore:
    """Lets up to ``places`` tasks through at a time, in the order of their arrival."""

    def __init__(self, runtime: Runtime, places: int) -> None:
        self._runtime = runtime
        self._free = places
        self._held = 0
        self._waiting: deque[Promise[None]] = deque()

    @property
    def idle(self) -> bool:
        """Nobody is let through or waits."""
        return not self._held

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            self._held += 1
            return
        turn = self._runtime.promise()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done():
                self._pass_on()
            else:
                self._waiting.remove(turn)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        """Give the place to the next in line; nobody can come in between."""
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._free += 1
            self._held -= 1


class Mutex(Semaphore):
    """One place."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime, 1)
