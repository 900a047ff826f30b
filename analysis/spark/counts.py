"""The SQL that counts what operations and deliveries came to: integers only, so that parts can be added in any order.

A row says how many operations of one kind ended alike with a latency in one bucket, or how many deliveries were alike
with a lateness in one bucket (``zonelab.analysis.latency_buckets``). ``zonelab.analysis.spark.aggregates`` makes
figures of such rows. Views that must exist: ``operations`` and ``classified`` of ``zonelab.analysis.spark.queries``.
"""

from zonelab.analysis.latency_buckets import bucket_sql


def count_query(*keys: str) -> str:
    """Rows of counts for each combination of ``keys``, of which ``f`` must be one; in no order.

    ``measure`` is operation or delivery; a row of one has nulls for what only the other has.
    """
    return f"{operation_count_query(*keys)} UNION ALL {_delivery_count_query(*keys)}"


def operation_count_query(*keys: str) -> str:
    """The part of ``count_query`` that needs no history but the events that are counted."""
    by = ", ".join(keys)
    return f"""
        SELECT {by}, 'operation' AS measure, type, error,
               CAST(NULL AS BOOLEAN) AS first, CAST(NULL AS BOOLEAN) AS early, CAST(NULL AS STRING) AS cause,
               bucket, count(*) AS cases, max(latency_ns) AS largest_ns
        FROM (SELECT *, {bucket_sql("latency_ns")} AS bucket FROM operations)
        GROUP BY {by}, type, error, bucket
    """


def _delivery_count_query(*keys: str) -> str:
    by = ", ".join(keys)
    delivery_by = ", ".join("'pop' AS f" if key == "f" else key for key in keys)
    return f"""
        SELECT {by}, 'delivery' AS measure, NULL AS type, NULL AS error, first, early, cause,
               bucket, count(*) AS cases, max(lateness_ns) AS largest_ns
        FROM (
            SELECT {delivery_by}, nth = 1 AS first, coalesce(early, false) AS early, cause, lateness_ns,
                   {bucket_sql("lateness_ns")} AS bucket
            FROM (SELECT *, lateness_ms * 1000000 AS lateness_ns FROM classified)
        )
        GROUP BY {by}, first, early, cause, bucket
    """
