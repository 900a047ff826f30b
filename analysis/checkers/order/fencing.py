"""Fencing: owners go on where the last one stopped, and older ones are refused: I7, I8, I9.

Stores have no one revision, so what was asked at the same time may have happened in either order, and is excused.
"""

from collections.abc import Callable

import numpy as np

from zonelab.analysis.checkers.order.at_rest import AtRest, cursor_by_place
from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import count_before, first_of_each, latest_before, least
from zonelab.analysis.checkers.order.messages import FAILURES, PUT_ASIDE, ends_with, tenure_of
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import BITS, INFO, OK, Bools, Ints, Rows
from zonelab.analysis.runs.order import OrderKind

_GUARDED = (
    *(OrderKind.COMMIT, OrderKind.FAIL, OrderKind.DEAD_LETTER, OrderKind.PARK, OrderKind.SKIP),
    *(OrderKind.RELEASE, OrderKind.RENEW),
)
"""Events that only the newest owner may cause. A sink knows of a token only once it was used there: I14 judges that."""


def check_redelivery(rows: Rows, findings: OrderFindings, *, by_key: bool) -> None:
    """I7: a tenure begins at the cursor that it was granted; it goes back only after a failure, never behind it."""
    starts = rows.of_kind(OrderKind.START)
    tenure = tenure_of(rows, starts)
    key = starts.key if by_key else np.zeros(len(starts), dtype=np.int64)
    order = np.lexsort((starts.index, key, tenure))
    order = order[tenure[order] >= 0]
    starts, tenure, key = starts.where(order), tenure[order], key[order]
    first = first_of_each(tenure, key)
    granted = _granted(rows, tenure)
    confirmed = np.maximum(granted, _confirmed(rows, starts, tenure))
    findings.exercised(Property.REDELIVERY_IN_ORDER, _successions(starts, tenure))
    name = Property.REDELIVERY_IN_ORDER
    behind = (granted >= 0) & (starts.offset < confirmed)
    findings.add(name, "behind its cursor", starts.where(behind), _cursor(confirmed[behind]))
    if not by_key:
        jumped = first & (granted >= 0) & (starts.offset - granted > _aside(rows, starts, granted))
        findings.add(name, "beyond its cursor", starts.where(jumped), _cursor(granted[jumped]))
    back = np.zeros(len(starts), dtype=np.bool_)
    back[1:] = ~first[1:] & (starts.offset[1:] < starts.offset[:-1])
    again = back & ~behind & ~_failed_since(rows, starts, tenure, findings)
    findings.add(name, "went back", starts.where(again))


def _cursor(cursor: Ints) -> Callable[[int], str]:
    return lambda row: f"its cursor was {cursor[row]}"


def _granted(rows: Rows, tenure: Ints) -> Ints:
    grants = rows.of_kind(OrderKind.GRANT, outcomes=(OK,))
    at = np.searchsorted(grants.index, tenure)
    return grants.cursor[at] if len(grants) else np.full(len(tenure), -1, dtype=np.int64)


def _confirmed(rows: Rows, starts: Rows, tenure: Ints) -> Ints:
    """The cursor that the session had been told in this tenure before each start; -1 for none."""
    moves = rows.of_kind(OrderKind.COMMIT, *PUT_ASIDE, outcomes=(OK,))
    moves = moves.where(moves.cursor >= 0)
    at = latest_before(tenure_of(rows, moves), moves.time_ns, moves.cursor, tenure, starts.time_ns)
    return np.where(at >= 0, moves.cursor[at], -1) if len(moves) else np.full(len(starts), -1, dtype=np.int64)


def _aside(rows: Rows, starts: Rows, granted: Ints) -> Ints:
    """Return how many messages between the granted cursor and each start were put aside."""
    aside = np.unique(rows.of_kind(*PUT_ASIDE, outcomes=(OK, INFO)).message)
    low = starts.place << BITS | np.maximum(granted, 0)
    return np.searchsorted(aside, starts.message) - np.searchsorted(aside, low)


def _failed_since(rows: Rows, starts: Rows, tenure: Ints, findings: OrderFindings) -> Bools:
    """Return whether a delivery of the tenure failed between each start and the one in front of it."""
    failed = ends_with(rows, (*FAILURES, "rollback"), findings.books)
    counted = count_before(tenure_of(rows, failed), failed.index, tenure, starts.index)
    since = np.zeros(len(starts), dtype=np.bool_)
    since[1:] = counted[1:] > counted[:-1]
    return since


def _successions(starts: Rows, tenure: Ints) -> int:
    """Tenures with a start, but for the first of each place."""
    return int(len(np.unique(tenure)) - len(np.unique(starts.place)))


