"""The mechanisms of hardened mode, by the names under which each can be switched off."""

from enum import StrEnum


class Hardening(StrEnum):
    """docs/hardened.md says what each guarantees, and against what."""

    DELIVERY_TOKENS = "delivery-tokens"
    LEASE_PROOF = "lease-proof"
    TOMBSTONES = "tombstones"
    ANTI_ENTROPY = "anti-entropy"
    HEAD_OF_LINE_REPAIR = "head-of-line-repair"
    LEASE_HEARTBEAT = "lease-heartbeat"
    SHARD_TAKEOVER = "shard-takeover"
    IDEMPOTENT_PUSH = "idempotent-push"
    ORPHAN_SWEEPER = "orphan-sweeper"
    DEAD_LETTER = "dead-letter"
    PRIORITY_ORDER = "priority-order"
    CLOCK_MARGIN = "clock-margin"
