"""The SQL of I6: of a unit, one message at a time is in work. What was handed out in one call counts as one."""

from collections.abc import Mapping

from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.spark.order.events import NEVER, latest

# Deliveries with the moment at which they can have been in work no longer: their end, or that of their session.
WORK = f"""
    SELECT s.*,
           IF(g.gone_ns >= s.time_ns AND g.gone_ns < coalesce(e.end_ns, {NEVER}), g.gone_ns,
              coalesce(e.end_ns, {NEVER})) AS end_ns
    FROM (SELECT * FROM order_events WHERE kind = '{OrderKind.START}') s
    LEFT JOIN (
        SELECT run, op_id, min(time_ns) AS end_ns FROM order_events WHERE kind = '{OrderKind.END}' GROUP BY run, op_id
    ) e ON e.run = s.run AND e.op_id = s.op_id
    LEFT JOIN (
        SELECT run, session, min(time_ns) AS gone_ns
        FROM order_events WHERE kind = '{OrderKind.MEMBER}' AND status IN ('left', 'crashed') GROUP BY run, session
    ) g ON g.run = s.run AND g.session = s.session
"""


def _calls(unit: str) -> str:
    """One row a call; of its messages the one that was longest in work."""
    return f"""
        SELECT run, grp, {unit} AS unit, time_ns, ballot, session, max(end_ns) AS end_ns,
               max_by(struct(index, part, pos, op_id, epoch), struct(end_ns, -index)) AS message
        FROM order_work WHERE {unit} IS NOT NULL
        GROUP BY run, grp, {unit}, time_ns, ballot, session
    """


# Calls that began while another of their unit, the one of those that ended last, was still in work. A token is one of
# its partition: of two that a resize lies between, the one of the earlier epoch is old.
OVERLAPPED = """
    SELECT *, moved OR ballot <> other.ballot OR ballot < 0 AND NOT session <=> other.session AS zombie,
           IF(IF(moved, other.message.epoch <= message.epoch, other.ballot <= ballot),
              other.message.op_id, message.op_id) AS older_op_id
    FROM (
        SELECT *, other.message.part <> message.part AND other.message.epoch <> message.epoch AS moved
        FROM (
            SELECT *, max(struct(end_ns, time_ns, message, ballot, session)) OVER (
                       PARTITION BY run, grp, unit ORDER BY time_ns, message.index
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                   ) AS other
            FROM order_calls
        )
    )
    WHERE other.end_ns > time_ns
"""

# A zombie is harmless if a sink was watched and took nothing of the older delivery since the younger began.
JUDGED = f"""
    SELECT o.*, CASE
        WHEN NOT o.zombie THEN 'same token'
        WHEN w.run IS NULL OR t.taken_ns > o.time_ns THEN 'zombie'
        ELSE 'fenced-harmless' END AS what
    FROM order_overlapped o
    LEFT JOIN (SELECT DISTINCT run FROM order_events WHERE kind = '{OrderKind.SINK}') w ON w.run = o.run
    LEFT JOIN (
        SELECT run, op_id, max(time_ns) AS taken_ns
        FROM order_events WHERE kind = '{OrderKind.SINK}' AND outcome <> 'fail' GROUP BY run, op_id
    ) t ON t.run = o.run AND t.op_id = o.older_op_id
"""

CASES = """
    SELECT run, 'I6' AS property, what, grp, message.part, message.pos, message.index FROM order_judged
"""

# Grants that came while another session had a message of the place in work.
CHANCES = f"""
    SELECT run, 'I6' AS property, count_if(latest.end_ns > time_ns AND NOT latest.session <=> session) AS chances
    FROM (
        SELECT *, {latest("told", "grp", "part", at="time_ns")} AS latest
        FROM (
            SELECT run, grp, unit AS part, time_ns, session, false AS asked,
                   struct(message.index, end_ns, session) AS told
            FROM order_calls_of_places
            UNION ALL
            SELECT run, grp, part, time_ns, session, true, NULL
            FROM order_events WHERE kind = '{OrderKind.GRANT}' AND outcome = 'ok'
        )
    )
    WHERE asked GROUP BY run
"""

VIEWS: Mapping[str, str] = {
    "order_work": WORK,
    "order_calls": _calls("IF(by_key, key, part)"),
    "order_calls_of_places": _calls("part"),
    "order_overlapped": OVERLAPPED,
    "order_judged": JUDGED,
}
"""Views in the order in which they build on each other."""
