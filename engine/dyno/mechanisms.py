"""The safety mechanisms of V1 and V2, by the names under which each can be switched off, to see what it is good for."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from zonelab.engine.dyno.scores import eligible_until

FOREVER_MS = 2**53
"""Later than any due time and any end of a lease, and still a whole number as a score."""


class DynoMechanism(StrEnum):
    """``unack-handler``: leases that have ended are looked for. ``lease-nx``: a lease is written only where there is
    none. ``remove-check``: a pop delivers only what it removed from the waiting set itself. ``lease-before-remove``:
    it writes the lease before that. ``requeue-before-unlease``: the unack handler lists an id before it removes the
    lease. ``ack-lease-first``: an ack removes the lease, then the payload. ``payload-before-id``: a push stores the
    payload, then lists the id. ``quorum-payload-read``: payloads are read at the level of the queue. ``due-check``: a
    pop leases only what is due. ``lease-end-check``: the unack handler takes only leases that have ended.
    """

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


@dataclass(frozen=True, kw_only=True, slots=True)
class MechanismSwitches:
    """The part of a queue's settings that says which mechanisms are off; scripts that pop keep theirs but for
    ``due-check``.
    """

    without: tuple[DynoMechanism, ...] = ()

    def has(self, mechanism: DynoMechanism) -> bool:
        return mechanism not in self.without

    def due_until(self, now_ms: int) -> int:
        """Return the highest score, inclusive, that a pop may lease at ``now_ms``."""
        return eligible_until(now_ms) if self.has(DynoMechanism.DUE_CHECK) else FOREVER_MS

    def ended_until(self, now_ms: int) -> int:
        """Return the latest end, inclusive, of the leases that the unack handler takes at ``now_ms``."""
        if not self.has(DynoMechanism.UNACK_HANDLER):
            return -1
        return now_ms if self.has(DynoMechanism.LEASE_END_CHECK) else FOREVER_MS


def check_without(without: Collection[str], known: Collection[str]) -> None:
    """Raise ``ValueError`` if ``without`` names what is not among the mechanisms ``known``."""
    if unknown := [name for name in without if name not in known]:
        raise ValueError(f"without must be among {', '.join(known)}, got {', '.join(map(repr, unknown))}")
