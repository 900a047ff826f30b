"""The SQL of I1: what a producer began after an earlier message of the key was confirmed stands behind it."""

from collections.abc import Mapping

from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.spark.order.events import latest

ROUNDING_NS = 2_000_000
"""Due times are whole milliseconds of some clock; what is closer together is due at the same time."""

PRODUCED = f"""
    SELECT run, index, time_ns, invoke_ns, producer, key, part, epoch, pos, sequence, until_ns, message_id
    FROM order_events
    WHERE kind = '{OrderKind.PRODUCE}' AND outcome = 'ok' AND producer IS NOT NULL AND key IS NOT NULL
"""

# Each append with the furthest message of its producer and key that was confirmed before it began.
FOLLOWING = f"""
    SELECT *, front.place IS NOT NULL AS later, coalesce(moved, false) AS was_moved,
           coalesce(NOT moved AND front.place >= place
                    AND NOT (front.place = place AND front.message_id <=> message_id), false) AS in_front
    FROM (
        SELECT *, front.epoch = epoch AND front.part <> part AS moved
        FROM (
            SELECT *, {latest("confirmed", "producer", "key")} AS front
            FROM (
                SELECT *, struct(greatest(epoch, 0) AS epoch, pos) AS place
                FROM order_produced WHERE pos IS NOT NULL
            ) LATERAL VIEW inline(array(
                struct(false AS asked, time_ns AS at_ns, struct(place, index, epoch, part, message_id) AS confirmed),
                struct(true AS asked, invoke_ns AS at_ns, NULL AS confirmed)
            )) moment
        )
        WHERE asked
    )
"""

OVERTAKEN = """
    SELECT *
    FROM (
        SELECT *, max(pos) OVER (
                   PARTITION BY run, producer, key, epoch, part ORDER BY sequence, index
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
               ) AS furthest
        FROM order_following WHERE NOT in_front AND sequence IS NOT NULL
    )
    WHERE furthest > pos
"""

# Delayed messages, which have no offset when they are confirmed, as they were first handed out. In front of others
# belongs what was due, and confirmed, before those were due.
DELAYED = f"""
    SELECT run, start.index, start.grp, start.part, start.pos, furthest IS NOT NULL AS later,
           coalesce(furthest > start.pos, false) AS in_front
    FROM (
        SELECT *, {latest("confirmed_pos", "start.part", "producer", "key")} AS furthest
        FROM (
            SELECT p.run, p.producer, p.key, p.until_ns, greatest(p.until_ns, p.time_ns) AS known_ns, s.start
            FROM order_produced p
            JOIN (
                SELECT run, message_id, min_by(struct(index, grp, part, pos), index) AS start
                FROM order_events WHERE kind = '{OrderKind.START}' AND key IS NOT NULL GROUP BY run, message_id
            ) s ON s.run = p.run AND s.message_id = p.message_id
            WHERE p.pos IS NULL AND p.until_ns IS NOT NULL
        ) LATERAL VIEW inline(array(
            struct(false AS asked, known_ns AS at_ns, start.pos AS confirmed_pos),
            struct(true AS asked, until_ns - {ROUNDING_NS} AS at_ns, NULL AS confirmed_pos)
        )) moment
    )
    WHERE asked
"""

CASES = """
    SELECT run, 'I1' AS property, 'another partition' AS what, NULL AS grp, part, pos, index
    FROM order_following WHERE was_moved
    UNION ALL
    SELECT run, 'I1', 'in front', NULL, part, pos, index FROM order_following WHERE in_front
    UNION ALL
    SELECT run, 'I1', 'overtaken', NULL, part, pos, index FROM order_overtaken
    UNION ALL
    SELECT run, 'I1', 'in front of one due earlier', grp, part, pos, index FROM order_delayed WHERE in_front
"""

CHANCES = """
    SELECT run, 'I1' AS property, count_if(later) AS chances
    FROM (SELECT run, later FROM order_following UNION ALL SELECT run, later FROM order_delayed)
    GROUP BY run
"""

VIEWS: Mapping[str, str] = {
    "order_produced": PRODUCED,
    "order_following": FOLLOWING,
    "order_overtaken": OVERTAKEN,
    "order_delayed": DELAYED,
}
"""Views in the order in which they build on each other."""
