"""A delay queue of one sorted set: whoever removes a member has the message, and nobody else ever gets it."""

import json
from collections.abc import Sequence

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.common.polling import pop_in_rounds
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Clock, Connection, Runtime


class ZsetQueue:
    """One instance of the queue that is the sorted set ``key``: the message as JSON → the time when it is due, in ms.

    ``quorum`` carries what changes something, ``local`` the ranges, whose answer may be old: ZREM decides. A message is
    taken for good when it is popped, so one that its consumer does not finish is lost: at most once.

    Raises: ``Unavailable`` (without effect), ``Indeterminate`` or ``ServerError``. What such a pop removed is lost.
    """

    def __init__(
        self, key: str, *, runtime: Runtime, clock: Clock, quorum: Connection, local: Connection, poll_ms: int = 50
    ) -> None:
        self._key, self._poll_ms = key, poll_ms
        self._runtime, self._clock, self._quorum, self._local = runtime, clock, quorum, local

    async def start(self) -> None:
        """Do nothing: the queue has no work in the background."""

    async def close(self) -> None:
        """Do nothing: there is nothing to stop."""

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Put ``messages`` into the set by one pipeline. An id and payload that are there get the new due time."""
        now_ms = self._clock.now_ms()
        receipts = [Receipt(id=each.id, shard=self._key, due_ms=now_ms + each.timeout_ms) for each in messages]
        members = [json.dumps({"id": each.id, "payload": each.payload}) for each in messages]
        added = [("ZADD", self._key, each.due_ms, member) for each, member in zip(receipts, members, strict=True)]
        await write(self._quorum, added, name="push")
        return receipts

    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Remove and return up to ``count`` due messages, waiting up to ``wait_ms`` until so many are due."""
        return await pop_in_rounds(
            self._runtime, count, wait_ms=wait_ms, poll_ms=self._poll_ms, due=self._due, lease_up_to=self._take
        )

    async def ack(self, delivery: Delivery) -> bool:
        """False: there is no lease to end."""
        return False

    async def _due(self, count: int) -> Sequence[bytes]:
        (members,) = await read(self._local, [("ZRANGEBYSCORE", self._key, 0, self._clock.now_ms(), "LIMIT", 0, count)])
        return list(members)

    async def _take(self, count: int, members: Sequence[bytes]) -> list[Delivery]:
        now_ms = self._clock.now_ms()
        removed = await write(self._quorum, [("ZREM", self._key, member) for member in members[:count]], name="pop")
        taken = [Message(**json.loads(member)) for member, mine in zip(members, removed, strict=False) if mine]
        leased_ms = self._clock.now_ms()
        return [
            Delivery(message=each, shard=self._key, lease_start_ms=now_ms, leased_ms=leased_ms, lease_end_ms=leased_ms)
            for each in taken
        ]


def id_of(member: str) -> str:
    """The id of the message that is this member of the set."""
    return str(json.loads(member)["id"])
