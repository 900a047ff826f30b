"""What the parts of one hardened queue object share."""

from dataclasses import dataclass, field

from engine.common.timings import Total
from engine.dyno.hardened.records.keys import HardenedKeys
from engine.dyno.hardened.records.replica_reads import Replicas
from engine.dyno.hardened.records.steps import Steps
from engine.dyno.hardened.settings import HardenedSettings
from engine.ports import Clock, Runtime


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
    """What a hardened queue counts beyond the original's figures, for whoever reads metrics."""
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
    runtime: Runtime
    clock: Clock
    steps: Steps
    replicas: Replicas
    keys: HardenedKeys
    settings: HardenedSettings
    counters: HardenedCounters = field(default_factory=HardenedCounters)
