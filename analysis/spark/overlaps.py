"""The SQL that finds messages that two programs worked on at the same time, and for how long.

Begins and ends of work become marks on the time line of a message. Running sums over the marks of one program say when
it was at work; the sum over all programs says when more than one was.
"""

from collections.abc import Mapping

# Work on each delivery of a message that is not plain; it lasts to whatever ended it, or to the end of the run.
WORK = """
    SELECT w.run, w.message_id, w.program, w.index, w.delivery, w.begin_ns,
           coalesce(least(w.ended_ns, d.death_ns), r.end_ns) AS end_ns
    FROM (
        SELECT run, message_id, program, index, delivery, f, type, time_ns AS begin_ns,
               min(IF(f IN ('push', 'pop', 'extend'), NULL, invoke_ns))
                   OVER (PARTITION BY run, message_id, delivery) AS ended_ns
        FROM outcomes
    ) w
    JOIN runs r ON r.run = w.run
    LEFT JOIN (SELECT run, xxhash64(process) AS program, death_ns FROM deaths) d
    ON d.run = w.run AND d.program = w.program
    WHERE w.f = 'pop' AND w.type = 'ok'
"""

_MARK = "explode(array(struct(begin_ns AS at_ns, 1 AS step), struct(end_ns AS at_ns, -1 AS step)))"
_ORDER = "ORDER BY at_ns, step, index"

BUSY = f"""
    SELECT *, lead(at_ns) OVER (PARTITION BY run, message_id {_ORDER}) - at_ns AS lasted_ns
    FROM (
        SELECT *, sum(held - was_held) OVER (PARTITION BY run, message_id {_ORDER}
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS programs
        FROM (
            SELECT *, lag(held, 1, 0) OVER (PARTITION BY run, message_id, program {_ORDER}) AS was_held
            FROM (
                SELECT *, IF(sum(step) OVER (PARTITION BY run, message_id, program {_ORDER}
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) > 0, 1, 0) AS held
                FROM (
                    SELECT run, message_id, program, index, delivery, mark.at_ns, mark.step
                    FROM (SELECT *, {_MARK} AS mark FROM work WHERE begin_ns < end_ns)
                )
            )
        )
    )
"""

OVERLAPS = """
    SELECT run, message_id, min_by(struct(index, delivery), struct(at_ns, step, index)) AS second,
           sum(lasted_ns) AS overlap_ns
    FROM busy WHERE programs > 1 GROUP BY run, message_id
"""

VIEWS: Mapping[str, str] = {"work": WORK, "busy": BUSY, "overlaps": OVERLAPS}
"""Views in the order in which they build on each other."""
