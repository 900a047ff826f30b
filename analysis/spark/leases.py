"""The SQL that decides why a message was delivered more than once, which acks came too late, and whose work overlapped.

Deliveries, acks and extensions of a message become *marks* on its time line. Running sums over the marks of one
delivery say from when to when its lease was certainly held; the sum over all deliveries of the message then says
whether somebody else held one. So nothing is compared in pairs, however often a message was delivered. Begins and ends
of work on a message are marks of another time line, whose sums say when more than one program was at work.
"""

from collections.abc import Mapping

# In which order marks of the same millisecond are met: changes of leases, then acks, then deliveries.
_CHANGE, _ACK, _LEASE = range(3)

_MARK = (
    "at_ms", "phase", "start_ms", "index", "lease_end_ms", "confirmed_end_ms", "doubt", "excuse", "zone", "time_ns",
    "invoke_ns",
)  # fmt: skip
"""``doubt``: +1 where an extension in doubt begins to speak against the lease, -1 where its doubt ends. ``excuse``:
the same for extensions in doubt that would make a late ack timely."""


def _mark(**values: str) -> str:
    given = {"start_ms": "0L", "index": "index", "doubt": "0", "excuse": "0", **values}
    typed = {"phase": "INT", "doubt": "INT", "excuse": "INT"}
    return "struct({})".format(
        ", ".join(f"CAST({given.get(name, 'NULL')} AS {typed.get(name, 'BIGINT')}) AS {name}" for name in _MARK)
    )


def _change(condition: str, at_ms: str, **values: str) -> str:
    return f"IF({condition}, {_mark(at_ms=at_ms, phase=str(_CHANGE), **values)}, NULL)"


_DELIVERED = _mark(
    at_ms="leased_ms", phase=str(_LEASE), start_ms="lease_start_ms", lease_end_ms="lease_end_ms", zone="zone",
    time_ns="time_ns", invoke_ns="invoke_ns",
)  # fmt: skip
_ACKED = _mark(at_ms="invoke_wall_ms", phase=str(_ACK), time_ns="time_ns", invoke_ns="invoke_ns")
_DOUBT_MS = "greatest(invoke_wall_ms, lease_end_ms)"
_EXCUSE_ENDS_MS = "least(ok_ms, lease_end_ms + 1)"
_EXTENDED = ", ".join(
    (
        _change("ok_ms IS NOT NULL", "ok_ms", confirmed_end_ms="lease_end_ms"),
        _change(f"ok_ms IS NULL OR {_DOUBT_MS} < ok_ms", _DOUBT_MS, doubt="1"),
        _change(f"{_DOUBT_MS} < ok_ms", "ok_ms", doubt="-1"),
        _change(f"invoke_wall_ms < {_EXCUSE_ENDS_MS}", "invoke_wall_ms", excuse="1"),
        _change(f"invoke_wall_ms < {_EXCUSE_ENDS_MS}", _EXCUSE_ENDS_MS, excuse="-1"),
    )
)
_ENDS = _change("lease_end_ms IS NOT NULL", "lease_end_ms")
"""Marks where a lease may end: nothing changes but the time, and the sums are looked at there."""

TOUCHED = """
    SELECT *, IF(f = 'extend' AND type = 'info', NULL, wall_ms) AS ok_ms,
           coalesce(given_leased_ms, wall_ms) AS leased_ms, coalesce(given_start_ms, invoke_wall_ms) AS lease_start_ms
    FROM (
        SELECT m.run, m.message_id, touch.f, touch.type, touch.index, touch.delivery, touch.zone,
               touch.time_ns, touch.invoke_ns, touch.lease_end_ms,
               touch.leased_ms AS given_leased_ms, touch.lease_start_ms AS given_start_ms,
               (m.epoch_ns + touch.time_ns) DIV 1000000 AS wall_ms,
               (m.epoch_ns + touch.invoke_ns) DIV 1000000 AS invoke_wall_ms,
               (m.epoch_ns + m.acked_ns) DIV 1000000 AS acked_ms,
               m.due_ms, m.due_in_doubt_ms, m.pushed_ns, m.confirmed_shard, m.confirmed_priority
        FROM (SELECT *, explode(touches) AS touch FROM contested) m
    )
"""

_FACTS = "due_ms, due_in_doubt_ms, pushed_ns, confirmed_shard, confirmed_priority"
_MESSAGE = f"run, message_id, acked_ms, {_FACTS}"

MARKS = f"""
    SELECT {_MESSAGE}, delivery, mark.*, IF(mark.phase = {_LEASE}, 1, 0) AS lease
    FROM (
        SELECT {_MESSAGE}, delivery, explode(array_compact(CASE f
            WHEN 'pop' THEN array({_DELIVERED}, {_ENDS})
            WHEN 'ack' THEN array({_ACKED})
            ELSE array({_EXTENDED}, {_ENDS}) END)) AS mark
        FROM touched
    )
"""

_ORDER = "ORDER BY at_ms, phase, start_ms, index"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_ALWAYS = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_OWN = f"PARTITION BY run, message_id, delivery {_ORDER}"
_ALL = f"PARTITION BY run, message_id {_ORDER}"

