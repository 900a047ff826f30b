"""The SQL that decides every class of messages, and counts them a run.

It shares no code with the queue checker: where the two agree, each confirms the other. The rules are those of
docs/verdicts.md. ``cases`` has a row a case: class, message, and the event, delivery or zone that shows it, as the
checker's ``offenders.parquet`` has. Classes for which an engine lacks the means are left out of it.
"""

from collections.abc import Mapping

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.spark import inversions, leases, messages

# Each delivery with its one cause, and how far it was from its time.
CLASSIFIED = """
    SELECT r.setting, j.run, j.message_id, j.index, j.delivery, n.name AS zone, j.nth, j.time_ns,
           j.confirmed_shard,
           j.time_ns DIV 1000000000 AS second,
           IF(array_contains(r.not_judged, j.cause), NULL, j.cause) AS cause,
           (r.epoch_ns + j.time_ns) DIV 1000000 < least(j.due_ms, j.due_in_doubt_ms) - r.early_ms_max AS early,
           IF(j.nth = 1, (r.epoch_ns + j.time_ns) DIV 1000000 - j.due_ms, NULL) AS lateness_ms, r.late_ms
    FROM judged j
    JOIN runs r ON r.run = j.run
    LEFT JOIN names n ON n.code = j.zone
    WHERE j.nth IS NOT NULL
"""

HELD = """
    SELECT run, message_id, bool_or(serving AND place <> 'dead') AS at_home, bool_or(place <> 'dead') AS listed,
           bool_or(place = 'dead') AS dead, bool_or(place = 'unack') AS leased,
           count(DISTINCT IF(place = 'queue', zone, NULL)) AS waits_in
    FROM final_state WHERE place <> 'payload' GROUP BY run, message_id
"""

# For how long what was delivered for the first time in the last second of the drain had waited.
SERVED_LAST = """
    SELECT c.run, c.confirmed_shard AS shard, max(c.lateness_ms) AS longest_ms
    FROM classified c JOIN runs r ON r.run = c.run
    WHERE c.nth = 1 AND c.lateness_ms IS NOT NULL AND c.confirmed_shard IS NOT NULL
          AND c.time_ns > r.drained_ns - 1000000000 AND c.time_ns <= r.drained_ns
    GROUP BY c.run, c.confirmed_shard
"""

# What became of messages of which the queue still owed a delivery at the end.
FATES = """
    SELECT run, message_id, first_index, CASE
        WHEN at_home OR listed AND NOT delivered THEN
            CASE WHEN NOT drained THEN 'undecided'
                 WHEN NOT delivered AND due_ms > drained_ms THEN 'not_due'
                 WHEN waits AND since_ms BETWEEN drained_ms - 2 * longest_ms - 1000 AND drained_ms THEN 'unserved'
                 ELSE 'stuck' END
        WHEN delivered AND dead THEN 'dead_letter'
        WHEN delivered THEN IF(home_unread, 'undecided', 'abandoned')
        ELSE IF(complete, 'lost', 'undecided') END AS fate
    FROM (
        SELECT m.run, m.message_id, m.first_index, m.deliveries > 0 AS delivered, m.due_ms,
               IF(m.deliveries > 0, m.leased_until_ms, m.due_ms) AS since_ms, s.longest_ms,
               r.complete AND h.waits_in = r.zones AND NOT h.leased
               AND coalesce(m.last_popped_ns <= r.drained_ns - 1000000000, true) AS waits,
               r.drained, r.drained_ms, r.complete,
               coalesce(array_contains(r.unread_shards, m.shard), false) AS home_unread,
               coalesce(h.at_home, false) AS at_home, coalesce(h.listed, false) AS listed,
               coalesce(h.dead, false) AS dead
        FROM messages m
        JOIN runs r ON r.run = m.run
        LEFT JOIN held h ON h.run = m.run AND h.message_id = m.message_id
        LEFT JOIN served_last s ON s.run = m.run AND s.shard = m.confirmed_shard
        WHERE m.push_ok AND NOT m.ack_tried AND (m.deliveries = 0 OR r.leases AND NOT m.at_most_once)
    )
"""

# A payload that its zone lists nowhere, or an id that its zone lists without a payload.
UNPAIRED = """
    SELECT run, message_id, zone, IF(payload, 'orphan', 'phantom') AS class
    FROM (
        SELECT run, message_id, zone, bool_or(place = 'payload') AS payload, bool_or(place <> 'payload') AS listed
        FROM final_state GROUP BY run, message_id, zone
    )
    WHERE payload <> listed
"""

CASES = """
    SELECT c.*
    FROM (
        SELECT run, fate AS class, message_id, first_index AS index, CAST(NULL AS BIGINT) AS delivery,
               CAST(NULL AS STRING) AS zone
        FROM fates
        UNION ALL
        SELECT run, IF(push_doubtful, 'recovered', 'unexpected'), message_id, first_index, NULL, NULL
        FROM messages WHERE deliveries > 0 AND NOT push_ok
        UNION ALL
        SELECT run, 'unexpected', message_id, first_index, NULL, NULL FROM messages WHERE wrong_body
        UNION ALL
        SELECT run, cause, message_id, index, delivery, NULL FROM judged WHERE cause IS NOT NULL
        UNION ALL
        SELECT run, 'early', message_id, index, delivery, NULL FROM classified WHERE early
        UNION ALL
        SELECT run, 'late', message_id, index, delivery, NULL FROM classified WHERE lateness_ms > late_ms
        UNION ALL
        SELECT run, 'overlap', message_id, second.index, second.delivery, NULL FROM overlaps
        UNION ALL
        SELECT run, 'priority_inversion', message_id, index, delivery, NULL FROM inversions
        UNION ALL
        SELECT run, class, message_id, NULL, NULL, zone FROM unpaired
    ) c
    JOIN runs r ON r.run = c.run
    WHERE NOT array_contains(r.not_judged, c.class)
"""

TOTALS = ("pushed", "acknowledged", "failed", "indeterminate", "delivered", "acked", "deliveries")
CLASSES = tuple(map(str, MessageClass))

RUN_COUNTS = f"""
    SELECT r.setting, r.place, r.run, m.* EXCEPT (run), c.* EXCEPT (run)
    FROM runs r
    LEFT JOIN (
        SELECT run, count_if(pushed) AS pushed, count_if(push_ok) AS acknowledged,
               count_if(pushed AND NOT push_ok AND NOT push_doubtful) AS failed,
               count_if(push_doubtful AND NOT push_ok) AS indeterminate,
               count_if(deliveries > 0) AS delivered, count(acked_ns) AS acked, sum(deliveries) AS deliveries
        FROM messages GROUP BY run
    ) m ON m.run = r.run
    LEFT JOIN (
        SELECT run, {", ".join(f"count_if(class = '{name}') AS {name}" for name in CLASSES)} FROM cases GROUP BY run
    ) c ON c.run = r.run
"""

SETTINGS = f"""
    SELECT setting, count(*) AS runs,
           {", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in (*TOTALS, *CLASSES))},
           {", ".join(f"count_if({name} > 0) AS runs_{name}" for name in CLASSES)}
    FROM run_counts GROUP BY setting ORDER BY setting
"""

VIEWS: Mapping[str, str] = {
    **messages.VIEWS,
    **leases.VIEWS,
    **inversions.VIEWS,
    "classified": CLASSIFIED,
    "held": HELD,
    "served_last": SERVED_LAST,
    "fates": FATES,
    "unpaired": UNPAIRED,
    "cases": CASES,
    "run_counts": RUN_COUNTS,
}
"""Views in the order in which they build on each other."""
