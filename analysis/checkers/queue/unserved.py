"""Messages that the drain ended too soon for: *unserved*, and not stuck.

One of them is due, waits in the list of every zone, and nobody holds a lease of it; and its shard was still being
served: in the last second of the drain other messages were delivered for the first time, after waits that were not much
shorter. A message that has waited for far longer than these was passed over, and is stuck.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil

import numpy as np
import pyarrow as pa

from zonelab.analysis.checkers.queue.events import Bools
from zonelab.analysis.checkers.spill import Columns

LAST_NS = 1_000_000_000
"""The part of the drain, at its end, that shows whether messages are still being served."""

WAIT_FACTOR = 2
WAIT_MORE_MS = 1_000
"""Queues serve about in the order of due times, and not exactly."""

WAITING = pa.schema(
    [
        pa.field("message_id", pa.string()),
        pa.field("index", pa.int64()),
        pa.field("since_ms", pa.int64()),
        pa.field("shard", pa.int16()),
        pa.field("detail", pa.string()),
    ]
)
"""Messages that wait in every zone at the end; ``since_ms``: when each became due, or its last lease ended."""


@dataclass(slots=True)
class ShardService:
    """The deliveries of each shard in the last second of the drain, and the messages that it left unserved."""

    longest_ms: dict[int, int] = field(default_factory=dict)
    deliveries: Counter[int] = field(default_factory=Counter)
    unserved: Counter[int] = field(default_factory=Counter)

    def add(self, waits: Iterable[tuple[int, int]]) -> None:
        """First deliveries: the shard of each, and how long after it was due it was made."""
        for shard, late_ms in waits:
            self.longest_ms[shard] = max(late_ms, self.longest_ms.get(shard, late_ms))
            self.deliveries[shard] += 1

    def decide(self, waiting: Columns, *, drained_ms: int) -> Bools:
        """Return which rows of ``waiting`` (``WAITING``) are unserved; the others are stuck."""
        shards = waiting["shard"]
        found = np.zeros(len(shards), dtype=np.bool_)
        for shard, longest_ms in self.longest_ms.items():
            waited_ms = drained_ms - waiting["since_ms"]
            found |= (shards == shard) & (waited_ms <= WAIT_FACTOR * longest_ms + WAIT_MORE_MS)
        for shard in shards[found].tolist():
            self.unserved[shard] += 1
        return found

    @property
    def more_s(self) -> int:
        """For how much longer the drain should have gone on, at the rate of its last second."""
        return max((ceil(count / self.deliveries[shard]) for shard, count in self.unserved.items()), default=0)
