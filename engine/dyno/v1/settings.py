"""Settings of a queue, checked when they are made."""

from dataclasses import dataclass
from typing import Any

from zonelab.engine.dyno.mechanisms import DynoMechanism, MechanismSwitches, check_without

UNACK_MS = 60_000
COMPAT_UNACK_MS = 60
POLL_INTERVAL_MS = 50
COMPAT_POLL_INTERVAL_MS = 200
_NOT_GIVEN: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DynoSettings(MechanismSwitches):
    """Settings of one instance of a queue.

    ``shards``: every shard of the queue, in the order in which they are searched. ``shard``: the one this instance
    pops from and whose expired leases it requeues. ``unack_ms``: length of a lease; if not given 60 000, and 60 with
    ``compat``, because the original's field says 60 and counts milliseconds. ``unack_interval_ms``: period of the unack
    handler, so an unacknowledged message comes back between ``unack_ms`` and the sum of both.
    ``poll_interval_ms``: pause between two reads of a waiting pop (50, or 200 with ``compat``, if not given).
    ``unack_batch``: expired leases read at a time. ``single_ring``: all keys of a zone are on one server, so that the
    handler requeues by a script. ``compat``: reproduce the defects of the original, listed in docs/dyno-queues.md.
    ``without``: mechanisms that are switched off.
    """

    prefix: str
    shards: tuple[str, ...]
    shard: str
    unack_ms: int = _NOT_GIVEN
    unack_interval_ms: int = 60_000
    poll_interval_ms: int | None = None
    unack_batch: int = 1000
    single_ring: bool = False
    compat: bool = False

    def __post_init__(self) -> None:
        if self.unack_ms is _NOT_GIVEN:
            object.__setattr__(self, "unack_ms", COMPAT_UNACK_MS if self.compat else UNACK_MS)
        if not self.prefix:
            raise ValueError(f"prefix must be a non-empty string, got {self.prefix!r}")
        if not self.shards or not all(self.shards) or len(set(self.shards)) != len(self.shards):
            raise ValueError(f"shards must be one or more distinct non-empty names, got {self.shards!r}")
        if self.shard not in self.shards:
            raise ValueError(f"shard must be one of {', '.join(self.shards)}, got {self.shard!r}")
        for name in ("unack_ms", "unack_interval_ms", "poll_interval_ms", "unack_batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        check_without(self.without, tuple(DynoMechanism))

    @property
    def pop_poll_ms(self) -> int:
        if self.poll_interval_ms is not None:
            return self.poll_interval_ms
        return COMPAT_POLL_INTERVAL_MS if self.compat else POLL_INTERVAL_MS
