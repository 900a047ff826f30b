"""Settings of one shard's queue object, checked when they are made."""

from dataclasses import dataclass

from zonelab.engine.dyno.mechanisms import DynoMechanism, MechanismSwitches, check_without

POLL_INTERVAL_MS = 10

MECHANISMS = tuple(one for one in DynoMechanism if one is not DynoMechanism.REQUEUE_BEFORE_UNLEASE)
"""The handler lists an id and removes its lease by one script, so there is no order to switch off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelinedSettings(MechanismSwitches):
    """Settings of one instance of one shard.

    ``unack_ms``: length of a lease. ``unack_interval_ms``: period of the unack handler. ``poll_interval_ms``: pause
    between two reads of a waiting pop. ``unack_batch``: ended leases read at a time, of each bucket.
    ``compat``: reproduce the defects of the original that are listed in docs/dyno-v2.md. ``without``: those of
    ``MECHANISMS`` that are switched off.
    """

    prefix: str
    shard: str
    unack_ms: int = 60_000
    unack_interval_ms: int = 60_000
    poll_interval_ms: int = POLL_INTERVAL_MS
    unack_batch: int = 1000
    compat: bool = False

    def __post_init__(self) -> None:
        for name in ("prefix", "shard"):
            if not getattr(self, name):
                raise ValueError(f"{name} must be a non-empty string, got {getattr(self, name)!r}")
        for name in ("unack_ms", "unack_interval_ms", "poll_interval_ms", "unack_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        check_without(self.without, MECHANISMS)
