"""Handing something from one task to another, one at a time: Go's channel without a buffer."""

from collections import deque
from typing import Generic, TypeVar

from zonelab.engine.ports import Promise, Runtime

T = TypeVar("T")


class Closed(Exception):
    """Nobody receives any more. ``orderly``: the receiver was stopped; otherwise it died."""

    def __init__(self, *, orderly: bool) -> None:
        super().__init__("the receiver was stopped" if orderly else "the receiver died")
        self.orderly = orderly


class GoChannel(Generic[T]):
    """Many may send, one receives, in the order of sending. It begins closed."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._senders: deque[tuple[T, Promise[Closed | None]]] = deque()
        self._receiver: Promise[None] | None = None
        self._closed: Closed | None = Closed(orderly=True)

    @property
    def closed(self) -> bool:
        return self._closed is not None

    def open(self) -> None:
        self._closed = None

    def close(self, *, orderly: bool) -> None:
        """Close the channel: senders, now or later, and the receiver get ``Closed``. The first close decides
        ``orderly``.
        """
        if self._closed is None:
            self._closed = Closed(orderly=orderly)
            senders, self._senders = self._senders, deque()
            for _, taken in senders:
                taken.set_result(self._closed)
            self._wake()

    async def send(self, item: T) -> None:
        """Until it is taken. Raises ``Closed`` if it never is."""
        if self._closed is not None:
            raise self._closed
        taken: Promise[Closed | None] = self._runtime.promise()
        self._senders.append((item, taken))
        self._wake()
        refused = await taken
        if refused is not None:
            raise refused

    async def receive(self) -> T:
        """The next item, as soon as there is one. Raises ``Closed``."""
        while not self._senders:
            if self._closed is not None:
                raise self._closed
            self._receiver = self._runtime.promise()
            await self._receiver
        item, taken = self._senders.popleft()
        taken.set_result(None)
        return item

    def _wake(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.set_result(None)
