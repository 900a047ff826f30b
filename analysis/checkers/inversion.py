"""Priority inversions: urgent messages that were passed over for less urgent ones of the same shard and due time.

Message *m* was passed over if a message *o* with a higher priority number existed such that *m*'s push was
confirmed before *o*'s pop was invoked, and *m*'s own pop was invoked only after *o*'s pop had completed.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.checkers.events import Ints

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


def partition_by_group(batch: pa.RecordBatch, partitions: int) -> NDArray[np.int64]:
    """A partition for each row of ``SERVED``, the same for all rows of one shard and due time."""
    due_ms, shard = batch["due_ms"].to_numpy(), batch["shard"].to_numpy().astype(np.int64)
    wanted: NDArray[np.int64] = (due_ms + 7919 * shard) % partitions
    return wanted


def passed_over(table: pa.Table) -> Ints:
    """Rows of ``table`` (``SERVED``) that were passed over. O(n log n) for n rows."""
    due_ms, shard, priority, pushed, popped, served = (
        table[name].to_numpy() for name in ("due_ms", "shard", "priority", "pushed_ns", "popped_ns", "served_ns")
    )
    order = np.lexsort((popped, due_ms, shard))
    changes = (np.diff(due_ms[order]) != 0) | (np.diff(shard[order]) != 0)
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]
    found: list[int] = []
    for begin, end in itertools.pairwise(bounds):
        if end - begin > 1:
            rows = order[begin:end]
            found.extend(rows[_passed_over_in_group(priority[rows], pushed[rows], popped[rows], served[rows])].tolist())
    return np.array(sorted(found), dtype=np.int64)


def _passed_over_in_group(priority: NDArray[np.int16], pushed: Ints, popped: Ints, served: Ints) -> list[int]:
    """Positions of the passed-over messages of one group; ``popped`` is sorted."""
    if priority.min() == priority.max():
        return []
    return list(_sweep(priority.astype(np.int64) - int(priority.min()), pushed, popped, served))


def _sweep(rank: Ints, pushed: Ints, popped: Ints, served: Ints) -> Iterator[int]:
    """Walk the messages in the order of their pops; remember the latest finished pop of every priority."""
    latest_pop = np.full(int(rank.max()) + 2, np.iinfo(np.int64).min)
    finished = iter(np.argsort(served, kind="stable").tolist())
    other = next(finished, None)
    for mine in range(len(rank)):
        while other is not None and served[other] < popped[mine]:
            latest_pop[rank[other]] = max(latest_pop[rank[other]], popped[other])
            other = next(finished, None)
        if latest_pop[rank[mine] + 1 :].max() > pushed[mine]:
            yield mine
