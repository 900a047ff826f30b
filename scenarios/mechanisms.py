"""The safety mechanisms of the dyno queue, by name."""

from collections.abc import Mapping
from enum import StrEnum


class Mechanism(StrEnum):
    """The name says what is switched off."""

    UNACK_HANDLER = "unack-handler"
    LEASE_NX = "lease-nx"
    REMOVE_CHECK = "remove-check"
    LEASE_BEFORE_REMOVE = "lease-before-remove"
    REQUEUE_BEFORE_UNLEASE = "requeue-before-unlease"
    ACK_LEASE_FIRST = "ack-lease-first"
    PAYLOAD_BEFORE_ID = "payload-before-id"
    QUORUM_PAYLOAD_READ = "quorum-payload-read"
    DUE_CHECK = "due-check"
    LEASE_END_CHECK = "lease-end-check"
    WARM_RESTART = "warm-restart"


WITHOUT: Mapping[Mechanism, str] = {
    Mechanism.UNACK_HANDLER: "nobody looks for leases that have ended",
    Mechanism.LEASE_NX: "pop writes its lease over any other and does not ask whether there was one",
    Mechanism.REMOVE_CHECK: "pop does not ask whether its removal from the waiting set found anything",
    Mechanism.LEASE_BEFORE_REMOVE: "pop removes the id from the waiting set before it writes the lease",
    Mechanism.REQUEUE_BEFORE_UNLEASE: "the unack handler removes the lease before it lists the id as waiting",
    Mechanism.ACK_LEASE_FIRST: "ack deletes the payload before it removes the lease",
    Mechanism.PAYLOAD_BEFORE_ID: "push lists the id before it stores the payload",
    Mechanism.QUORUM_PAYLOAD_READ: "the payload is read from the own zone only",
    Mechanism.DUE_CHECK: "pop takes what is not due yet",
    Mechanism.LEASE_END_CHECK: "the unack handler takes leases that have not ended",
    Mechanism.WARM_RESTART: "a zone that was to come back with a live zone's data comes back with its own",
}


NOT_NEEDED: Mapping[Mechanism, str] = {
    Mechanism.LEASE_END_CHECK: (
        "the handler makes what it takes due at the end of its lease, and what is due is served at most 1 ms early, so "
        "that is all that a lease can lose; the cost is refused acks and many more second deliveries"
    ),
    Mechanism.REMOVE_CHECK: (
        "the lease with NX alone decides between two consumers; the check matters only if another consumer took and "
        "acknowledged the message between the range read and the lease, and its payload is not deleted yet"
    ),
}
"""Why nothing, or next to nothing, need fail without it."""
