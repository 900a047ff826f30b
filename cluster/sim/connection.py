"""A connection to a simulated server, with the replies that are on their way back."""

from collections import deque
from collections.abc import Callable

from zonelab.cluster.connections.marked import CarriedWatches
from zonelab.cluster.sim.event_order import SimEnvironment
from zonelab.cluster.sim.redis.channels import Deliver, Subscriptions
from zonelab.cluster.sim.redis.watched import Watch
from zonelab.engine.ports import Reply

OnReplies = Callable[[list[Reply]], None]


class SimConnection:
    """An established connection. Replies arrive in order; after a break, or once closed, none does.

    ``hang_up`` lets the server forget it; ``on_close`` is called when the server has closed it.
    """

    def __init__(
        self,
        *,
        reply_ns: int,
        environment: SimEnvironment,
        hang_up: Callable[["SimConnection"], None],
        on_close: Callable[[], None],
    ) -> None:
        self._reply_ns = reply_ns
        self._environment = environment
        self._hang_up = hang_up
        self._on_close = on_close
        self._open = True
        self.watches = CarriedWatches()
        self.deliver: Deliver | None = None
        """Takes what is published, for a subscriber."""
        self.subscriptions: Subscriptions | None = None
        self.watch: Watch | None = None
        """The keys that it watches, as it has asked for."""
        self.carries = True
        """Else it is closed, or broken and nobody has noticed yet: what is sent goes nowhere."""
        self._returning: deque[tuple[OnReplies, list[Reply]]] = deque()

    def reply(self, on_replies: OnReplies, replies: list[Reply]) -> None:
        """Hand ``replies`` over after the way back, in the order of the questions; not at all once it is closed."""
        if not self._open:
            return
        if self._reply_ns == 0 and not self._returning:
            on_replies(replies)
            return
        self._returning.append((on_replies, replies))
        environment = self._environment
        environment.put(self._reply_ns, self._arrive, environment.actor)

    def break_off(self) -> None:
        """The server is gone: replies on their way are lost, and the client learns of it a moment later."""
        self.carries = False
        self._returning.clear()
        self._environment.call_later(self._reply_ns, self._closed)

    def close(self) -> None:
        """Hang up. What was sent stays in the server's buffer."""
        self._open = self.carries = False
        self._returning.clear()
        self._hang_up(self)

    def _arrive(self) -> None:
        # One timer was set for each reply, so whichever of several at one instant fires first takes the oldest.
        if self._returning:
            on_replies, replies = self._returning.popleft()
            on_replies(replies)

    def _closed(self) -> None:
        if self._open:
            self._open = self.carries = False
            self._on_close()
