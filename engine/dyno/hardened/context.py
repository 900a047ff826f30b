"""What the parts of one hardened queue object share."""

from dataclasses import dataclass, field

from engine.dyno.hardened.records.keys import HardenedKeys
from engine.dyno.hardened.records.replica_reads import Replicas
from engine.dyno.hardened.records.steps import Store
from engine.dyno.hardened.settings import HardenedSettings
from engine.ports import Clock, Runtime


@dataclass(kw_only=True, slots=True)
class HardenedCounters:
    """Totals since the queue object was made.

    ``misses``: candidates that could not be leased. ``proven``: leases that no vote confirmed but two zones showed.
    ``given_back``: leases that nobody won. ``mended``: records given to a zone that lacked them or had an older one.
    ``adopted``: payloads without record that were listed. ``refused``: acks and extensions of lost leases.
    ``extended``: leases that the heartbeat moved. ``set_aside``: dead letters. ``taken_over``: shards served for
    another zone.
    """

    misses: int = 0
    proven: int = 0
    given_back: int = 0
    mended: int = 0
    adopted: int = 0
    refused: int = 0
    extended: int = 0
    set_aside: int = 0
    taken_over: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class HardenedContext:
    runtime: Runtime
    clock: Clock
    store: Store
    replicas: Replicas
    keys: HardenedKeys
    settings: HardenedSettings
    counters: HardenedCounters = field(default_factory=HardenedCounters)
