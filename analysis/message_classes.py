"""The classes that a message of a run can fall into, what each means, and which of them are forbidden by default."""

from zonelab.analysis.case_class import CaseClass


class MessageClass(CaseClass):
    """A class of messages: something that a good queue would not let happen, or would rather not.

    The names extend those of Jepsen's total-queue checker (lost, recovered, unexpected, duplicated) by what a
    delay queue with leases adds. docs/verdicts.md says exactly when each one counts.
    """

    LOST = (
        "lost",
        "the push was acknowledged, the message was never delivered, and no zone lists it at the end",
        "{of_accepted} are gone, and nobody ever got them",
    )
    STUCK = (
        "stuck",
        "the push was acknowledged, the message was never acked and is still listed after the drain",
        "{of_accepted} were left behind: they are still stored somewhere, and nobody finished them",
    )
    NOT_DUE = (
        "not_due",
        "acknowledged, never delivered, still listed, and due after the end of the drain only",
        "{of_accepted} were not due yet when the run ended, so nothing is known of their delivery",
    )
    UNSERVED = (
        "unserved",
        "due, and waiting in every zone at the end of a drain in which others were still delivered",
        "{of_accepted} were still waiting for a consumer when the run ended, while others were being served",
    )
    ABANDONED = (
        "abandoned",
        "delivered but never acked, and gone: the redelivery that is owed cannot happen",
        "{of_accepted} were handed out, never finished, and will not be handed out again",
    )
    UNDECIDED = (
        "undecided",
        "undelivered or unacked, but the end state that would tell lost from stuck is not known",
        "{of_accepted} were not seen to be finished, and what became of them is not known",
    )
    RECOVERED = (
        "recovered",
        "delivered although nobody knew whether the push had worked",
        "{count} messages were delivered although their sender never learnt whether the push had worked",
    )
    UNEXPECTED = (
        "unexpected",
        "delivered, but never pushed with this body, or every push of it certainly failed",
        "{count} messages were delivered that the queue had never accepted",
    )
    REDELIVERED = (
        "redelivered",
        "delivered again after the earlier lease had ended: legal at-least-once delivery",
        "{count} deliveries were repeated because the first consumer did not finish in time",
    )
    CONCURRENT = (
        "concurrent",
        "delivered again while another consumer still held a valid lease on it",
        "{count} times a message was handed out while another consumer still held it",
    )
    RESURRECTED = (
        "resurrected",
        "delivered again after an ack of it had been confirmed",
        "{count} times a message that was finished was handed out again",
    )
    EARLY = (
        "early",
        "delivered before it was due, by more than its queue may (dyno-queues: 1 ms)",
        "{count} deliveries came before their time",
    )
    LATE = (
        "late",
        "delivered for the first time later after it was due than the scenario allows (checks.late_ms)",
        "{count} deliveries came later than this scenario allows",
    )
    ZOMBIE_ACK = (
        "zombie_ack",
        "acked with success by a consumer whose lease had ended or passed to another",
        "{count} messages were reported as finished by a consumer that no longer held them",
    )
    OVERLAP = (
        "overlap",
        "two programs worked on the message at the same time, whatever their leases said",
        "{count} messages were worked on by two programs at the same time",
    )
    ORPHAN = (
        "orphan",
        "a zone holds the payload but lists the id nowhere",
        "{count} copies of contents were left that no list names",
    )
    PHANTOM = (
        "phantom",
        "a zone lists the id but holds no payload for it",
        "{count} entries were left whose contents are gone",
    )
    PRIORITY_INVERSION = (
        "priority_inversion",
        "served after a less urgent message of the same shard and due time",
        "{of_accepted} had to wait behind a less urgent one",
    )
    DEAD_LETTER = (
        "dead_letter",
        "delivered but never acked, and set aside by the queue after so many deliveries",
        "{of_accepted} were set aside after too many attempts",
    )


FORBIDDEN_DEFAULT = (
    MessageClass.LOST,
    MessageClass.STUCK,
    MessageClass.ABANDONED,
    MessageClass.UNEXPECTED,
    MessageClass.CONCURRENT,
    MessageClass.RESURRECTED,
    MessageClass.EARLY,
)

IN_DOUBT = (MessageClass.UNDECIDED, MessageClass.UNSERVED)
"""Classes whose cases leave open what became of a message; they make a run unknown."""

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

MORE_THAN_ONCE = frozenset(
    (
        *(*DUPLICATE_CAUSES, MessageClass.EARLY, MessageClass.LATE),
        *(MessageClass.ZOMBIE_ACK, MessageClass.ORPHAN, MessageClass.PHANTOM),
    )
)
"""Classes whose cases are deliveries, acks or (zone, id) pairs, of which one message can have several."""
