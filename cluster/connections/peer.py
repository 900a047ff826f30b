"""The way from a coordinator to another zone's server: a link out, the server's connection, a link back.

In Dynomite a request for another rack goes to that rack's Dynomite, which passes it to its Redis. The two hops have
their own time-outs and error texts, and clients can distinguish them: a stalled Redis is reported by the far side
after the datastore time-out, a stalled or unreachable peer by the near side after the peer time-out.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from zonelab.cluster.connections.backoff import Reconnect
from zonelab.cluster.connections.batch import Answer, Batch
from zonelab.cluster.connections.deadlines import Deadlines
from zonelab.cluster.connections.failures import PEER_NOT_CONNECTED, PEER_REFUSED, ZoneFailure
from zonelab.cluster.connections.server import OnAnswer
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.connections.turns import in_turns, telling
from zonelab.cluster.connections.wire_size import bytes_of_answer
from zonelab.cluster.links.link import Cut, Link
from zonelab.engine.ports import Runtime


class _Request:
    """One batch on its way to the far end, and its answer on the way back."""

    __slots__ = ("_batch", "_done", "_lost", "_peer", "_reached", "answer", "answered", "deadline_ns")

    def __init__(self, peer: "Peer", batch: Batch, done: OnAnswer, deadline_ns: int) -> None:
        self._peer = peer
        self._batch = batch
        self._done = done
        self._reached = False
        self._lost = False
        self.deadline_ns = deadline_ns
        self.answered = False

    def arrive(self) -> None:
        """At the far side. It goes on to the server even if the near side has given up waiting for the answer.

        A copy of one that has arrived is executed as well; what the server says to it goes nowhere.
        """
        if self._lost:
            return
        if self._reached:
            self._peer.far_end.submit(self._batch, _ignore)
            return
        self._reached = True
        self._peer.far_end.submit(self._batch, self)

    def __call__(self, answer: Answer) -> None:
        """The server's answer sets out on the way back."""
        self.answer = answer
        if self._peer.counts_bytes:
            self._peer.inbound.carried_bytes += bytes_of_answer(answer)
        self._peer.inbound.send(self.answer_arrived)

    def answer_arrived(self) -> None:
        if not self.answered:
            self.answered = True
            self._peer.requests.pop(self, None)
            self._done(self.answer)

    def give_up(self, *, lost_if_not_there: bool) -> None:
        """``lost_if_not_there``: what has not reached the far side by now never will."""
        self.answered = True
        self._lost = lost_if_not_there and not self._reached

    def fail(self) -> int:
        """Tell the caller, after ``give_up``; returns how much work it was."""
        self._done(ZoneFailure(PEER_REFUSED, maybe_applied=not self._lost))
        return telling(self._batch)


def _ignore(answer: Answer) -> None:
    pass


class FarEnd(Protocol):
    """The end to which a peer passes requests: the far zone's server, or its coordinator."""

    @property
    def connected(self) -> bool: ...
    @property
    def in_flight(self) -> int: ...
    def submit(self, batch: Batch, done: OnAnswer) -> None: ...
    def redirect(self, way: Callable[[Batch, OnAnswer, int], OnAnswer]) -> None:
        """See ``ServerConnection.redirect``."""


