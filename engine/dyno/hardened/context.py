"""State that the parts of one hardened queue object share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from zonelab.engine.common.timings import Total
from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.dyno.hardened.records.replica_reads import Replicas
from zonelab.engine.dyno.hardened.records.steps import Steps
from zonelab.engine.dyno.hardened.settings import HardenedSettings
from zonelab.engine.ports import Clock, Connection, Runtime


@dataclass(kw_only=True, slots=True)
class HardenedCounters:
    """Totals since the queue object was made.

    ``misses``: candidates that could not be leased. ``proven``: leases that no vote confirmed but two zones showed.
    ``given_back``: leases that nobody won. ``repaired``: records given to a zone that lacked them or had an older one.
    ``adopted``: payloads without record that were listed. ``refused``: acks and extensions of lost leases.
    ``extended``: leases that the heartbeat moved. ``set_aside``: dead letters. ``taken_over``: shards served for
    another zone.
    """

    misses: int = 0
    proven: int = 0
    given_back: int = 0
    repaired: int = 0
    adopted: int = 0
    refused: int = 0
    extended: int = 0
    set_aside: int = 0
    taken_over: int = 0


def totals_of(counters: HardenedCounters) -> tuple[Total, ...]:
    """Return the counters that a hardened queue adds to the original's metrics."""
    return (
        Total("lease_proven", "Leases that no vote confirmed but two zones showed", lambda: counters.proven),
        Total("lease_given_back", "Leases that nobody won, given back at once", lambda: counters.given_back),
        Total("lease_extended", "Leases that the heartbeat moved", lambda: counters.extended),
        Total("ack_refused", "Acks and extensions of leases that were lost", lambda: counters.refused),
        Total("record_mended", "Records for zones that lacked them or had an older one", lambda: counters.repaired),
        Total("orphan_adopted", "Payloads without record that were listed", lambda: counters.adopted),
        Total("dead_letter", "Messages set aside", lambda: counters.set_aside),
        Total("shard_takeover", "Shards that were served for another zone", lambda: counters.taken_over),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class HardenedContext:
    """State of the queue ``keys.queue`` in one program."""

    runtime: Runtime
    clock: Clock
    steps: Steps
    replicas: Replicas
    keys: HardenedKeys
    settings: HardenedSettings
    counters: HardenedCounters = field(default_factory=HardenedCounters)

    @classmethod
    def of(
        cls,
        queue: str,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        safe: Connection,
        local: Connection,
        zones: Mapping[str, Connection],
        settings: HardenedSettings,
    ) -> Self:
        """Connections as ``HardenedQueue`` takes them. Raises ``ValueError`` if ``zones`` lacks the own zone."""
        if not queue:
            raise ValueError(f"name must be a non-empty string, got {queue!r}")
        if settings.shard not in zones:
            raise ValueError(f"zones must have the own zone {settings.shard!r}, got {list(zones)}")
        keys = HardenedKeys(prefix=settings.prefix, queue=queue)
        others = [zone for name, zone in zones.items() if name != settings.shard]
        steps = Steps(level=quorum, safe=safe, local=local, others=others, keys=keys, settings=settings)
        replicas = Replicas(zones=zones, keys=keys, runtime=runtime)
        return cls(runtime=runtime, clock=clock, steps=steps, replicas=replicas, keys=keys, settings=settings)
