"""Messages of one client that subscribes: what has come, and to which names it is subscribed."""

from collections import deque

from zonelab.cluster.client.place import Subscribe, Subscriber
from zonelab.engine.ports import Command, Promise, Reply, Runtime, Unavailable

SUBSCRIPTION_LOST = "the connection to the server of the own zone is lost"


class SubscriberInbox:
    """Inbox of one client. ``subscriber`` is its connection to the server once it has subscribed to something."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.subscriber: Subscriber | None = None
        self.names: dict[tuple[str, bytes], None] = {}
        """Names by kind: ``P``, ``S`` or nothing before SUBSCRIBE."""
        self._messages: deque[list[Reply]] = deque()
        self._listening: Promise[None] | None = None
        self.lost = False

    async def next(self, *, wait_ns: int | None) -> list[Reply] | None:
        """Return what has come next; None after ``wait_ns``. Raises ``Unavailable`` if the connection is lost."""
        if not self._messages and not self.lost and wait_ns != 0:
            heard = self._listening = self._runtime.promise()
            timer = None if wait_ns is None else self._runtime.call_later(wait_ns, self._wake)
            await heard
            if timer is not None:
                timer.cancel()
        if self._messages:
            return self._messages.popleft()
        self.check()
        return None

    def check(self) -> None:
        """Raise ``Unavailable`` once if the connection is lost; then the client has none."""
        if self.lost:
            self.clear()
            raise Unavailable(SUBSCRIPTION_LOST)

    async def ask(self, command: Command, name: str, channels: tuple[bytes, ...], subscribe: Subscribe) -> None:
        """Send a command called ``name`` of the subscribe family, with ``channels``, on a connection of its own."""
        if self.subscriber is None:
            self.subscriber = await subscribe(hand_on=self.put, lost=self._lose)
        kind = name.removesuffix("UNSUBSCRIBE").removesuffix("SUBSCRIBE")
        if "UNSUB" not in name:
            self.names |= {(kind, one): None for one in channels}
        else:
            for one in [(kind, each) for each in channels] or [held for held in self.names if held[0] == kind]:
                self.names.pop(one, None)
        self.subscriber.ask(command)

    def put(self, message: list[Reply]) -> None:
        """Put ``message`` behind those that have come."""
        self._messages.append(message)
        self._wake()

    def clear(self) -> None:
        """Close the connection and forget what has come."""
        self.names.clear()
        self._messages.clear()
        self.lost = False
        if self.subscriber is not None:
            self.subscriber.close()
            self.subscriber = None

    def _lose(self) -> None:
        self.lost = True
        self._wake()

    def _wake(self) -> None:
        if self._listening is not None and not self._listening.done():
            self._listening.set_result(None)
