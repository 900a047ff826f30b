"""The classes that a message of a run can fall into, and which of them are forbidden by default."""

from collections.abc import Mapping
from enum import StrEnum


class MessageClass(StrEnum):
    """What can happen to a message that a good queue would not do, or would rather not do.

    The names extend those of Jepsen's total-queue checker (lost, recovered, unexpected, duplicated) by what a
    delay queue with leases adds. ``DESCRIPTIONS`` says in words what each one means, docs/verdicts.md when it counts.
    """

    LOST = "lost"
    STUCK = "stuck"
    NOT_DUE = "not_due"
    UNSERVED = "unserved"
    ABANDONED = "abandoned"
    UNDECIDED = "undecided"
    RECOVERED = "recovered"
    UNEXPECTED = "unexpected"
    REDELIVERED = "redelivered"
    CONCURRENT = "concurrent"
    RESURRECTED = "resurrected"
    EARLY = "early"
    LATE = "late"
    ZOMBIE_ACK = "zombie_ack"
    OVERLAP = "overlap"
    ORPHAN = "orphan"
    PHANTOM = "phantom"
    PRIORITY_INVERSION = "priority_inversion"
    DEAD_LETTER = "dead_letter"


DESCRIPTIONS: Mapping[MessageClass, str] = {
    MessageClass.LOST: "the push was acknowledged, the message was never delivered, and no zone lists it at the end",
    MessageClass.STUCK: "the push was acknowledged, the message was never acked and is still listed after the drain",
    MessageClass.NOT_DUE: "acknowledged, never delivered, still listed, and due after the end of the drain only",
    MessageClass.UNSERVED: "due, and waiting in every zone at the end of a drain in which others were still delivered",
    MessageClass.ABANDONED: "delivered but never acked, and gone: the redelivery that is owed cannot happen",
    MessageClass.UNDECIDED: "undelivered or unacked, but the end state that would tell lost from stuck is not known",
    MessageClass.RECOVERED: "delivered although nobody knew whether the push had worked",
    MessageClass.UNEXPECTED: "delivered, but never pushed with this body, or every push of it certainly failed",
    MessageClass.REDELIVERED: "delivered again after the earlier lease had ended: legal at-least-once delivery",
    MessageClass.CONCURRENT: "delivered again while another consumer still held a valid lease on it",
    MessageClass.RESURRECTED: "delivered again after an ack of it had been confirmed",
    MessageClass.EARLY: "delivered before it was due, by more than its queue may (dyno-queues: 1 ms)",
    MessageClass.LATE: "delivered for the first time later after it was due than the scenario allows (checks.late_ms)",
    MessageClass.ZOMBIE_ACK: "acked with success by a consumer whose lease had ended or passed to another",
    MessageClass.OVERLAP: "two programs worked on the message at the same time, whatever their leases said",
    MessageClass.ORPHAN: "a zone holds the payload but lists the id nowhere",
    MessageClass.PHANTOM: "a zone lists the id but holds no payload for it",
    MessageClass.PRIORITY_INVERSION: "served after a less urgent message of the same shard and due time",
    MessageClass.DEAD_LETTER: "delivered but never acked, and set aside by the queue after so many deliveries",
}

FORBIDDEN_DEFAULT = (
    MessageClass.LOST,
    MessageClass.STUCK,
    MessageClass.ABANDONED,
    MessageClass.UNEXPECTED,
    MessageClass.CONCURRENT,
    MessageClass.RESURRECTED,
    MessageClass.EARLY,
)

NEED_LEASES = (MessageClass.ABANDONED, MessageClass.CONCURRENT, MessageClass.ZOMBIE_ACK)
"""Without leases a delivery settles what a queue owes, and there is nothing that these could break."""

NEED_PRIORITIES = (MessageClass.PRIORITY_INVERSION,)

NEED_OWN_LEASES = (MessageClass.CONCURRENT, MessageClass.ZOMBIE_ACK, MessageClass.OVERLAP)
"""In a queue that keeps an order the lease is that of a partition: I6, I8 and I10 (docs/order-verdicts.md) judge it."""


def lacking_means(*, leases: bool, priorities: bool, order: bool) -> tuple[MessageClass, ...]:
    """The classes that cannot be judged of a queue, by what it promises."""
    lacking = (*(() if leases else NEED_LEASES), *(() if priorities else NEED_PRIORITIES))
    return tuple(dict.fromkeys((*lacking, *(NEED_OWN_LEASES if order else ()))))


DUPLICATE_CAUSES = (MessageClass.REDELIVERED, MessageClass.CONCURRENT, MessageClass.RESURRECTED)
