"""Logs: they have what was confirmed to producers, in the order of the confirmations: I1 and I2.

Appends that were confirmed before they had an offset are judged by where they came to stand: ``placed``.
"""

from dataclasses import replace

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import dense, first_of_each, latest_before, least
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import BITS, KINDS, OK, Books, Bools, Ints, Rows
from zonelab.analysis.runs.order import OrderKind

ROUNDING_NS = 2_000_000
"""Due times are whole milliseconds of a clock that the lab's own time differs from."""


_RECORD = ("partition", "message_id", "producer", "sequence")
"""Columns that distinguish records, whatever their offsets."""


def placed(rows: Rows, log: Rows, books: Books) -> Rows:
    """``rows``; a confirmed append without offset has the first one at which its message was begun.

    If it never was, the one at which the decided ``log`` at rest has its record, else still none. Such an append, and
    one that found its record there, began when the record was first sent, perhaps by a push that failed. Delayed
    messages, which go into the log when they are due, are left as they are.
    """
    confirmed = (rows.kind == KINDS[OrderKind.PRODUCE]) & (rows.outcome == OK)
    again = confirmed & (rows.offset >= 0) & (rows.status == books.code("status", "duplicate"))
    nowhere = _unplaced(rows)
    at = np.flatnonzero(nowhere | again)
    if not len(at):
        return rows
    starts, sent, produced = rows.of_kind(OrderKind.START), rows.of_kind(OrderKind.PRODUCE), rows.where(at)
    begun = least(_message(starts), starts.offset, _message(produced), otherwise=-1)
    known, wanted = same_records(log, produced)
    known_sent, wanted_sent = same_records(sent, produced)
    offset, invoke_ns = rows.offset.copy(), rows.invoke_ns.copy()
    invoke_ns[at] = least(known_sent, sent.invoke_ns, wanted_sent, otherwise=-1)
    found = np.where(begun >= 0, begun, least(known, log.offset, wanted, otherwise=-1))
    offset[at] = np.where(nowhere[at], found, produced.offset)
    return replace(rows, offset=offset, invoke_ns=invoke_ns)


def unplaced(rows: Rows, waiting: Rows) -> Rows:
    """Return the confirmed appends of ``placed`` that are nowhere, not even ``waiting`` for an offset at rest."""
    produced = rows.where(_unplaced(rows))
    known, wanted = same_records(waiting, produced)
    return produced.where(~np.isin(wanted, known))


def same_records(one: Rows, other: Rows) -> tuple[Ints, Ints]:
    """A number for each row of both; records that are the same have the same."""
    columns = [np.concatenate([getattr(one, name), getattr(other, name)]) for name in _RECORD]
    order = np.lexsort(columns)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(first_of_each(*(column[order] for column in columns)))
    return numbers[: len(one)], numbers[len(one) :]


def _unplaced(rows: Rows) -> Bools:
    found: Bools = (rows.offset < 0) & (rows.until_ns < 0) & (rows.partition >= 0)
    return found & np.isin(rows.index, rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,)).index)


def _message(rows: Rows) -> Ints:
    return rows.partition << BITS | rows.message_id


def check_produced_in_order(rows: Rows, findings: OrderFindings) -> None:
    """I1: what a producer began after an earlier message of the key was confirmed stands behind it.

    In one epoch that is the same partition and a greater offset. Of messages that were in flight at the same time the
    producer's own numbers say which is earlier: one that keeps the order of a key has none there.
    """
    produced = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    produced = produced.where((produced.producer >= 0) & (produced.key >= 0) & (produced.offset >= 0))
    whose = produced.producer << BITS | produced.key
    place = np.maximum(produced.epoch, 0) << BITS | produced.offset
    before = latest_before(whose, produced.time_ns, place, whose, produced.invoke_ns)
    later = before >= 0
    findings.exercised(Property.PRODUCED_IN_ORDER, later.sum())
    same_epoch = later & (produced.epoch[before] == produced.epoch)
    moved = same_epoch & (produced.partition[before] != produced.partition)
    findings.add(Property.PRODUCED_IN_ORDER, "another partition", produced.where(moved))
    behind = later & ~moved & (place[before] >= place)
    again = behind & (place[before] == place) & (produced.message_id[before] == produced.message_id)
    found = behind & ~again
    offsets = produced.offset[before[found]]
    findings.add(
        Property.PRODUCED_IN_ORDER, "in front", produced.where(found), lambda row: f"offset {offsets[row]} was earlier"
    )
    _overtaken(produced.where(~found & (produced.sequence >= 0)), findings)


def _overtaken(produced: Rows, findings: OrderFindings) -> None:
    """Those of a producer, key, epoch and partition that stand behind one with a greater number."""
    spot = produced.epoch << BITS | produced.partition
    produced = produced.where(np.lexsort((produced.sequence, spot, produced.producer << BITS | produced.key)))
    spot = produced.epoch << BITS | produced.partition
    first = first_of_each(produced.producer << BITS | produced.key, spot)
    unit = np.cumsum(first)
    most = np.maximum.accumulate(unit << BITS | produced.offset)
    behind = np.zeros(len(produced), dtype=np.bool_)
    behind[1:] = ~first[1:] & (most[:-1] > (unit << BITS | produced.offset)[1:])
    findings.add(Property.PRODUCED_IN_ORDER, "overtaken", produced.where(behind))


