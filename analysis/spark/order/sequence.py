"""The SQL of I3 and I4: no cursor passes a message that nobody finished, and none is begun before its turn."""

from collections.abc import Mapping

from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.spark.order.events import ASIDE, NEVER

# What each group did with an offset. ``disposed_ns``: the earliest moment at which it can have been finished.
SEEN = f"""
    SELECT run, grp, part, pos,
           min_by(struct(time_ns, index, session), struct(time_ns, index)) FILTER (WHERE kind = '{OrderKind.START}')
               AS start,
           min_by(struct(index, epoch, key), index) FILTER (WHERE kind = '{OrderKind.START}') AS begun,
           least(
               min(time_ns) FILTER (WHERE kind = '{OrderKind.END}' AND status IN ('success', 'commit')),
               min(invoke_ns) FILTER (WHERE kind IN {ASIDE} AND outcome <> 'fail')
           ) AS disposed_ns
    FROM order_events
    WHERE grp IS NOT NULL AND part IS NOT NULL AND pos IS NOT NULL
    GROUP BY run, grp, part, pos
"""

# What is known to be at an offset: what a producer received as confirmed, otherwise what the zones hold.
APPENDED = f"""
    SELECT run, part, pos, min_by(record, struct(held, record.index)) AS record, bool_and(held) AS only_held
    FROM (
        SELECT run, part, pos, struct(index, epoch, key) AS record, false AS held
        FROM order_events
        WHERE kind = '{OrderKind.PRODUCE}' AND outcome = 'ok' AND part IS NOT NULL AND pos IS NOT NULL
        UNION ALL
        SELECT run, part, pos, struct(-1L AS index, -1 AS epoch, CAST(NULL AS STRING) AS key), true FROM order_log
    )
    GROUP BY run, part, pos
"""

# Where each group began: the first cursor it received, else the cursor of the first grant with one, else its first
# message.
FIRST = f"""
    SELECT run, grp, part,
           coalesce(
               min_by(`cursor`, index) FILTER (WHERE kind = '{OrderKind.ASSIGN}' AND status = 'begins'),
               min_by(`cursor`, index) FILTER (
                   WHERE kind = '{OrderKind.GRANT}' AND outcome = 'ok' AND `cursor` IS NOT NULL
               ),
               min(pos) FILTER (WHERE kind = '{OrderKind.START}')
           ) AS first
    FROM order_events WHERE grp IS NOT NULL AND part IS NOT NULL GROUP BY run, grp, part
"""

# A row a message and group that could have had it. Logs at rest have no epochs: what only they hold is of the latest.
MESSAGES = """
    SELECT * EXCEPT (epoch),
           IF(epoch < 0, greatest(0, max(epoch) OVER (PARTITION BY run, grp, part)), epoch) AS epoch
    FROM (
        SELECT p.run, p.grp, p.part, coalesce(s.pos, a.pos) AS pos, coalesce(s.begun, a.record) AS known,
               coalesce(s.begun, a.record).epoch AS epoch, s.start, s.disposed_ns, f.first,
               s.begun IS NULL AND coalesce(a.only_held, true) AS only_held
        FROM order_places p
        JOIN (
            SELECT run, grp, part, pos FROM order_seen WHERE begun IS NOT NULL
            UNION
            SELECT p.run, p.grp, p.part, a.pos
            FROM order_places p JOIN order_appended a ON a.run = p.run AND a.part = p.part
        ) m ON m.run = p.run AND m.grp = p.grp AND m.part = p.part
        LEFT JOIN order_seen s ON s.run = m.run AND s.grp = m.grp AND s.part = m.part AND s.pos = m.pos
        LEFT JOIN order_appended a ON a.run = m.run AND a.part = m.part AND a.pos = m.pos
        LEFT JOIN order_first f ON f.run = p.run AND f.grp = p.grp AND f.part = p.part
    )
"""

# Messages in front of the cursor of their group: the decided one at rest, otherwise the furthest that was reported.
PASSED = """
    SELECT m.run, m.grp, m.part, m.pos, m.disposed_ns
    FROM order_messages m
    LEFT JOIN order_cursors c ON c.run = m.run AND c.grp = m.grp AND c.part = m.part
    LEFT JOIN (
        SELECT run, grp, part, max(`cursor`) AS cursor FROM order_told GROUP BY run, grp, part
    ) t ON t.run = m.run AND t.grp = m.grp AND t.part = m.part
    WHERE m.pos >= m.first AND m.pos < coalesce(c.cursor, t.cursor)
"""

# Messages that were begun, with the one in front of them in their unit, which their group had to finish first.
FOLLOWERS = f"""
    SELECT run, grp, part, pos, start, front, start.time_ns < coalesce(front.disposed_ns, {NEVER}) AS early
    FROM (
        SELECT m.*, lag(struct(m.pos, m.part, m.disposed_ns, m.first)) OVER (
                   PARTITION BY m.run, m.grp, IF(r.by_key, m.known.key, m.part)
                   ORDER BY m.epoch, m.pos, m.known.index
               ) AS front
        FROM order_messages m JOIN order_runs r ON r.run = m.run
        WHERE NOT r.by_key OR m.known.key IS NOT NULL AND NOT m.only_held
    )
    WHERE start IS NOT NULL AND front.pos >= front.first
"""

# But for those that were handed out in one call with the one in front.
BEGUN_EARLY = f"""
    SELECT f.*
    FROM order_followers f
    LEFT ANTI JOIN (
        SELECT * FROM order_events WHERE kind = '{OrderKind.START}'
    ) s ON s.run = f.run AND s.grp = f.grp AND s.part = f.front.part AND s.pos = f.front.pos
        AND s.session <=> f.start.session AND s.time_ns = f.start.time_ns
    WHERE f.early
"""

CASES = """
    SELECT run, 'I3' AS property, 'never finished' AS what, grp, part, pos, -1L AS index
    FROM order_passed WHERE disposed_ns IS NULL
    UNION ALL
    SELECT run, 'I4', 'begun early', grp, part, pos, start.index FROM order_begun_early
"""

CHANCES = """
    SELECT run, 'I3' AS property, count(*) AS chances FROM order_passed GROUP BY run
    UNION ALL
    SELECT run, 'I4', count(*) FROM order_followers GROUP BY run
"""

VIEWS: Mapping[str, str] = {
    "order_seen": SEEN,
    "order_appended": APPENDED,
    "order_first": FIRST,
    "order_messages": MESSAGES,
    "order_passed": PASSED,
    "order_followers": FOLLOWERS,
    "order_begun_early": BEGUN_EARLY,
}
"""Views in the order in which they build on each other."""
