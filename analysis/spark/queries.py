"""The SQL of the Spark pipeline.

It decides every class of messages by itself, with joins and window functions, and shares no code with the queue
checker: where the two agree, each confirms the other. The rules are those of docs/verdicts.md.

Tables that must exist: ``runs`` (run, setting, epoch_ns, drained, complete, unread_shards, early_ms_max, leases), where
runs of one ``setting`` are added up, ``history`` (``run`` and the columns of ``analysis.runs.history.OPERATIONS``) and
``final_state`` (``run`` and those of ``FINAL_STATE``).
"""

from collections.abc import Mapping

EVENTS = """
    SELECT h.*, r.setting,
           (r.epoch_ns + h.time_ns) DIV 1000000 AS wall_ms,
           (r.epoch_ns + coalesce(h.invoke_ns, h.time_ns)) DIV 1000000 AS invoke_wall_ms
    FROM history h JOIN runs r USING (run)
"""

# One row an event: the rows of one event differ in their messages only.
OPERATIONS = """
    SELECT DISTINCT run, setting, index, zone, f, type, time_ns DIV 1000000000 AS second,
           regexp_replace(error, '(?s):.*', '') AS error,
           CASE WHEN type = 'ok' THEN time_ns - invoke_ns END AS latency_ns
    FROM events
"""

# What became of each attempt on each message; an invocation without a completion is in doubt.
OUTCOMES = """
    SELECT *, CASE WHEN type = 'invoke' THEN 'info' ELSE type END AS outcome
    FROM (
        SELECT *, bool_or(type <> 'invoke') OVER (PARTITION BY run, op_id, message_id) AS completed
        FROM events WHERE message_id IS NOT NULL
    )
    WHERE type <> 'invoke' OR NOT completed
"""

DELIVERIES = """
    SELECT *, row_number() OVER (PARTITION BY run, message_id ORDER BY leased_ms, lease_start_ms, index) AS nth
    FROM (
        SELECT run, setting, message_id, index, op_id, zone, wall_ms, time_ns DIV 1000000000 AS second,
               coalesce(delivery, op_id) AS delivery, due_ms, lease_end_ms,
               coalesce(leased_ms, wall_ms) AS leased_ms, coalesce(lease_start_ms, invoke_wall_ms) AS lease_start_ms
        FROM outcomes WHERE f = 'pop' AND outcome = 'ok'
    )
"""

MESSAGES = """
    SELECT run, setting, message_id,
           bool_or(f = 'push') AS pushed,
           bool_or(f = 'push' AND outcome = 'ok') AS push_ok,
           bool_or(f = 'push' AND outcome = 'info') AS push_doubtful,
           coalesce(bool_or(f = 'push' AND lease_ms = 0), false) AS at_most_once,
           bool_or(f = 'pop' AND outcome = 'ok') AS delivered,
           bool_or(f = 'ack' AND outcome IN ('ok', 'info')) AS ack_tried,
           min(wall_ms) FILTER (WHERE f = 'ack' AND outcome = 'ok') AS acked_ms,
           max(shard) AS shard,
           coalesce(
               min(due_ms) FILTER (WHERE f = 'push' AND outcome = 'ok'),
               min(due_ms) FILTER (WHERE f = 'push'),
               min(due_ms) FILTER (WHERE f = 'pop' AND outcome = 'ok')
           ) AS due_ms,
           min(due_ms) FILTER (WHERE f = 'push' AND outcome = 'info') AS due_in_doubt_ms
    FROM outcomes GROUP BY run, setting, message_id
"""

# For every two deliveries of a message, when the lease of the earlier one ended as far as the later one is concerned:
# as last confirmed before it was leased, or as any extension then in doubt would have it.
PAIRS = """
    SELECT run, message_id, later, leased_ms,
           least(
               coalesce(max_by(end_ms, ok_ms) FILTER (WHERE confirmed), any_value(first_end_ms)),
               min(end_ms) FILTER (WHERE NOT confirmed)
           ) AS end_ms
    FROM (
        SELECT d2.run, d2.message_id, d2.index AS later, d1.index AS earlier, d2.leased_ms,
               d1.lease_end_ms AS first_end_ms, x.lease_end_ms AS end_ms, x.wall_ms AS ok_ms,
               coalesce(x.outcome = 'ok' AND x.wall_ms <= d2.leased_ms, false) AS confirmed
        FROM deliveries d2
        JOIN deliveries d1
          ON d1.run = d2.run AND d1.message_id = d2.message_id AND d1.nth < d2.nth AND d1.delivery <> d2.delivery
             AND d1.lease_end_ms IS NOT NULL
        LEFT JOIN (SELECT * FROM outcomes WHERE f = 'extend' AND outcome <> 'fail' AND lease_end_ms IS NOT NULL) x
          ON x.run = d1.run AND x.message_id = d1.message_id AND x.delivery = d1.delivery
             AND x.invoke_wall_ms <= d2.leased_ms
    )
    GROUP BY run, message_id, later, earlier, leased_ms
"""

