"""The SQL of lateness while a run goes on: messages wait in a table until they are delivered and their time is known.

So what is kept between two batches is as large as the backlog, however long the run is. Views that must exist: ``runs``
and ``history`` as in ``zonelab.analysis.spark.queries``, the latter of one batch of one run, and ``waited`` with the
columns of ``WAITING``. Of two deliveries the earlier on record counts as the first.
"""

from collections.abc import Mapping

import pyarrow as pa

from zonelab.analysis.latency_buckets import bucket_sql

WAITING = pa.schema(
    [
        ("message_id", pa.string()),
        ("open", pa.int64()),
        ("due_ms", pa.int64()),
        ("delivered_ns", pa.int64()),
        ("zone", pa.string()),
    ]
)
"""``open``: how many pushes of it began and did not fail. ``zone``: where it was delivered."""

# A message is known from its push on, which is on record before any delivery. Later deliveries are of messages that
# have left the table, so they are of nobody.
MET = """
    SELECT message_id, coalesce(w.open, 0) + coalesce(b.open, 0) AS open, coalesce(w.due_ms, b.due_ms) AS due_ms,
           coalesce(w.delivered_ns, b.delivery.time_ns) AS delivered_ns,
           IF(w.delivered_ns IS NULL, b.delivery.zone, w.zone) AS zone
    FROM waited w
    FULL OUTER JOIN (
        SELECT message_id,
               count_if(f = 'push' AND type = 'invoke') - count_if(f = 'push' AND type = 'fail') AS open,
               count_if(f = 'push') > 0 AS pushed,
               coalesce(
                   min(due_ms) FILTER (WHERE f = 'push' AND type = 'ok'),
                   min(due_ms) FILTER (WHERE f = 'push' AND type = 'info')
               ) AS due_ms,
               min(struct(time_ns, zone)) FILTER (WHERE f = 'pop' AND type = 'ok') AS delivery
        FROM history WHERE message_id IS NOT NULL GROUP BY message_id
    ) b USING (message_id)
    WHERE w.message_id IS NOT NULL OR b.pushed
"""

WAIT_ON = """
    SELECT message_id, open, due_ms, delivered_ns, zone FROM met
    WHERE (due_ms IS NULL OR delivered_ns IS NULL) AND (open > 0 OR delivered_ns IS NOT NULL)
"""

VIEWS: Mapping[str, str] = {"met": MET, "wait_on": WAIT_ON}
"""Views in the order in which they build on each other."""

LATENESS_COUNTS = f"""
    SELECT setting, 'pop' AS f, zone, 'delivery' AS measure, CAST(NULL AS STRING) AS type,
           CAST(NULL AS STRING) AS error, true AS first, early, CAST(NULL AS STRING) AS cause,
           bucket, count(*) AS cases, max(lateness_ns) AS largest_ns
    FROM (SELECT *, {bucket_sql("lateness_ns")} AS bucket FROM (
        SELECT r.setting, m.zone, lateness_ms < -r.early_ms_max AS early, lateness_ms * 1000000 AS lateness_ns
        FROM (
            SELECT m.*, (r.epoch_ns + m.delivered_ns) DIV 1000000 - m.due_ms AS lateness_ms
            FROM met m CROSS JOIN runs r WHERE m.delivered_ns IS NOT NULL AND m.due_ms IS NOT NULL
        ) m CROSS JOIN runs r
    ))
    GROUP BY setting, zone, early, bucket
"""
"""Rows as those of ``zonelab.analysis.spark.counts``, of the messages that need not wait any more."""