def check_tokens(rows: Rows, findings: OrderFindings) -> None:
    """I8. Grants without a token are not judged."""
    grants = rows.of_kind(OrderKind.GRANT, outcomes=(OK,))
    grants = grants.where(grants.token >= 0)
    before = latest_before(grants.place, grants.time_ns, grants.token, grants.place, grants.invoke_ns)
    fell = (before >= 0) & (grants.token[before] >= grants.token) & (before != np.arange(len(grants)))
    findings.add(Property.FENCING, "fell", grants.where(fell))
    order = np.lexsort((grants.index, grants.token, grants.place))
    twice = ~first_of_each(grants.place[order], grants.token[order]) & ~fell[order]
    findings.add(Property.FENCING, "granted twice", grants.where(order[twice]))
    asked = rows.of_kind(*_GUARDED)
    asked = asked.where(asked.token >= 0)
    newest = latest_before(grants.place, grants.time_ns, grants.token, asked.place, asked.invoke_ns)
    older = (newest >= 0) & (grants.token[newest] > asked.token) if len(grants) else newest >= 0
    findings.exercised(Property.FENCING, older.sum())
    findings.add(Property.FENCING, "older token accepted", asked.where(older & (asked.outcome == OK)))


def check_cursors(rows: Rows, rest: AtRest | None, findings: OrderFindings) -> None:
    """I9. ``rest``: None if logs and cursors at rest are unknown."""
    moves = rows.of_kind(OrderKind.COMMIT, OrderKind.GRANT, *PUT_ASIDE, outcomes=(OK,))
    moves = moves.where((moves.cursor >= 0) & (moves.place >= 0))
    if rest is not None:
        beyond = moves.cursor - 1 > _end_of_log(rows, rest.log, moves)
        findings.add(Property.CURSOR, "passed the end", moves.where(beyond))
    moves, era = _between_resets(rows, moves, findings)
    before = latest_before(era, moves.time_ns, moves.cursor, era, moves.invoke_ns)
    findings.exercised(Property.CURSOR, (before >= 0).sum())
    fell = (before >= 0) & (moves.cursor[before] > moves.cursor)
    was, now = moves.cursor[before[fell]], moves.cursor[fell]
    findings.add(Property.CURSOR, "fell", moves.where(fell), lambda row: f"from {was[row]} to {now[row]}")
    if rest is not None:
        _at_rest(moves.where(np.lexsort((moves.cursor, era))), rest.cursors, findings)


def _at_rest(moves: Rows, cursors: Rows, findings: OrderFindings) -> None:
    """``moves``: the furthest cursor since the last reset comes last."""
    confirmed = cursor_by_place(moves)
    for place, cursor in cursor_by_place(cursors).items():
        if cursor < confirmed.get(place, -1):
            detail = f"{confirmed[place]} had been confirmed"
            findings.add_at_rest(Property.CURSOR, "fell at rest", place[1], place[0], cursor, detail)


def _between_resets(rows: Rows, moves: Rows, findings: OrderFindings) -> tuple[Rows, Ints]:
    """Without what was asked while somebody set the cursor by hand; and which resets lay in front of the others."""
    resets = rows.of_kind(OrderKind.COMMIT, outcomes=(OK, INFO))
    resets = resets.where(resets.status == findings.books.code("status", "reset"))
    begun = count_before(resets.place, resets.invoke_ns, moves.place, moves.time_ns)
    ended = count_before(resets.place, resets.time_ns, moves.place, moves.invoke_ns)
    apart = (begun == ended) & ~np.isin(moves.index, resets.index)
    return moves.where(apart), (moves.place << BITS | begun)[apart]


def _end_of_log(rows: Rows, log: Rows, moves: Rows) -> Ints:
    """Return the last offset that can have been in the log when each cursor was reported; -1 if there was none.

    What stood in front of the first record at rest was trimmed, whoever sent it and whenever.
    """
    produced = rows.of_kind(OrderKind.PRODUCE, outcomes=(OK,))
    in_doubt = log.where(~np.isin(log.spot, produced.spot))
    partition = np.concatenate([produced.partition, in_doubt.partition])
    since = np.concatenate([produced.invoke_ns, np.full(len(in_doubt), -1, dtype=np.int64)])
    offset = np.concatenate([produced.offset, in_doubt.offset])
    trimmed = least(log.partition, log.offset, moves.partition, otherwise=0) - 1
    at = latest_before(partition, since, offset, moves.partition, moves.time_ns)
    return np.maximum(trimmed, np.where(at >= 0, offset[at], -1)) if len(offset) else trimmed
