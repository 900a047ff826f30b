"""Measures over the operations of a history: latencies, outages, lateness, deliveries; one rule each for every reader.

All of them take batches of ``zonelab.analysis.runs.history.OPERATIONS``, of a run directory (``RunDirectory``) or of a
run in memory (``MemoryTable.batch``). The rules:

* An event of several rows counts once, by its first row.
* A latency runs from the invocation to the end. An operation is *confirmed* if it ended ``ok``.
* An operation *works* if it is confirmed, or was refused because the lease had ended: an answer, not an outage.
* A message is *ready* when it is due and its push is confirmed. A row of a confirmed pop is a *delivery*.
* A message ends with its first confirmed ack: end to end it takes from the begin of its confirmed push to then.
* Lateness runs from the least due time that any push of the message gave it to the end of its first delivery.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.id_hashes import id_hashes
from zonelab.analysis.runs.history import NO_LEASE
from zonelab.analysis.units import NS_PER_MS, NS_PER_S

Mask = NDArray[np.bool_]
Nanoseconds = NDArray[np.int64]


def first_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Mask]]:
    """Yield each batch, and which of its rows are the first of their events."""
    last_index = -1
    for batch in batches:
        index = batch["index"].to_numpy()
        yield batch, np.diff(index, prepend=last_index) != 0
        last_index = int(index[-1]) if index.size else last_index


def events(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first row of each event."""
    for batch, first in first_rows(batches):
        yield chosen(batch, first)


def chosen(batch: pa.RecordBatch, mask: Mask) -> pa.RecordBatch:
    return batch.filter(pa.array(mask))


def having(batch: pa.RecordBatch, column: str, word: str) -> Mask:
    """Return which rows have ``word`` in ``column``, which is a category; null is no word."""
    words, places = batch[column].dictionary, pc.fill_null(batch[column].indices, -1)
    found: Mask = np.append(_mask(pc.equal(words, word)), False)[places.to_numpy()]
    return found


def present(batch: pa.RecordBatch, column: str) -> Mask:
    return _mask(pc.is_valid(batch[column]))


def confirmed(batch: pa.RecordBatch) -> Mask:
    return having(batch, "type", "ok")


def works(batch: pa.RecordBatch) -> Mask:
    return confirmed(batch) | _mask(pc.fill_null(pc.equal(batch["error"], NO_LEASE), fill_value=False))


def delivers(batch: pa.RecordBatch) -> Mask:
    return having(batch, "f", "pop") & confirmed(batch) & present(batch, "message_id")


def latency_ns(ended: pa.RecordBatch, *, since: str = "invoke_ns") -> Nanoseconds:
    """Return how long operations took; ``ended`` has rows of their ends, in which ``since`` is never null."""
    taken: Nanoseconds = pc.subtract(ended["time_ns"], ended[since]).to_numpy()
    return taken


def ready_ns(pushes: pa.RecordBatch, *, epoch_ns: int) -> Nanoseconds:
    """Return when messages became ready, in run time; ``pushes``: rows of confirmed ones."""
    due_ms = pc.fill_null(pushes["due_ms"], 0).to_numpy(zero_copy_only=False)
    latest: Nanoseconds = np.maximum(due_ms * NS_PER_MS - epoch_ns, pushes["time_ns"].to_numpy())
    return latest


