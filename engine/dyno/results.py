"""Results that queues report: the size of a shard, one run of the unack handler, and totals over a lifetime."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardSize:
    """Entries of one shard: ``waiting`` or delayed, and leased (``unacked``)."""

    waiting: int
    unacked: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UnackResult:
    """Counts of one run of the unack handler over the own shard.

    ``requeued``: messages moved from the leases back to the queue (both replies said so). ``stale``: leases removed
    because their payload is gone. ``queue_depth``: waiting messages of all shards before the run.
    """

    requeued: int
    stale: int
    queue_depth: int


@dataclass(kw_only=True, slots=True)
class Counters:
    """Totals since the queue object was made.

    ``misses``: candidates that could not be leased (another consumer was first, or the payload is missing).
    ``curtailed_pops``: pops that an error cut short and that returned the messages leased before it. ``requeued`` and
    ``stale``: as in ``UnackResult``, over all runs, those that failed half-way included.
    """

    misses: int = 0
    curtailed_pops: int = 0
    requeued: int = 0
    stale: int = 0
