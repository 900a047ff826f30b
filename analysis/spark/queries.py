"""The SQL of the Spark pipeline: every view, and the order in which they build on each other.

Tables that must exist: ``runs``, as ``zonelab.analysis.spark.views`` makes it, where runs of one ``setting`` are added
up, ``deaths`` (run, process, death_ns), ``history`` (``run`` and the columns of
``zonelab.analysis.runs.history.OPERATIONS``) and ``final_state`` (``run`` and those of ``FINAL_STATE``).
"""

from collections.abc import Mapping

from zonelab.analysis.spark import classes

# One row an event: the rows of one event differ in their messages only.
OPERATIONS = """
    SELECT o.run, r.setting, o.index, o.zone, o.f, o.type, o.time_ns DIV 1000000000 AS second,
           substring_index(o.error, ':', 1) AS error,
           CASE WHEN o.type = 'ok' AND NOT array_contains(r.instants, o.f)
                THEN o.time_ns - o.invoke_ns END AS latency_ns
    FROM (
        SELECT run, index, zone, f, type, error, max(time_ns) AS time_ns, max(invoke_ns) AS invoke_ns
        FROM history GROUP BY run, index, zone, f, type, error
    ) o JOIN runs r ON r.run = o.run
"""

VIEWS: Mapping[str, str] = {"operations": OPERATIONS, **classes.VIEWS}

KEPT = ("names", "gathered", "contested", "judged_in_turn")
"""Views that several queries need: each would compute them again."""
