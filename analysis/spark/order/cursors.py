"""The SQL of I9: a cursor does not fall, does not pass the end of the log, and is at rest where it was confirmed."""

from collections.abc import Mapping

from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.spark.order.events import latest

# Each cursor, with the furthest that was confirmed before it was asked for since the cursor was last reset by hand.
MOVES = f"""
    SELECT *
    FROM (
        SELECT *, {latest("confirmed", "grp", "part", "era")} AS furthest
        FROM (SELECT * FROM order_told WHERE era = ended AND NOT by_hand) LATERAL VIEW inline(array(
            struct(false AS asked, time_ns AS at_ns, `cursor` AS confirmed),
            struct(true AS asked, invoke_ns AS at_ns, NULL AS confirmed)
        )) moment
    )
    WHERE asked
"""

# Each cursor, with the last offset that can have been in the log when it was reported. What stood in front of the first
# record at rest was trimmed, whoever sent it and whenever.
ENDS = f"""
    SELECT *
    FROM (
        SELECT *, {latest("appended", "part")} AS last
        FROM (
            SELECT run, grp, part, `cursor`, index, time_ns AS at_ns, true AS asked, NULL AS appended FROM order_told
            UNION ALL
            SELECT run, NULL, part, NULL, NULL, invoke_ns, false, pos
            FROM order_events WHERE kind = '{OrderKind.PRODUCE}' AND outcome = 'ok'
            UNION ALL
            SELECT l.run, NULL, l.part, NULL, NULL, -1, false, l.pos
            FROM order_log l
            LEFT ANTI JOIN (
                SELECT * FROM order_events WHERE kind = '{OrderKind.PRODUCE}' AND outcome = 'ok'
            ) p ON p.run = l.run AND p.part = l.part AND p.pos = l.pos
            UNION ALL
            SELECT run, NULL, part, NULL, NULL, -1, false, min(pos) - 1 FROM order_log GROUP BY run, part
        )
    )
    WHERE asked
"""

CASES = """
    SELECT run, 'I9' AS property, 'fell' AS what, grp, part, pos, index
    FROM (SELECT *, CAST(NULL AS BIGINT) AS pos FROM order_moves) WHERE furthest > `cursor`
    UNION ALL
    SELECT e.run, 'I9', 'passed the end', e.grp, e.part, NULL, e.index
    FROM order_ends e JOIN order_runs r ON r.run = e.run
    WHERE r.at_rest AND e.`cursor` - 1 > coalesce(e.last, -1)
    UNION ALL
    SELECT c.run, 'I9', 'fell at rest', c.grp, c.part, c.cursor, -1
    FROM order_cursors c
    JOIN (
        SELECT run, grp, part, max(struct(era, `cursor`)) AS latest FROM order_moves GROUP BY run, grp, part
    ) m ON m.run = c.run AND m.grp = c.grp AND m.part = c.part
    WHERE c.cursor < m.latest.cursor
"""

CHANCES = "SELECT run, 'I9' AS property, count(furthest) AS chances FROM order_moves GROUP BY run"

VIEWS: Mapping[str, str] = {"order_moves": MOVES, "order_ends": ENDS}
"""Views in the order in which they build on each other."""