CLASSIFIED = """
    SELECT d.*, m.due_ms AS message_due_ms,
           CASE WHEN d.nth = 1 THEN NULL
                WHEN d.lease_start_ms > m.acked_ms THEN 'resurrected'
                WHEN p.later IS NOT NULL THEN IF(r.leases, 'concurrent', NULL)
                ELSE 'redelivered' END AS cause,
           d.wall_ms < least(m.due_ms, m.due_in_doubt_ms) - r.early_ms_max AS early,
           CASE WHEN d.nth = 1 THEN d.wall_ms - m.due_ms END AS lateness_ms
    FROM deliveries d
    JOIN messages m USING (run, message_id)
    JOIN runs r ON r.run = d.run
    LEFT JOIN (SELECT DISTINCT run, message_id, later FROM pairs WHERE leased_ms < end_ms) p
      ON p.run = d.run AND p.message_id = d.message_id AND p.later = d.index
"""

FATES = """
    SELECT *, CASE
        WHEN NOT owed THEN NULL
        WHEN at_home OR (listed AND NOT delivered) THEN CASE WHEN drained THEN 'stuck' ELSE 'undecided' END
        WHEN delivered AND dead THEN NULL
        WHEN delivered THEN CASE WHEN home_unread THEN 'undecided' ELSE 'abandoned' END
        ELSE CASE WHEN complete THEN 'lost' ELSE 'undecided' END END AS fate
    FROM (
        SELECT m.*, r.drained, r.complete, m.push_ok AND NOT m.ack_tried AND
               (r.leases AND NOT m.at_most_once OR NOT m.delivered) AS owed,
               coalesce(s.serving, false) AS at_home, coalesce(s.listed, false) AS listed,
               coalesce(s.dead, false) AS dead,
               coalesce(array_contains(r.unread_shards, m.shard), false) AS home_unread
        FROM messages m
        JOIN runs r ON r.run = m.run
        LEFT JOIN (
            SELECT run, message_id, bool_or(serving AND place <> 'dead') AS serving,
                   bool_or(place <> 'dead') AS listed, bool_or(place = 'dead') AS dead
            FROM final_state WHERE place <> 'payload' GROUP BY run, message_id
        ) s ON s.run = m.run AND s.message_id = m.message_id
    )
"""

RUN_COUNTS = """
    SELECT r.setting, r.run, m.* EXCEPT (run), d.* EXCEPT (run)
    FROM runs r
    LEFT JOIN (
        SELECT run, count_if(pushed) AS pushed, count_if(push_ok) AS acknowledged,
               count_if(pushed AND NOT push_ok AND NOT push_doubtful) AS failed,
               count_if(push_doubtful AND NOT push_ok) AS indeterminate,
               count_if(delivered) AS delivered, count(acked_ms) AS acked,
               count_if(fate = 'lost') AS lost, count_if(fate = 'stuck') AS stuck,
               count_if(fate = 'abandoned') AS abandoned, count_if(fate = 'undecided') AS undecided,
               count_if(delivered AND push_doubtful AND NOT push_ok) AS recovered,
               count_if(delivered AND NOT push_ok AND NOT push_doubtful) AS unexpected
        FROM fates GROUP BY run
    ) m ON m.run = r.run
    LEFT JOIN (
        SELECT run, count(*) AS deliveries, count_if(early) AS early, count_if(cause = 'redelivered') AS redelivered,
               count_if(cause = 'concurrent') AS concurrent, count_if(cause = 'resurrected') AS resurrected
        FROM classified GROUP BY run
    ) d ON d.run = r.run
"""

VIEWS: Mapping[str, str] = {
    "events": EVENTS,
    "operations": OPERATIONS,
    "outcomes": OUTCOMES,
    "deliveries": DELIVERIES,
    "messages": MESSAGES,
    "pairs": PAIRS,
    "classified": CLASSIFIED,
    "fates": FATES,
    "run_counts": RUN_COUNTS,
}
"""Views in the order in which they build on each other."""

TOTALS = ("pushed", "acknowledged", "failed", "indeterminate", "delivered", "acked", "deliveries")
CLASSES = (
    "lost", "stuck", "abandoned", "undecided", "recovered", "unexpected",
    "redelivered", "concurrent", "resurrected", "early",
)  # fmt: skip

SETTINGS = f"""
    SELECT setting, count(*) AS runs,
           {", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in (*TOTALS, *CLASSES))},
           {", ".join(f"count_if({name} > 0) AS runs_{name}" for name in CLASSES)}
    FROM run_counts GROUP BY setting ORDER BY setting
"""
