"""Waits of messages for their turn (I12), and causes of standstills, with what waited behind them."""

from collections.abc import Sequence

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.messages import FAILURES, NEVER, OrderMessages, ends_with
from zonelab.analysis.checkers.order.properties import GONE, THRASH_GRANTS, Blockage, Property
from zonelab.analysis.checkers.order.rows import OK, Books, Bools, Ints, Rows
from zonelab.analysis.checkers.order.section import Standstill
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.units import NS_PER_MS

STANDSTILLS_MAX = 1000
"""Explained of each part, the longest first."""


def check_waiting(
    messages: OrderMessages, faults: Sequence[FaultBand], wait_ms: float, end_ns: int, findings: OrderFindings
) -> None:
    """I12: from the append, or the end of the one in front, to the first start; time with a fault does not count."""
    ready, known = _ready(messages)
    begun = known & (messages.started_ns < NEVER)
    findings.exercised(Property.WAITING, begun.sum())
    until = np.where(begun, messages.started_ns, end_ns)
    waited = until - ready - _with_faults(faults, ready, until, end_ns)
    late = np.flatnonzero(known & (waited > wait_ms * NS_PER_MS))
    findings.add_many_at_rest(
        Property.WAITING, "waited too long", messages.partition[late], messages.group[late], messages.offset[late]
    )


def _ready(messages: OrderMessages) -> tuple[Ints, Bools]:
    """When each message could be begun; and whether that is known and came."""
    before = messages.before
    turn = np.where(before >= 0, messages.disposed_ns[before], messages.appended_ns) if len(before) else before
    ready = np.maximum(turn, messages.appended_ns)
    return ready, (messages.appended_ns >= 0) & (ready < NEVER)


def _with_faults(faults: Sequence[FaultBand], begin: Ints, end: Ints, end_ns: int) -> Ints:
    """Return how much of each time had some fault in force."""
    bands = sorted((band.begin_ns, end_ns if band.end_ns is None else band.end_ns) for band in faults)
    edges: list[tuple[int, int]] = []
    for since, until in bands:
        if edges and since <= edges[-1][1]:
            edges[-1] = (edges[-1][0], max(edges[-1][1], until))
        else:
            edges.append((since, until))
    if not edges:
        return np.zeros(len(begin), dtype=np.int64)
    times = np.array(edges, dtype=np.float64).ravel()
    lengths = np.diff(times) * (np.arange(len(times) - 1) % 2 == 0)
    sums = np.concatenate([[0.0], np.cumsum(lengths)])
    passed: Ints = (np.interp(end, times, sums) - np.interp(begin, times, sums)).astype(np.int64)
    return passed


def standstills(
    rows: Rows, members: Rows, messages: OrderMessages, findings: OrderFindings, *, wait_ms: float, end_ns: int
) -> list[Standstill]:
    """Heads that were not finished for longer than ``wait_ms``, each with its cause."""
    ready, known = _ready(messages)
    until = np.minimum(messages.disposed_ns, end_ns)
    lasted = np.where(known, until - ready, 0)
    long = np.flatnonzero(lasted > wait_ms * NS_PER_MS)
    longest = long[np.argsort(-lasted[long], kind="stable")][:STANDSTILLS_MAX]
    by_time = rows.where(np.argsort(rows.time_ns, kind="stable"))
    return [
        _standstill(by_time, members, messages, int(row), int(ready[row]), int(until[row]), findings) for row in longest
    ]