class Peer:
    """A channel to another zone (``dyn_dnode_peer.c``). Not connected: fails at once and nothing is kept.

    While both links are clear, batches go straight to the far server's connection and answers straight back, without a
    ``_Request`` each. The outcome is the same: the server's connection times out before the peer's. As soon as a link
    is no longer clear, every batch that waits at the server gets its ``_Request``.

    Where much fails with the connection, callers are called back over several turns of the loop, unless it is
    ``hinted``: what fails is kept to be sent again. ``counts_bytes``: what a link carries that is not clear is counted.
    """

    def __init__(
        self,
        *,
        far_end: FarEnd,
        outbound: Link,
        inbound: Link,
        runtime: Runtime,
        timeouts: Timeouts,
        hinted: bool = False,
        counts_bytes: bool = False,
    ) -> None:
        self.far_end = far_end
        self.counts_bytes = counts_bytes
        self.outbound = outbound
        self.inbound = inbound
        self._runtime = runtime
        self._hinted = hinted
        self._timeouts_ns = (timeouts.peer_ns(writes=False), timeouts.peer_ns(writes=True))
        self.requests: dict[_Request, None] = {}  # those that have not been answered, in order of departure
        self._deadlines = Deadlines(runtime=runtime, earliest_ns=self._earliest_ns, expired=self._expire)
        self._reconnect = Reconnect(runtime=runtime, timeouts=timeouts, attempt=self._connect)
        self._up = True
        self._closed = False
        self._slower = timeouts.datastore_ns < min(self._timeouts_ns)
        self._straight = False
        for link in (outbound, inbound):
            link.on_clear(self._reconsider)
            link.on_break(self.reset)
        self._reconsider()

    @property
    def connected(self) -> bool:
        return self._up and self.far_end.connected

    @property
    def in_flight(self) -> int:
        return self.far_end.in_flight if self._straight else len(self.requests)

    def close(self) -> None:
        """Break the connection for good."""
        self._closed = True
        self._reconnect.stop()
        deque(self._break(lost_if_not_there=True), maxlen=0)
        for link in (self.outbound, self.inbound):
            link.forget(self._reconsider, self.reset)

    def submit(self, batch: Batch, done: OnAnswer) -> None:
        if self._straight:
            self.far_end.submit(batch, done)
        elif self._up:
            if self.counts_bytes:
                self.outbound.carried_bytes += batch.wire_bytes
            self.outbound.send(self._begin(batch, done, self._runtime.now_ns()).arrive)
        else:
            done(ZoneFailure(PEER_NOT_CONNECTED, maybe_applied=False))

    def _begin(self, batch: Batch, done: OnAnswer, sent_ns: int) -> _Request:
        deadline_ns = sent_ns + self._timeouts_ns[batch.writes]
        request = _Request(self, batch, done, deadline_ns)
        self.requests[request] = None
        if deadline_ns < self._deadlines.armed_ns:
            self._deadlines.watch(deadline_ns)
        return request

    def _reconsider(self) -> None:
        """Send straight to the far end, or no longer, as the links are clear now or not."""
        straight = self._up and self._slower and self.outbound.clear and self.inbound.clear
        if self._straight and not straight:
            self.far_end.redirect(self._to_request)
        self._straight = straight

    def _to_request(self, batch: Batch, done: OnAnswer, sent_ns: int) -> OnAnswer:
        if isinstance(done, _Request) or done is _ignore:
            return done
        request = self._begin(batch, done, sent_ns)
        request._reached = True
        return request

    def _connect(self) -> None:
        if {self.outbound.cut_mode, self.inbound.cut_mode} <= {None, Cut.FREEZE}:
            self._up = True
            self._reconsider()
            self._reconnect.up()
        else:
            self._reconnect.down()

    def _earliest_ns(self) -> int | None:
        return min((request.deadline_ns for request in self.requests), default=None)

    def _expire(self) -> None:
        # What is held on the way still sits in socket buffers and is applied when the way opens again.
        in_turns(self._runtime, self._break(lost_if_not_there=False))
        self._reconnect.down()

    def reset(self) -> None:
        """The connection breaks; another is made after the back-off."""
        failed = self._break(lost_if_not_there=True)
        if self._hinted:
            deque(failed, maxlen=0)  # at once: a hint of what was lost must not come after a later write
        else:
            in_turns(self._runtime, failed)
        if not self._closed:
            self._reconnect.down()

    def _break(self, *, lost_if_not_there: bool) -> Iterator[int]:
        """Drop the connection; iterating over the result calls the callers back."""
        self._up = False
        self._reconsider()
        self._deadlines.clear()
        failed = deque(self.requests)
        self.requests.clear()
        for request in failed:
            request.give_up(lost_if_not_there=lost_if_not_there)
        return (failed.popleft().fail() for _ in range(len(failed)))
