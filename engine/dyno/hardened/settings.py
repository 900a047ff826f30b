"""Settings of a hardened queue, checked when they are made."""

import re
from dataclasses import dataclass

from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.mechanisms import check_without

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, kw_only=True, slots=True)
class HardenedSettings:
    """Settings of one instance of a hardened queue.

    ``instance``: a name that no other instance has or ever had, such as host, process id and start time: delivery
    tokens are made of it. ``shards``: every shard of the queue. ``shard``: the one this instance serves, which is also
    what it calls its zone. ``lease_ms``: length of a lease. ``margin_ms``: how far the clocks of two machines may
    differ; a lease counts as ended so much after its end. ``keeper_interval_ms``: period of comparing the zones.
    ``page``: how many ids are compared at a time. ``poll_interval_ms``: pause between two reads of a waiting pop.
    ``retention_ms``: how long a tombstone is kept; longer than any outage or delayed write. ``grace_ms``: age of a
    payload without record before it is listed. ``takeover_ms``: after so long without its own zone a shard is served by
    another. ``hold_max_ms``: how long a delivery is kept alive by the heartbeat. ``deliveries_max``: a message that was
    delivered so often is set aside instead of once more; None: never. ``payloads_compared``: only a payload that two
    zones have is delivered; for a queue of which two pushes of one id may differ. ``without``: mechanisms that are
    switched off.
    """

    prefix: str
    shards: tuple[str, ...]
    shard: str
    instance: str
    lease_ms: int = 60_000
    margin_ms: int = 1_000
    keeper_interval_ms: int = 1_000
    page: int = 50
    poll_interval_ms: int = 50
    retention_ms: int = 24 * 3600 * 1000
    grace_ms: int = 60_000
    takeover_ms: int = 30_000
    hold_max_ms: int = 3600 * 1000
    deliveries_max: int | None = None
    payloads_compared: bool = False
    without: tuple[Hardening, ...] = ()

    def __post_init__(self) -> None:
        if not self.prefix:
            raise ValueError(f"prefix must be a non-empty string, got {self.prefix!r}")
        if not self.shards or len(set(self.shards)) != len(self.shards):
            raise ValueError(f"shards must be one or more distinct names, got {self.shards!r}")
        for word in (*self.shards, self.instance):
            if not _WORD.fullmatch(word):
                raise ValueError(f"shards and instance must be non-empty and without blanks, got {word!r}")
        if self.shard not in self.shards:
            raise ValueError(f"shard must be one of {', '.join(self.shards)}, got {self.shard!r}")
        for name in ("lease_ms", "keeper_interval_ms", "page", "poll_interval_ms", "retention_ms", "takeover_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("margin_ms", "grace_ms", "hold_max_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}")
        if self.deliveries_max is not None and self.deliveries_max < 1:
            raise ValueError(f"deliveries_max must be at least 1 or None, got {self.deliveries_max!r}")
        check_without(self.without, tuple(Hardening))

    def has(self, mechanism: Hardening) -> bool:
        return mechanism not in self.without

    @property
    def clock_margin_ms(self) -> int:
        return self.margin_ms if self.has(Hardening.CLOCK_MARGIN) else 0