def _standstill(
    rows: Rows, members: Rows, messages: OrderMessages, head: int, begin_ns: int, end_ns: int, findings: OrderFindings
) -> Standstill:
    place, offset = int(messages.place[head]), int(messages.offset[head])
    last = int(np.searchsorted(rows.time_ns, end_ns, side="right"))
    seen = rows.where(np.flatnonzero(rows.place[:last] == place))
    mine = np.flatnonzero((messages.place == place) & (messages.offset > offset))
    behind = mine[(messages.appended_ns[mine] < end_ns) & (messages.disposed_ns[mine] >= end_ns)]
    keys = np.unique(messages.key[behind])
    return Standstill(
        group=findings.books.text("group", int(messages.group[head])),
        partition=findings.books.text("partition", int(messages.partition[head])),
        offset=offset,
        begin_ns=begin_ns,
        end_ns=end_ns if messages.disposed_ns[head] < NEVER else None,
        cause=_cause_of(seen, members, offset, begin_ns, end_ns, findings.books),
        messages=len(behind),
        keys=int((keys != messages.key[head]).sum()),
    )


def _cause_of(seen: Rows, members: Rows, offset: int, begin_ns: int, end_ns: int, books: Books) -> Blockage:
    """The first cause whose signs are on record.

    ``seen``: what happened in the place up to ``end_ns``. ``members``: of the whole run.
    """
    during = seen.where(seen.time_ns >= begin_ns)
    refused = _statuses(during, books)
    grants = seen.of_kind(OrderKind.GRANT, outcomes=(OK,))
    if "unadmitted" in refused:
        return Blockage.UNADMITTED
    if "cursor ahead" in refused or (len(grants) and grants.cursor[-1] > offset):
        return Blockage.CURSOR_AHEAD
    at_head = seen.where(seen.offset == offset)
    if len(ends_with(at_head, FAILURES, books)) > 1:
        return Blockage.POISON
    if len(during.of_kind(OrderKind.GRANT, outcomes=(OK,))) >= THRASH_GRANTS:
        return Blockage.THRASH
    if _out_of_credit(seen, grants, books):
        return Blockage.CREDIT
    owned = _of_the_owner(seen, grants, members, books, begin_ns, end_ns)
    return owned or _at_work(at_head, during, end_ns)


def _statuses(rows: Rows, books: Books) -> set[str]:
    return {books.text("status", code) for code in np.unique(rows.status).tolist() if code >= 0}


def _out_of_credit(seen: Rows, grants: Rows, books: Books) -> bool:
    """The last owner said that nothing comes any more that could make it commit; its end later mends nothing."""
    reports = seen.where(seen.status == books.code("status", "credit"))
    return bool(len(grants) and np.isin(reports.session, grants.session[-1]).any())


def _of_the_owner(seen: Rows, grants: Rows, members: Rows, books: Books, begin_ns: int, end_ns: int) -> Blockage | None:
    """Return what is wrong with the owner, if he is the cause."""
    if not len(grants):
        return Blockage.ORPHAN
    session = int(grants.session[-1])
    gone = np.isin(members.status, [books.code("status", one) for one in GONE]) & (members.session == session)
    if (gone & (members.time_ns <= end_ns)).any():
        return Blockage.DEAD_HOLDER
    released = seen.of_kind(OrderKind.RELEASE, outcomes=(OK,))
    if len(released) and released.time_ns[-1] > grants.time_ns[-1]:
        return Blockage.ORPHAN
    held = seen.of_kind(OrderKind.GRANT, OrderKind.RENEW, outcomes=(OK,))
    leased = held.until_ns[held.session == session]
    return Blockage.ORPHAN if len(leased) and 0 <= leased.max() < (begin_ns + end_ns) // 2 else None


def _at_work(at_head: Rows, during: Rows, end_ns: int) -> Blockage:
    """Return what a living owner does with the head."""
    starts, ends = at_head.of_kind(OrderKind.START), at_head.of_kind(OrderKind.END)
    if len(starts) and not np.isin(starts.op_id[-1], ends.op_id):
        return Blockage.HUNG
    failed = at_head.of_kind(OrderKind.FAIL, outcomes=(OK,))
    if len(failed) and failed.until_ns[-1] >= end_ns:
        return Blockage.SUSPENDED
    return Blockage.SLOW if len(starts) or len(during.of_kind(OrderKind.START)) else Blockage.UNEXPLAINED