@dataclass(slots=True)
class Outages:
    """When an operation did not work in a zone, from its completions in the order of time.

    An outage opens at the invocation of the first completion that does not work and closes at the next one that does;
    one that begins while an earlier outage was still open begins where that one ended.
    """

    spans_ns: list[tuple[int, int]] = field(default_factory=list)
    _open_ns: int | None = None
    _closed_ns: int = 0

    def add(self, ended: pa.RecordBatch) -> None:
        """Go on with completions of the operation in the zone, in the order of their ends."""
        if not len(ended):
            return
        invoke_ns, time_ns, now = ended["invoke_ns"].to_numpy(), ended["time_ns"].to_numpy(), works(ended)
        # Only changes between working and not working matter, so long stretches of either cost nothing.
        before = np.concatenate([[self._open_ns is None], now[:-1]])
        for row in np.flatnonzero(now != before).tolist():
            if self._open_ns is None:
                self._open_ns = max(int(invoke_ns[row]), self._closed_ns)
            else:
                self._closed_ns = int(time_ns[row])
                self.spans_ns.append((self._open_ns, self._closed_ns))
                self._open_ns = None

    def total_s(self, *, until_ns: int) -> float:
        """Return the seconds of outage before ``until_ns``."""
        return sum(end - begin for begin, end in self.until(until_ns)) / NS_PER_S

    def until(self, until_ns: int) -> list[tuple[int, int]]:
        """Return begin and end of each outage before ``until_ns``, where one that is still open ends."""
        spans = [*self.spans_ns, *([] if self._open_ns is None else [(self._open_ns, until_ns)])]
        return [(begin, min(end, until_ns)) for begin, end in spans if begin < until_ns]


@dataclass(slots=True)
class Lateness:
    """Due time and first delivery of messages, of a share of them chosen by id when there are more than ``limit``.

    ``every``: of so many messages one is kept.
    """

    limit: int | None = None
    every: int = 1
    _due_ms: dict[str, int] = field(default_factory=dict)
    _first_ns: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Go on with rows of the history, in its order."""
        pushes = self._kept(batch, having(batch, "f", "push") & present(batch, "message_id") & present(batch, "due_ms"))
        for message_id, due_ms in zip(pushes["message_id"].to_pylist(), pushes["due_ms"].to_pylist(), strict=True):
            self._due_ms[message_id] = min(due_ms, self._due_ms.get(message_id, due_ms))
        pops = self._kept(batch, delivers(batch))
        times_ns = zip(pops["invoke_ns"].to_pylist(), pops["time_ns"].to_pylist(), strict=True)
        for message_id, begin_and_end_ns in zip(pops["message_id"].to_pylist(), times_ns, strict=True):
            self._first_ns.setdefault(message_id, begin_and_end_ns)
        while self.limit is not None and max(len(self._due_ms), len(self._first_ns)) > self.limit:
            self.every *= 2
            for table in (self._due_ms, self._first_ns):
                left_out = id_hashes(table, count=len(table)) % self.every != 0
                for message_id in [one for one, out in zip(table, left_out, strict=True) if out]:
                    del table[message_id]

    def of_messages(self, *, epoch_ns: int) -> Iterator[tuple[int, int, int]]:
        """Yield of each message: when it was due, and begin and end of the pop that delivered it first; in run time.

        In whole nanoseconds: a wall clock in ns has more digits than a float.
        """
        for message_id, (begin_ns, end_ns) in self._first_ns.items():
            if message_id in self._due_ms:
                yield self._due_ms[message_id] * NS_PER_MS - epoch_ns, begin_ns, end_ns

    def _kept(self, batch: pa.RecordBatch, wanted: Mask) -> pa.RecordBatch:
        rows = chosen(batch, wanted)
        if self.every == 1 or not len(rows):
            return rows
        ids = rows["message_id"].to_numpy(zero_copy_only=False)
        return chosen(rows, id_hashes(ids, count=len(ids)) % self.every == 0)


@dataclass(slots=True)
class EndToEnd:
    """Begin of the confirmed push of every message that has one, and the end of its first confirmed ack."""

    _begin_ns: dict[str, int] = field(default_factory=dict)
    _end_ns: dict[str, int] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Go on with rows of the history, in its order."""
        ended = confirmed(batch) & present(batch, "message_id")
        for table, name, column in ((self._begin_ns, "push", "invoke_ns"), (self._end_ns, "ack", "time_ns")):
            rows = chosen(batch, ended & having(batch, "f", name))
            for message_id, time_ns in zip(rows["message_id"].to_pylist(), rows[column].to_pylist(), strict=True):
                table.setdefault(message_id, time_ns)

    def of_messages(self) -> Iterator[tuple[int, int | None]]:
        """Yield begin and end of each message in run time; no end if no ack of it was confirmed."""
        for message_id, begin_ns in self._begin_ns.items():
            yield begin_ns, self._end_ns.get(message_id)


def _mask(found: pa.Array) -> Mask:
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask
