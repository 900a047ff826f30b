"""Sequence: messages are begun and finished in their order: I3, I4, I5, I13."""

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import count_before, first_of_each
from zonelab.analysis.checkers.order.messages import (
    FAILURES,
    NEVER,
    SUCCESSES,
    OrderMessages,
    ends_with,
    tenure_of,
)
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import BITS, Bools, Ints, Rows
from zonelab.analysis.runs.order import OrderKind


def check_gaps(messages: OrderMessages, first: Ints, cursor: Ints, findings: OrderFindings) -> None:
    """I3. ``first``, ``cursor``: of each message's place, where its group began and has come to; -1 if unknown."""
    passed = (messages.offset >= first) & (messages.offset < cursor)
    findings.exercised(Property.NO_GAPS, passed.sum())
    gap = np.flatnonzero(passed & (messages.disposed_ns == NEVER))
    findings.add_many_at_rest(
        Property.NO_GAPS, "never finished", messages.partition[gap], messages.group[gap], messages.offset[gap]
    )


def check_strict_order(rows: Rows, messages: OrderMessages, first: Ints, findings: OrderFindings) -> None:
    """I4: the first start of a message lies behind the disposal of the one in front of it in its unit."""
    follows = (messages.before >= 0) & (messages.started_ns < NEVER)
    judged = follows & (messages.offset[messages.before] >= first[messages.before])
    findings.exercised(Property.STRICT_ORDER, judged.sum())
    early = np.flatnonzero(judged & (messages.started_ns < messages.disposed_ns[messages.before]))
    starts = _apart(rows, messages, _first_starts(rows, messages, early))
    in_front = messages.offset[messages.before[messages.row_of(starts.message)]] if len(starts) else early
    findings.add(
        Property.STRICT_ORDER, "begun early", starts, lambda row: f"offset {in_front[row]} was not finished by then"
    )


def _apart(rows: Rows, messages: OrderMessages, starts: Rows) -> Rows:
    """Without those that were handed out in one batch with the message in front, which may fail as a whole."""
    if not len(starts):
        return starts
    in_front = messages.message[messages.before[messages.row_of(starts.message)]]
    others = rows.of_kind(OrderKind.START)
    others = others.where(np.isin(others.message, in_front))
    batches = set(zip(others.message.tolist(), others.session.tolist(), others.time_ns.tolist(), strict=True))
    mine = zip(in_front.tolist(), starts.session.tolist(), starts.time_ns.tolist(), strict=True)
    return starts.where(np.array([one not in batches for one in mine]))


def _first_starts(rows: Rows, messages: OrderMessages, wanted: Ints) -> Rows:
    starts = rows.of_kind(OrderKind.START)
    starts = starts.where(np.isin(starts.message, messages.message[wanted]))
    ordered = starts.where(np.lexsort((starts.index, starts.time_ns, starts.message)))
    return ordered.where(first_of_each(ordered.message))


def check_finished_in_order(rows: Rows, findings: OrderFindings) -> None:
    """I5: the first successes of a group and key are in the order of the log."""
    ends = ends_with(rows, SUCCESSES, findings.books)
    ends = ends.where(ends.key >= 0)
    ends = ends.where(np.lexsort((ends.time_ns, ends.message)))
    ends = ends.where(first_of_each(ends.message))
    whose = ends.group << BITS | ends.key
    order = np.lexsort((ends.offset, ends.epoch, whose))
    ends, whose = ends.where(order), whose[order]
    first = first_of_each(whose)
    findings.exercised(Property.FINISHED_IN_ORDER, (~first).sum())
    ranks = np.argsort(np.argsort(ends.time_ns, kind="stable"), kind="stable")
    latest = np.maximum.accumulate(np.cumsum(first) * (len(ends) + 1) + ranks)
    late = np.zeros(len(ends), dtype=np.bool_)
    late[1:] = ~first[1:] & (latest[1:] == latest[:-1])
    findings.add(Property.FINISHED_IN_ORDER, "finished early", ends.where(late))


def check_duplicates(rows: Rows, replay_max: int, findings: OrderFindings) -> None:
    """I13: a message is finished again only after a takeover, or with a batch of which another message failed."""
    ends = ends_with(rows, SUCCESSES, findings.books)
    tenure = tenure_of(rows, ends)
    order = np.lexsort((ends.time_ns, ends.message))
    ends, tenure = ends.where(order), tenure[order]
    again = ~first_of_each(ends.message)
    findings.exercised(Property.DUPLICATES, again.sum())
    same = np.zeros(len(ends), dtype=np.bool_)
    same[1:] = again[1:] & (tenure[1:] == tenure[:-1])
    unexplained = same if replay_max <= 1 else same & ~_failed_between(rows, ends, findings)
    findings.add(Property.DUPLICATES, "without a takeover", ends.where(unexplained))
    moved = np.flatnonzero(again & ~same)
    whose, counts = np.unique(tenure[moved], return_counts=True)
    too_many = moved[np.isin(tenure[moved], whose[counts > replay_max])]
    found = ends.where(too_many)
    one_each = found.where(np.unique(tenure[too_many], return_index=True)[1])
    findings.add(Property.DUPLICATES, "too many after a takeover", one_each)


def _failed_between(rows: Rows, ends: Rows, findings: OrderFindings) -> Bools:
    """Return whether its place had a failed end between each success and that in front of it."""
    failed = ends_with(rows, FAILURES, findings.books)
    until = count_before(failed.place, failed.time_ns, ends.place, ends.time_ns)
    found = np.zeros(len(ends), dtype=np.bool_)
    found[1:] = until[1:] > until[:-1]
    return found
