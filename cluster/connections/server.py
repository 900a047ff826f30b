"""A coordinator's connection to one zone's server: one FIFO pipeline that times out and breaks as a whole."""

from collections import deque
from collections.abc import Callable, Iterator

from zonelab.cluster.connections.backoff import Reconnect
from zonelab.cluster.connections.batch import Answer, Batch, Upstream
from zonelab.cluster.connections.deadlines import Deadlines
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.connections.turns import in_turns, telling
from zonelab.engine.ports import Reply, Runtime

OnAnswer = Callable[[Answer], None]


class ServerConnection:
    """Follows Dynomite's rules for its datastore connection (``dyn_server.c``, ``dyn_connection_pool.c``).

    Not connected: fails at once and nothing is kept. No reply within the time-out, or the connection breaks:
    everything in flight fails, with the same text as a refusal, and may have been applied. Where that is much, callers
    are called back over several turns of the loop, and later submissions may have their answers before them.
    """

    def __init__(self, *, upstream: Upstream, runtime: Runtime, timeouts: Timeouts) -> None:
        self._upstream = upstream
        self._runtime = runtime
        self._timeout_ns = timeouts.datastore_ns
        self._in_flight: deque[tuple[int, Batch, OnAnswer]] = deque()  # with its deadline, the oldest first
        self._deadlines = Deadlines(runtime=runtime, earliest_ns=self._earliest_ns, expired=self._expire)
        self._reconnect = Reconnect(runtime=runtime, timeouts=timeouts, attempt=self._connect)
        self._on_replies = self._replied
        self._connected = False
        self._closed = False
        self.on_connected: Callable[[], None] | None = None

    @property
    def connected(self) -> bool:
        return self._connected

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def open(self) -> None:
        self._connect()

    def close(self) -> None:
        """Drop the connection for good; what is in flight fails."""
        self._closed = True
        self._reconnect.stop()
        deque(self._break(), maxlen=0)

    def reset(self) -> None:
        """The connection breaks; another is made after the back-off."""
        in_turns(self._runtime, self._break())
        if not self._closed:
            self._reconnect.down()

    def submit(self, batch: Batch, done: OnAnswer) -> None:
        if not self._connected:
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=False))
            return
        deadline_ns = self._runtime.now_ns() + self._timeout_ns
        self._in_flight.append((deadline_ns, batch, done))
        if deadline_ns < self._deadlines.armed_ns:
            self._deadlines.watch(deadline_ns)
        self._upstream.send(batch, self._on_replies)

    def redirect(self, way: Callable[[Batch, OnAnswer, int], OnAnswer]) -> None:
        """For everything in flight: the answer goes to what ``way`` returns.

        ``way`` is called with the batch, the function that would have got the answer, and the time of sending.
        """
        timeout_ns = self._timeout_ns
        self._in_flight = deque(
            (deadline_ns, batch, way(batch, done, deadline_ns - timeout_ns))
            for deadline_ns, batch, done in self._in_flight
        )

    def _connect(self) -> None:
        self._upstream.open(on_open=self._opened, on_close=self.reset)

    def _opened(self) -> None:
        self._connected = True
        self._reconnect.up()
        if self.on_connected is not None:
            self.on_connected()

    def _replied(self, replies: list[Reply]) -> None:
        """Replies come in order, so these are for the oldest request. After a break this is not called any more."""
        self._in_flight.popleft()[2](replies)

    def _earliest_ns(self) -> int | None:
        return self._in_flight[0][0] if self._in_flight else None

    def _expire(self) -> None:
        in_turns(self._runtime, self._break())
        self._reconnect.down()

    def _break(self) -> Iterator[int]:
        """Drop the connection; iterating over the result calls the callers back."""
        self._connected = False
        self._upstream.close()
        self._deadlines.clear()
        failed, self._in_flight = self._in_flight, deque()
        return _fail(failed)


def _fail(requests: deque[tuple[int, Batch, OnAnswer]]) -> Iterator[int]:
    while requests:  # each is released once it is called back: many at the end would take a turn of the loop
        _, batch, done = requests.popleft()
        done(ZoneFailure(STORAGE_REFUSED, maybe_applied=True))
        yield telling(batch)
