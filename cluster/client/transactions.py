"""MULTI, EXEC, DISCARD, WATCH, UNWATCH: beyond Dynomite, which refuses them.

Commands are queued on the client's side. EXEC sends all of them, between MULTI and EXEC, as one piece: each zone
executes them without another command in between, and the coordinator votes on the replies as a whole. Zones are not
isolated from each other, so two transactions that meet may be executed in different orders in different zones.

WATCH needs connections of the client's own, because a server remembers watched keys per connection; it is answered when
every zone has answered. Each zone decides by itself whether a watched key has changed, and the level decides about
their answers as about any others. On its way to a zone a watched EXEC may overtake other clients' commands, or be
overtaken, so a zone in the minority may do otherwise and differ afterwards, as after writes through two coordinators.

The client's own commands keep their order in every zone: WATCH and EXEC are sent when all zones have answered what the
client wrote before, and what comes behind EXEC is sent when all zones have answered that.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Promise, Reply

ABORTED = "EXECABORT Transaction discarded because of previous errors."
QUEUE_MAX = 100_000
"""Commands in one transaction."""

MakePromise = Callable[[], Promise[Any]]
_leases = count(1)


class WatchedKeys:
    """A client's watched keys: the connections on which they are watched, and how many WATCH it has sent."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.lease = next(_leases)
        self.number = 0

    @property
    def mark(self) -> tuple[int, int]:
        return self.lease, self.number


def answered_everywhere(promise: MakePromise, channels: Sequence[Channel], batch: Batch) -> Promise[None]:
    """Return what is done when all that was sent on ``channels`` so far is answered, or failed; ``batch``: a PING."""
    unanswered = len(channels)
    complete: Promise[None] = promise()

    def answered(answer: Answer) -> None:
        nonlocal unanswered
        unanswered -= 1
        if not unanswered and not complete.done():
            complete.set_result(None)

    for channel in channels:
        channel.submit(batch, answered)
    return complete


async def watched_everywhere(promise: MakePromise, channels: Sequence[Channel], batch: Batch, *, level: Level) -> Reply:
    """Watch in every zone, and wait for the last one: a zone that began late would miss what happens until then."""
    vote = Vote(level, zones=len(channels))
    complete: Promise[None] = promise()

    def answered(position: int, answer: Answer) -> None:
        vote.submit(position, answer[0] if isinstance(answer, list) else answer)
        if vote.complete and not complete.done():
            complete.set_result(None)

    for position, channel in enumerate(channels):
        channel.submit(batch, partial(answered, position))
    await complete
    return vote.answer
