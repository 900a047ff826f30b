"""Ledger of what a queue owes, from what its users saw of it; raises ``Violation`` as soon as a promise is broken.

The rules are those of the checker of recorded runs: a lease was written at some moment between the two times that the
consumer read, and every rule takes the bound that favours the queue.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from zonelab.analysis.checkers.queue.deliveries import Ack, Deliveries, Extension, Lease
from zonelab.analysis.message_classes import MessageClass
from zonelab.engine.message import Delivery, Message


class Violation(AssertionError):
    """A promise of the queue is broken. ``kind``: which; ``message_id``: whose."""

    def __init__(self, kind: MessageClass, message_id: str, detail: str, story: Sequence[str]) -> None:
        lines = "\n".join(f"  {line}" for line in story)
        super().__init__(f"{message_id} is {kind}: {detail}\n{lines}")
        self.kind = kind
        self.message_id = message_id


class PushRecord(StrEnum):
    """State of knowledge about a push."""

    BEGUN = "begun"
    OK = "ok"
    INFO = "info"
    FAIL = "fail"


@dataclass
class Fate:
    """The life of one message as its producer and its consumers saw it. Times are wall clock, in ms.

    ``settled``: its delivery was the end of it. ``disturbed``: something unusual happened after its push, so traces
    that a queue may leave then are no fault.
    """

    message: Message
    due_ms: int
    pushed: PushRecord = PushRecord.BEGUN
    shard: str | None = None
    leases: list[Lease] = field(default_factory=list)
    extensions: list[Extension] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    ack_doubtful: bool = False
    settled: bool = False
    disturbed: bool = False
    story: list[str] = field(default_factory=list)

    @property
    def owed(self) -> bool:
        """The queue must deliver it, or deliver it again."""
        return self.pushed is PushRecord.OK and not (self.acks or self.ack_doubtful or self.settled)

    @property
    def acked(self) -> bool:
        return bool(self.acks)

    @property
    def delivered(self) -> bool:
        return bool(self.leases)

    @property
    def lease_end_ms(self) -> int:
        """Return the lease end of the last delivery, were it not extended; 0 if there was none."""
        return (self.leases[-1].end_ms or 0) if self.leases else 0


class Ledger:
    """``early_tolerance_ms``: how long before its due time a message may be delivered. ``leases``: of ``Features``."""

    def __init__(self, *, early_tolerance_ms: int, leases: bool = True) -> None:
        self._early_tolerance_ms, self._leases = early_tolerance_ms, leases
        self._events = 0
        self._deliveries = 0
        self.fates: dict[str, Fate] = {}

    @property
    def owed(self) -> list[Fate]:
        return [fate for fate in self.fates.values() if fate.owed]

    def disturb(self) -> None:
        """Something unusual happens now."""
        for fate in self.fates.values():
            fate.disturbed = True

    def note(self, message_id: str, line: str) -> None:
        self.fates[message_id].story.append(line)

    def push_begun(self, message: Message, *, now_ms: int) -> None:
        self.fates[message.id] = Fate(message=message, due_ms=now_ms + message.timeout_ms)

    def push_ended(
        self, message_id: str, outcome: PushRecord, *, shard: str | None = None, due_ms: int | None = None
    ) -> None:
        """``shard`` and ``due_ms``: of the receipt, if there is one."""
        fate = self.fates[message_id]
        fate.pushed = outcome
        fate.shard = shard
        fate.due_ms = fate.due_ms if due_ms is None else due_ms

    def popped(self, deliveries: Sequence[Delivery], *, now_ms: int) -> int:
        """Judge what one pop returned; the number by which acks and extensions name it."""
        self._deliveries += 1
        for delivery in deliveries:
            self._judge(delivery, now_ms)
        return self._deliveries

    def ack_begun(self, message_id: str) -> bool:
        """Until it has ended, nobody knows. True if that is new."""
        fate = self.fates[message_id]
        doubtful, fate.ack_doubtful = fate.ack_doubtful, True
        return not doubtful

    def ack_settled(self, message_id: str, *, was_clear: bool) -> None:
        """It certainly did or did not happen. ``was_clear``: as ``ack_begun`` said."""
        if was_clear:
            self.fates[message_id].ack_doubtful = False

    def acked(self, message_id: str, delivery: int, *, invoke_ms: int, now_ms: int) -> None:
        self.fates[message_id].acks.append(Ack(delivery, invoke_ms, now_ms, self._next()))

    def extended(self, message_id: str, delivery: int, *, invoke_ms: int, ok_ms: int | None, end_ms: int) -> None:
        self.fates[message_id].extensions.append(Extension(delivery, invoke_ms, ok_ms, end_ms))

    def held_until_ms(self, message_id: str, delivery: int) -> int:
        """When the lease of a delivery certainly has ended, however it was extended."""
        fate = self.fates[message_id]
        ends_ms = [lease.end_ms or 0 for lease in fate.leases if lease.delivery == delivery]
        return max(ends_ms + [one.end_ms for one in fate.extensions if one.delivery == delivery])

    def violation(self, kind: MessageClass, fate: Fate, detail: str) -> Violation:
        return Violation(kind, fate.message.id, detail, fate.story)

    def _judge(self, delivery: Delivery, now_ms: int) -> None:
        message_id = delivery.message.id
        fate = self.fates.get(message_id)
        if fate is None:
            raise Violation(MessageClass.UNEXPECTED, message_id, "delivered, but nobody pushed it", ())
        if fate.pushed is PushRecord.FAIL:
            raise self.violation(MessageClass.UNEXPECTED, fate, "delivered, but its push had failed for certain")
        if delivery.message.payload not in ("", fate.message.payload):
            raise self.violation(MessageClass.UNEXPECTED, fate, "delivered with a body that was not pushed")
        early_ms = fate.due_ms - now_ms
        if early_ms > self._early_tolerance_ms:
            raise self.violation(MessageClass.EARLY, fate, f"delivered {early_ms} ms before it was due")
        times = (delivery.leased_ms, delivery.lease_start_ms)
        lease = Lease(*times, self._next(), self._deliveries, delivery.lease_end_ms)
        fate.leases = sorted([*fate.leases, lease])
        fate.settled = not self._leases
        for cause, detail in self._illegal(fate):
            raise self.violation(cause, fate, detail)

    def _illegal(self, fate: Fate) -> Iterator[tuple[MessageClass, str]]:
        for _, cause, detail in Deliveries(fate.leases, fate.extensions, fate.acks).duplicates():
            if cause is not MessageClass.REDELIVERED:
                yield cause, detail

    def _next(self) -> int:
        self._events += 1
        return self._events