# ``held``: the lease of this delivery is certainly held after the mark. ``others``: how many other deliveries hold one.
# ``leases``: deliveries of the message up to the mark.
SWEPT = f"""
    SELECT *, sum(change) OVER ({_ALL} {_SO_FAR}) - held AS others
    FROM (
        SELECT *, held - lag(held, 1, 0) OVER ({_OWN}) AS change
        FROM (
            SELECT *, IF(at_ms < coalesce(confirmed_ms, begun_until_ms) AND begun_until_ms IS NOT NULL AND doubts = 0,
                         1, 0) AS held
            FROM (
                SELECT *, max(lease_end_ms) OVER so_far AS begun_until_ms,
                       last_value(confirmed_end_ms, true) OVER so_far AS confirmed_ms,
                       sum(doubt) OVER so_far AS doubts, sum(excuse) OVER so_far AS excuses,
                       sum(lease) OVER so_far AS own_leases,
                       first_value(IF(lease = 1, struct(leases AS nth, lease_end_ms), NULL), true) OVER always AS first
                FROM (SELECT *, sum(lease) OVER ({_ALL} {_SO_FAR}) AS leases FROM marks)
                WINDOW so_far AS ({_OWN} {_SO_FAR}), always AS ({_OWN} {_ALWAYS})
            )
        )
    )
"""

# An ack is late if no end that its lease may have had reaches to it, or if a later delivery held the lease before.
_LATE = """first IS NOT NULL AND (
    first.lease_end_ms IS NOT NULL AND at_ms > coalesce(confirmed_ms, first.lease_end_ms) AND excuses = 0
    OR leases - own_leases > first.nth - 1)"""

_TOLD = f"run, message_id, index, delivery, zone, time_ns, invoke_ns, {_FACTS}"

# Deliveries of messages that are not plain, numbered, with the cause of each but the first; and the acks that came too
# late, without a number.
JUDGED_IN_TURN = f"""
    SELECT {_TOLD}, IF(lease = 1, leases, NULL) AS nth,
           CASE WHEN lease = 0 THEN 'zombie_ack'
                WHEN leases = 1 THEN NULL
                WHEN start_ms > acked_ms THEN 'resurrected'
                WHEN others > 0 THEN 'concurrent'
                ELSE 'redelivered' END AS cause
    FROM swept WHERE lease = 1 OR phase = {_ACK} AND {_LATE}
"""

# The same of all messages.
JUDGED = f"""
    SELECT run, message_id, popped_index AS index, popped_delivery AS delivery, popped_zone AS zone,
           popped_time_ns AS time_ns, popped_invoke_ns AS invoke_ns, {_FACTS}, 1L AS nth, CAST(NULL AS STRING) AS cause
    FROM gathered WHERE plain AND deliveries = 1
    UNION ALL
    SELECT {_TOLD}, nth, cause FROM judged_in_turn
"""

# Work on each delivery of a message that is not plain; it lasts to whatever ended it, or to the end of the run.
WORK = """
    SELECT w.run, w.message_id, w.program, w.index, w.delivery, w.begin_ns,
           coalesce(least(w.ended_ns, d.death_ns), r.end_ns) AS end_ns
    FROM (
        SELECT run, message_id, program, index, delivery, f, type, time_ns AS begin_ns,
               min(CASE WHEN f IN ('push', 'pop') THEN NULL
                        WHEN f <> 'extend' THEN invoke_ns
                        WHEN type = 'fail' THEN time_ns END)
                   OVER (PARTITION BY run, message_id, delivery) AS ended_ns
        FROM outcomes
    ) w
    JOIN runs r ON r.run = w.run
    LEFT JOIN (SELECT run, xxhash64(process) AS program, death_ns FROM deaths) d
    ON d.run = w.run AND d.program = w.program
    WHERE w.f = 'pop' AND w.type = 'ok'
"""

_WORKED = "explode(array(struct(begin_ns AS at_ns, 1 AS step), struct(end_ns AS at_ns, -1 AS step)))"
_IN_TIME = "ORDER BY at_ns, step, index"

BUSY = f"""
    SELECT *, lead(at_ns) OVER (PARTITION BY run, message_id {_IN_TIME}) - at_ns AS lasted_ns
    FROM (
        SELECT *, sum(held - was_held) OVER (PARTITION BY run, message_id {_IN_TIME}
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS programs
        FROM (
            SELECT *, lag(held, 1, 0) OVER (PARTITION BY run, message_id, program {_IN_TIME}) AS was_held
            FROM (
                SELECT *, IF(sum(step) OVER (PARTITION BY run, message_id, program {_IN_TIME}
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) > 0, 1, 0) AS held
                FROM (
                    SELECT run, message_id, program, index, delivery, mark.at_ns, mark.step
                    FROM (SELECT *, {_WORKED} AS mark FROM work WHERE begin_ns < end_ns)
                )
            )
        )
    )
"""

OVERLAPS = """
    SELECT run, message_id, min_by(struct(index, delivery), struct(at_ns, step, index)) AS second,
           sum(lasted_ns) AS overlap_ns
    FROM busy WHERE programs > 1 GROUP BY run, message_id
"""

VIEWS: Mapping[str, str] = {
    "touched": TOUCHED,
    "marks": MARKS,
    "swept": SWEPT,
    "judged_in_turn": JUDGED_IN_TURN,
    "judged": JUDGED,
    "work": WORK,
    "busy": BUSY,
    "overlaps": OVERLAPS,
}
"""Views in the order in which they build on each other."""
