"""Priority inversions: urgent messages that were passed over for less urgent ones of the same shard and due time.

Message *m* was passed over if a message *o* with a higher priority number existed such that *m*'s push was
confirmed before *o*'s pop was invoked, and *m*'s own pop was invoked only after *o*'s pop had completed.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zonelab.analysis.checkers.queue.events import Ints
from zonelab.analysis.checkers.spill import Columns

SERVED = pa.schema(
    [
        pa.field("message_id", pa.string()),
        *(
            pa.field(name, pa.int64())
            for name in ("index", "delivery", "due_ms", "pushed_ns", "popped_ns", "served_ns")
        ),
        *(pa.field(name, pa.int16()) for name in ("shard", "priority")),
    ]
)


_NEVER = int(np.iinfo(np.int64).min)


def partition_by_group(served: Columns, partitions: int) -> NDArray[np.int64]:
    """Return a partition for each row of ``SERVED``, the same for all rows of one shard and due time."""
    wanted: NDArray[np.int64] = (served["due_ms"] + 7919 * served["shard"].astype(np.int64)) % partitions
    return wanted


def passed_over(rows: Columns) -> Ints:
    """Return which of ``rows`` (``SERVED``) were passed over. O(n log n) for n rows."""
    due_ms, shard, priority, pushed, popped, served = (
        rows[name] for name in ("due_ms", "shard", "priority", "pushed_ns", "popped_ns", "served_ns")
    )
    if not len(priority) or (priority == priority[0]).all():
        return np.empty(0, dtype=np.int64)
    order = np.lexsort((priority, popped, due_ms, shard))
    same_group = (np.diff(due_ms[order]) == 0) & (np.diff(shard[order]) == 0)
    bounds = np.concatenate([[0], np.flatnonzero(~same_group) + 1, [len(order)]])
    # A group that was popped in the order of priority holds no inversion, and most groups are popped so.
    suspect = np.flatnonzero(same_group & (np.diff(priority[order]) < 0))
    found: list[int] = []
    for group in np.unique(np.searchsorted(bounds, suspect, side="right") - 1).tolist():
        members = order[bounds[group] : bounds[group + 1]]
        columns = (column[members].tolist() for column in (priority, pushed, popped, served))
        found.extend(members[list(_sweep(*columns))].tolist())
    return np.array(sorted(found), dtype=np.int64)


def _sweep(priority: list[int], pushed: list[int], popped: list[int], served: list[int]) -> Iterator[int]:
    """Positions of the passed-over messages of one group, whose ``popped`` is sorted.

    Walks the messages in the order of their pops and keeps, for every priority, the latest pop that has completed.
    """
    latest_pop = [_NEVER] * (max(priority) + 2)
    finished = iter(sorted(range(len(served)), key=served.__getitem__))
    other = next(finished, None)
    for mine, urgency in enumerate(priority):
        while other is not None and served[other] < popped[mine]:
            latest_pop[priority[other]] = max(latest_pop[priority[other]], popped[other])
            other = next(finished, None)
        if max(latest_pop[urgency + 1 :]) > pushed[mine]:
            yield mine