def check_due_in_order(rows: Rows, findings: OrderFindings) -> None:
    """I1 of delayed messages, which have an offset only when they are due: those of a key stand by due time.

    Due times that differ by less than ``ROUNDING_NS`` are the same, and so are not judged; nor is what was confirmed
    only when the other was due.
    """
    delayed = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    delayed = delayed.where((delayed.producer >= 0) & (delayed.key >= 0) & (delayed.offset < 0))
    starts = rows.of_kind(OrderKind.START)
    known, at = np.unique(starts.message_id, return_index=True)
    if not len(known):
        return
    where = np.minimum(np.searchsorted(known, delayed.message_id), len(known) - 1)
    begun = known[where] == delayed.message_id
    delayed, starts = (
        delayed.where((delayed.until_ns >= 0) & begun),
        starts.where(at[where[(delayed.until_ns >= 0) & begun]]),
    )
    whose = starts.partition << BITS | dense(delayed.producer << BITS | delayed.key)
    known_ns = np.maximum(delayed.until_ns, delayed.time_ns)
    before = latest_before(whose, known_ns, starts.offset, whose, delayed.until_ns - ROUNDING_NS)
    later = before >= 0
    findings.exercised(Property.PRODUCED_IN_ORDER, later.sum())
    found = later & (starts.offset[before] > starts.offset)
    findings.add(Property.PRODUCED_IN_ORDER, "in front of one due earlier", starts.where(found))


def check_log(
    rows: Rows, log: Rows, waiting: Rows, findings: OrderFindings, *, idempotent: bool, log_known: bool
) -> None:
    """I2. ``log``: decided at rest; only what lies in front of its first offset may have been trimmed.

    ``waiting``: what is there at rest, though it may have no offset yet.
    """
    produced = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    produced = produced.where(produced.offset >= 0)
    by_spot = produced.where(np.lexsort((produced.index, produced.message_id, produced.spot)))
    shared = ~first_of_each(by_spot.spot) & first_of_each(by_spot.spot, by_spot.message_id)
    findings.add(Property.ONE_LOG, "offset given twice", by_spot.where(shared))
    if idempotent:
        _once(produced, log, findings)
    if not log_known:
        return
    kept = produced.where(produced.offset >= _first_offset(log, produced.partition))
    nowhere = unplaced(rows, waiting)
    findings.exercised(Property.ONE_LOG, len(kept) + len(nowhere))
    findings.add(Property.ONE_LOG, "confirmed and lost", nowhere)
    found = _content_at(log, kept.spot)
    findings.add(Property.ONE_LOG, "confirmed and lost", kept.where(found < 0))
    other = (found >= 0) & (found != kept.message_id)
    findings.add(Property.ONE_LOG, "confirmed and replaced", kept.where(other))
    holes = ~first_of_each(log.partition)
    holes[1:] &= log.offset[1:] != log.offset[:-1] + 1
    at = np.flatnonzero(holes)
    findings.add_many_at_rest(Property.ONE_LOG, "hole", log.partition[at], log.group[at], log.offset[at] - 1)


def _once(produced: Rows, log: Rows, findings: OrderFindings) -> None:
    """Each number of a producer and key has one offset."""
    numbered = np.concatenate([produced.producer, log.producer]) >= 0
    name = [np.concatenate([getattr(produced, one), getattr(log, one)])[numbered] for one in _NUMBERED]
    order = np.lexsort(name[::-1])
    producer, key, sequence, partition, offset = (one[order] for one in name)
    one_place = first_of_each(producer, key, sequence, partition, offset)
    again = np.flatnonzero(one_place & ~first_of_each(producer, key, sequence))
    nobody = np.full(len(again), -1, dtype=np.int64)
    findings.add_many_at_rest(Property.ONE_LOG, "appended twice", partition[again], nobody, offset[again])


_NUMBERED = ("producer", "key", "sequence", "partition", "offset")


def _first_offset(log: Rows, partition: Ints) -> Ints:
    """Return where the log of each partition begins; nothing of an empty one was trimmed."""
    known, at = np.unique(log.partition, return_index=True)
    first = log.offset[at]
    if not len(known):
        return np.zeros(len(partition), dtype=np.int64)
    where = np.minimum(np.searchsorted(known, partition), len(known) - 1)
    return np.where(known[where] == partition, first[where], 0)


def _content_at(log: Rows, spot: Ints) -> Ints:
    """The message at each spot of the log; -1 for none."""
    if not len(log):
        return np.full(len(spot), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(log.spot, spot), len(log) - 1)
    return np.where(log.spot[at] == spot, log.message_id[at], -1)
