"""When the oldest unanswered request on a connection is due, with one timer for all of them."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from engine.ports import Runtime, Timer


class Waiting(Protocol):
    """A request on the connection."""

    @property
    def deadline_ns(self) -> int: ...
    @property
    def answered(self) -> bool: ...


class Deadlines:
    """Calls ``expired`` once when a request has waited past its deadline.

    Requests are kept in queues of equal time-out, so that each queue is ordered by deadline. The timer is armed for the
    oldest request and looked at again only when it fires: a request that is answered in time costs no timer.
    """

    def __init__(self, *, runtime: Runtime, expired: Callable[[], None], queues: int) -> None:
        self._runtime = runtime
        self._expired = expired
        self._queues: tuple[deque[Waiting], ...] = tuple(deque() for _ in range(queues))
        self._timer: Timer | None = None
        self._armed_ns = 0

    def add(self, request: Waiting, *, queue: int) -> None:
        waiting = self._queues[queue]
        while waiting and waiting[0].answered:
            waiting.popleft()
        waiting.append(request)
        if self._timer is None or request.deadline_ns < self._armed_ns:
            self._arm(request.deadline_ns)

    def clear(self) -> None:
        for waiting in self._queues:
            waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, deadline_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed_ns = deadline_ns
        self._timer = self._runtime.call_later(max(0, deadline_ns - self._runtime.now_ns()), self._look)

    def _look(self) -> None:
        self._timer = None
        for waiting in self._queues:
            while waiting and waiting[0].answered:
                waiting.popleft()
        heads_ns = [waiting[0].deadline_ns for waiting in self._queues if waiting]
        if not heads_ns:
            return
        if min(heads_ns) <= self._runtime.now_ns():
            self._expired()
        else:
            self._arm(min(heads_ns))
