"""The safety mechanisms of the dyno queue and of its hardened mode, by name."""

from collections.abc import Mapping
from enum import StrEnum

from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.fifo.fenced.mechanisms import Fencing


class DynoMechanism(StrEnum):
    """One of the queue's own; the name says what is switched off."""

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

    HINTED_HANDOFF = "hinted-handoff"


Mechanism = DynoMechanism | Hardening | Fencing
MECHANISMS: tuple[Mechanism, ...] = (*DynoMechanism, *Hardening)
"""Of dyno-queues."""

OPTIONS = (DynoMechanism.HINTED_HANDOFF,)
"""Off unless a scenario switches them on; the runs that an ablation of one is compared with have it on."""

WITHOUT: Mapping[Mechanism, str] = {
    DynoMechanism.UNACK_HANDLER: "nobody looks for leases that have ended",
    DynoMechanism.LEASE_NX: "pop writes its lease over any other and does not ask whether there was one",
    DynoMechanism.REMOVE_CHECK: "pop does not ask whether its removal from the waiting set found anything",
    DynoMechanism.LEASE_BEFORE_REMOVE: "pop removes the id from the waiting set before it writes the lease",
    DynoMechanism.REQUEUE_BEFORE_UNLEASE: "the unack handler removes the lease before it lists the id as waiting",
    DynoMechanism.ACK_LEASE_FIRST: "ack deletes the payload before it removes the lease",
    DynoMechanism.PAYLOAD_BEFORE_ID: "push lists the id before it stores the payload",
    DynoMechanism.QUORUM_PAYLOAD_READ: "the payload is read from the own zone only",
    DynoMechanism.DUE_CHECK: "pop takes what is not due yet",
    DynoMechanism.LEASE_END_CHECK: "the unack handler takes leases that have not ended",
    DynoMechanism.WARM_RESTART: "a zone that was to come back with a live zone's data comes back with its own",
    DynoMechanism.HINTED_HANDOFF: "what a zone misses while it is away is kept for it by nobody, as in Dynomite",
    Hardening.DELIVERY_TOKENS: "an ack ends whatever lease there is",
    Hardening.LEASE_PROOF: "leases and acks are decided at the level of the queue, and what a vote says is believed",
    Hardening.TOMBSTONES: "an ack leaves nothing behind",
    Hardening.ANTI_ENTROPY: "nobody compares the zones",
    Hardening.HEAD_OF_LINE_REPAIR: "what blocks a shard waits for the next round of comparing, or the end of its lease",
    Hardening.LEASE_HEARTBEAT: "a lease ends though its consumer is at work",
    Hardening.SHARD_TAKEOVER: "a shard is served by its own zone only",
    Hardening.IDEMPOTENT_PUSH: "a push lists its message whatever is known of it",
    Hardening.ORPHAN_SWEEPER: "a payload without record stays as it is",
    Hardening.DEAD_LETTER: "a message is delivered without limit",
    Hardening.PRIORITY_ORDER: "due messages are served in the order of their due times, as in the original",
    Hardening.CLOCK_MARGIN: "a lease counts as ended as soon as the reader's clock says so",
    Fencing.MAJORITY_DECISIONS: "what is decided goes at the level of the queue, and what a vote says is believed",
    Fencing.ADOPTION: "a new owner goes on from what one zone has, and writes nothing back",
    Fencing.ORDERED_WRITES: "a zone takes whatever state comes",
    Fencing.ONE_WRITER: "whoever has a partition gives offsets, and nobody is refused",
    Fencing.PROVEN_ENTRIES: "a record is handed out before two zones have it in the log",
    Fencing.ADMISSION: "every zone votes, whatever happened to it",
    Fencing.STORED_ATTEMPTS: "failures are counted in the memory of a member",
    Fencing.DRAINED_RELEASE: "a partition is given back while its listener works",
    Fencing.LEASE_MARGIN: "a lease counts as ended as soon as the reader's clock says so",
}

NOT_NEEDED: Mapping[Mechanism, str] = {
    DynoMechanism.LEASE_END_CHECK: (
        "the handler makes what it takes due at the end of its lease, and what is due is served at most 1 ms early, so "
        "that is all that a lease can lose; the cost is refused acks and many more second deliveries"
    ),
    DynoMechanism.REMOVE_CHECK: (
        "the lease with NX alone decides between two consumers; the check matters only if another consumer took and "
        "acknowledged the message between the range read and the lease, and its payload is not deleted yet"
    ),
    Hardening.HEAD_OF_LINE_REPAIR: (
        "the next round of comparing mends the same, and a lease that nobody won ends by itself; the cost is lateness"
    ),
    Hardening.SHARD_TAKEOVER: "the zone's consumers come back before the run ends; the cost is lateness",
    Hardening.LEASE_HEARTBEAT: "a lease that ends may be given to another; the cost is work that is done twice",
    Hardening.CLOCK_MARGIN: (
        "consumers of a shard share the clock of their zone, unless another zone has taken the shard over; the unit "
        "tests of the engine have two clocks"
    ),
    Hardening.DELIVERY_TOKENS: "with the heartbeat on hardly a lease ends; see the row without both",
    Hardening.PRIORITY_ORDER: "the order of service is no class of violations; the cost is urgent messages overtaken",
}
"""Why nothing, or next to nothing, need fail without it."""
