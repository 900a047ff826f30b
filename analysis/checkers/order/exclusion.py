"""Exclusion: only one owner, and only one message of a unit, is at work: I6 and I10."""

from collections.abc import Callable

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import first_of_each, latest_before, least, still_open
from zonelab.analysis.checkers.order.messages import NEVER
from zonelab.analysis.checkers.order.properties import HARMLESS, Property
from zonelab.analysis.checkers.order.rows import BITS, INFO, OK, Bools, Ints, Rows
from zonelab.analysis.runs.order import OrderKind


def check_exclusion(rows: Rows, gone: Rows, findings: OrderFindings, *, by_key: bool, watched: bool) -> None:
    """I6. ``gone``: members that crashed or left; nothing of theirs is at work afterwards. ``watched``: whether the
    run has sinks on record, without which nobody knows that a zombie was harmless.

    Messages that were handed to one program in the same moment under the same token are one call.
    """
    calls, end = _calls(rows, gone, by_key=by_key)
    unit = _unit(calls, by_key=by_key)
    other = still_open(unit, calls.time_ns, end)
    overlapped = (other >= 0) & (end[other] > calls.time_ns)
    later, earlier = calls.where(overlapped), calls.where(other[overlapped])
    tokenless = (np.minimum(later.token, earlier.token) < 0) & (later.session != earlier.session)
    moved = (later.partition != earlier.partition) & (later.epoch != earlier.epoch)
    zombie = moved | tokenless | (later.token != earlier.token)
    # A token is one of its partition: of two that a resize lies between, the one of the earlier epoch is old.
    newer = np.where(moved, later.epoch < earlier.epoch, later.token < earlier.token)
    old = np.where(newer, later.op_id, earlier.op_id)
    harmless = zombie & ~_took_effect(rows, old, later.time_ns) if watched else np.zeros(len(later), dtype=np.bool_)
    for what, mask in (("same token", ~zombie), ("zombie", zombie & ~harmless), (HARMLESS, harmless)):
        findings.add(Property.EXCLUSION, what, later.where(mask), _beside(earlier.where(mask)))


def _beside(earlier: Rows) -> Callable[[int], str]:
    return lambda row: f"beside delivery {earlier.op_id[row]} of offset {earlier.offset[row]}"


def _unit(starts: Rows, *, by_key: bool) -> Ints:
    return (starts.group << BITS) + starts.key + 1 if by_key else starts.place


def _calls(rows: Rows, gone: Rows, *, by_key: bool) -> tuple[Rows, Ints]:
    """One row a call in the order of their begin, with the latest end of its messages."""
    starts, ends = rows.of_kind(OrderKind.START), rows.of_kind(OrderKind.END)
    ended = least(ends.op_id, ends.time_ns, starts.op_id, otherwise=NEVER)
    stopped = least(gone.session, gone.time_ns, starts.session, otherwise=NEVER)
    ended = np.where((stopped >= starts.time_ns) & (stopped < ended), stopped, ended)
    unit = _unit(starts, by_key=by_key)
    order = np.lexsort((starts.index, -ended, starts.session, starts.token, starts.time_ns, unit))
    starts, ended, unit = starts.where(order), ended[order], unit[order]
    first = first_of_each(unit, starts.time_ns, starts.token, starts.session)
    calls, ended = starts.where(first), ended[first]
    order = np.lexsort((calls.index, calls.time_ns))
    return calls.where(order), ended[order]


def count_takeovers(rows: Rows, gone: Rows, findings: OrderFindings) -> None:
    """Opportunities to break I6: grants that came while another session had a message of the place in work."""
    calls, end = _calls(rows, gone, by_key=False)
    grants = rows.of_kind(OrderKind.GRANT, outcomes=(OK,))
    latest = latest_before(calls.place, calls.time_ns, calls.index, grants.place, grants.time_ns)
    known = latest >= 0
    row = latest[known]
    at_work = (end[row] > grants.time_ns[known]) & (calls.session[row] != grants.session[known])
    findings.exercised(Property.EXCLUSION, at_work.sum())


def _took_effect(rows: Rows, op_id: Ints, since_ns: Ints) -> Bools:
    """Return whether the sink took, or may have taken, something of each delivery since that time."""
    taken = rows.of_kind(OrderKind.SINK, outcomes=(OK, INFO))
    last = latest_before(taken.op_id, taken.time_ns * 0, taken.time_ns, op_id, np.ones(len(op_id), dtype=np.int64))
    return (last >= 0) & (taken.time_ns[last] > since_ns) if len(taken) else np.zeros(len(op_id), dtype=np.bool_)


def check_owners(rows: Rows, findings: OrderFindings) -> None:
    """I10: from a confirmed grant to the lease's end or the session's release nobody else is told that he owns."""
    held = rows.of_kind(OrderKind.GRANT, OrderKind.RENEW, outcomes=(OK,))
    held = held.where(held.until_ns >= 0)
    released = rows.of_kind(OrderKind.RELEASE, outcomes=(OK, INFO))
    end = np.minimum(held.until_ns, _released(released, held))
    owned = end >= held.time_ns
    held, end = held.where(owned), end[owned]
    order = np.lexsort((held.time_ns, held.place))
    held, end = held.where(order), end[order]
    wanted = rows.of_kind(OrderKind.GRANT)
    before = latest_before(held.place, held.time_ns, held.time_ns, wanted.place, wanted.time_ns)
    others = (before >= 0) & (held.session[before] != wanted.session) if len(held) else before >= 0
    findings.exercised(Property.ONE_OWNER, (others & (end[before] > wanted.invoke_ns)).sum() if len(held) else 0)
    findings.add(Property.ONE_OWNER, "two owners", held.where(_with_others(held, end)))


def _released(released: Rows, held: Rows) -> Ints:
    """When each holder next began to give up what it held: the latest before, in time that runs backwards."""
    whose, mine = released.place << BITS | released.session, held.place << BITS | held.session
    backwards = -released.invoke_ns
    at = latest_before(whose, backwards, backwards, mine, -held.time_ns)
    return np.where(at >= 0, released.invoke_ns[at], NEVER) if len(released) else np.full(len(held), NEVER)


def _with_others(held: Rows, end: Ints) -> Ints:
    """Rows, sorted by place and time, at which another session's ownership had not ended."""
    found: list[int] = []
    best: tuple[int, int] = (-1, -1)  # the latest end, and whose
    second: tuple[int, int] = (-1, -1)  # the latest end of anybody else
    place = -1
    for row, (where, since, session) in enumerate(
        zip(held.place.tolist(), held.time_ns.tolist(), held.session.tolist(), strict=True)
    ):
        if where != place:
            place, best, second = where, (-1, -1), (-1, -1)
        if (second if best[1] == session else best)[0] > since:
            found.append(row)
        until = int(end[row])
        if session == best[1]:
            best = (max(best[0], until), session)
        elif until >= best[0]:
            best, second = (until, session), best
        else:
            second = max(second, (until, session))
    return np.array(found, dtype=np.int64)
