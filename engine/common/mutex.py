"""Mutual exclusion between tasks of one runtime."""

from collections import deque
from types import TracebackType

from engine.ports import Promise, Runtime


class Mutex:
    """Lets one task through at a time, in the order of their arrival."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._held = False
        self._waiting: deque[Promise[None]] = deque()

    async def __aenter__(self) -> None:
        if not self._held:
            self._held = True
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
        """Whoever is next has it now; nobody can come in between."""
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._held = False
