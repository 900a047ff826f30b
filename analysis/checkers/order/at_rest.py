"""Logs and cursors at rest: what the zones decide together, and how far single ones differ from that."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zonelab.analysis.checkers.order.intervals import first_of_each
from zonelab.analysis.checkers.order.log import same_records
from zonelab.analysis.checkers.order.rows import BITS, TEXTS, Books, Ints, Rows, StringNumbers, ballots
from zonelab.analysis.checkers.spill import Columns
from zonelab.analysis.runs.order import PLACES

FINAL_COLUMNS_MORE = ("sequence", "position")
LOG, CURSOR, DEAD, PARKED, SINK, INBOX = range(len(PLACES))
_PLAIN = ("offset", *FINAL_COLUMNS_MORE)
FINAL_EVENTS = pa.schema(
    [
        *(pa.field(name, pa.int64()) for name in ("place", "zone", "group", "partition", "producer", "token", *_PLAIN)),
        *(pa.field(name, pa.string()) for name in TEXTS),
    ]
)


def encode_final(batch: pa.RecordBatch, books: Books, zones: StringNumbers) -> pa.RecordBatch:
    """A batch of the table of what is held at rest, as ``FINAL_EVENTS``."""
    columns = {
        "place": StringNumbers({name: code for code, name in enumerate(PLACES)}).encode(batch["place"]),
        "zone": zones.encode(batch["zone"]),
        "token": ballots(batch),
        **{name: pc.fill_null(batch[name], -1) for name in _PLAIN},
        **{name: books.names[name].encode(batch[name]) for name in ("group", "partition", "producer")},
        **{name: batch[name] for name in TEXTS},
    }
    return pa.RecordBatch.from_pydict(columns, schema=FINAL_EVENTS)


@dataclass(frozen=True, slots=True)
class AtRest:
    """``log``: one row a decided offset. ``cursors``: one row a place. ``sinks``: what they hold. ``waiting``: records
    that a majority has, in its logs or without an offset.

    ``divergence``: partition → offsets and divergent offsets.
    """

    log: Rows
    cursors: Rows
    sinks: Rows
    waiting: Rows
    divergence: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, final: Columns, texts: Mapping[str, StringNumbers], *, zones: int) -> "AtRest":
        """Return what is held by ``final``, as ``FINAL_EVENTS``. ``zones``: how many there are, read or not."""
        place, zone = final["place"], final["zone"]
        rows = _rows(final, texts)
        logged = place == LOG
        log, divergence = _decided_log(rows.where(logged), zone[logged], zones)
        cursors = _decided_cursors(rows.where(place == CURSOR), zones)
        waiting = _held_by_most(rows.where(logged | (place == INBOX)), zone[logged | (place == INBOX)], zones)
        return cls(log, cursors, rows.where(place == SINK), waiting, divergence)


def _rows(final: Columns, texts: Mapping[str, StringNumbers]) -> Rows:
    nothing = np.full(len(final["place"]), -1, dtype=np.int64)
    columns = {name: final[name] for name in ("group", "partition", "producer", "token", *_PLAIN)}
    columns |= {name: texts[name].encode(final[name]) for name in TEXTS}
    return Rows(**{name: columns.get(name, nothing).copy() for name in Rows.__slots__})


def _decided_log(rows: Rows, zone: Ints, zones: int) -> tuple[Rows, dict[int, tuple[int, int]]]:
    """Return what a majority holds alike at each offset. A zone that could not be read holds nothing."""
    order = np.lexsort((zone, rows.message_id, rows.spot))
    rows, zone = rows.where(order), zone[order]
    kept = first_of_each(rows.spot, rows.message_id, zone)
    rows = rows.where(kept)
    firsts = first_of_each(rows.spot, rows.message_id)
    holders = np.bincount(np.cumsum(firsts) - 1, minlength=int(firsts.sum()))
    contents = rows.where(firsts)
    spots = first_of_each(contents.spot)
    all_alike = np.unique(contents.spot[holders == zones])
    at = np.unique(contents.partition[spots], return_counts=True)
    alike = dict(zip(*(one.tolist() for one in np.unique(all_alike >> BITS, return_counts=True)), strict=True))
    divergence = {one: (count, count - alike.get(one, 0)) for one, count in zip(*(a.tolist() for a in at), strict=True)}
    return contents.where(holders > zones // 2), divergence


def _held_by_most(rows: Rows, zone: Ints, zones: int) -> Rows:
    """One row a record that a majority has, at whatever offset, or without one."""
    records, _ = same_records(rows, rows.where(np.arange(0)))
    pairs = np.unique(np.stack([records, zone]), axis=1)
    known, holders = np.unique(pairs[0], return_counts=True)
    kept = np.isin(records, known[holders > zones // 2])
    return rows.where(np.flatnonzero(kept)[np.unique(records[kept], return_index=True)[1]])


def _decided_cursors(rows: Rows, zones: int) -> Rows:
    """The newest that a majority of zones has reached, by token and then offset."""
    whose = rows.group << BITS | rows.partition
    order = np.lexsort((-rows.offset, -rows.token, whose))
    rows, whose = rows.where(order), whose[order]
    first = np.flatnonzero(first_of_each(whose))
    sizes = np.diff([*first, len(rows)])
    majority = zones // 2 + 1
    return rows.where(first[sizes >= majority] + majority - 1)


def cursor_by_place(rows: Rows) -> dict[tuple[int, int], int]:
    """(group, partition) → the cursor of its last row; at rest the offset is one."""
    cursor = np.where(rows.cursor < 0, rows.offset, rows.cursor)
    return dict(zip(zip(rows.group.tolist(), rows.partition.tolist(), strict=True), cursor.tolist(), strict=True))
