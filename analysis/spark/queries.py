"""The SQL of the Spark pipeline: every view, and the order in which they build on each other.

Tables that must exist: ``runs`` (run, setting, epoch_ns, drained, complete, unread_shards, early_ms_max, leases,
not_judged), where runs of one ``setting`` are added up, ``history`` (``run`` and the columns of
``analysis.runs.history.OPERATIONS``) and ``final_state`` (``run`` and those of ``FINAL_STATE``).
"""

from collections.abc import Mapping

from analysis.spark import classes

# One row an event: the rows of one event differ in their messages only.
OPERATIONS = """
    SELECT DISTINCT h.run, r.setting, h.index, h.zone, h.f, h.type, h.time_ns DIV 1000000000 AS second,
           regexp_replace(h.error, '(?s):.*', '') AS error,
           CASE WHEN h.type = 'ok' THEN h.time_ns - h.invoke_ns END AS latency_ns
    FROM history h JOIN runs r ON r.run = h.run
"""

VIEWS: Mapping[str, str] = {"operations": OPERATIONS, **classes.VIEWS}

KEPT = ("operations", "gathered", "judged")
"""Views that several queries need: each would compute them again."""
