"""The SQL of what all properties start from: events with short names, decided logs and cursors, sessions that ended.

Tables that must exist: ``order_runs`` (run, by_key, zones, at_rest), ``order_history`` (``run`` and the columns of
``zonelab.analysis.runs.order.ORDER``), ``order_rest`` (``run`` and those of ``FINAL_ORDER``).

``grp``, ``part`` and ``pos`` are a row's group, partition and offset. A ``place`` is a partition as one group sees it.
"""

from collections.abc import Mapping

from zonelab.analysis.runs.order import OrderKind

ASIDE = f"('{OrderKind.DEAD_LETTER}', '{OrderKind.PARK}', '{OrderKind.SKIP}')"
"""Kinds of events by which a message is finished without success."""

NEVER = 2**62

_BALLOT = "IF(token IS NULL, -1, shiftleft(coalesce(generation, 0), 40) + token)"
"""(generation, token) as one number that compares like it; -1 without a token."""


def latest(what: str, *of: str, at: str = "at_ns") -> str:
    """The largest ``what`` so far, among rows of a run that are alike in ``of``.

    A question about "the latest before" is a row of its own among the events, ``asked``, at the time at which it is
    asked, and comes after what is reported at that time: so one running maximum answers all questions.
    """
    rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    return f"max({what}) OVER (PARTITION BY {', '.join(('run', *of))} ORDER BY {at}, asked {rows})"


AS_TOLD = f"""
    SELECT h.run, r.by_key, h.index, h.time_ns, coalesce(h.invoke_ns, h.time_ns) AS invoke_ns, h.kind, h.outcome,
           h.op_id, h.session, h.`group` AS grp, h.`partition` AS part, coalesce(h.epoch, -1) AS epoch,
           h.`offset` AS pos, h.`cursor`, h.key, h.message_id, h.producer, h.sequence, h.until_ns, h.status,
           {_BALLOT} AS ballot
    FROM order_history h JOIN order_runs r ON r.run = h.run
"""

# What a majority of all zones holds alike at an offset.
LOG = """
    SELECT run, part, pos, message_id, record.producer, record.sequence
    FROM (
        SELECT h.run, h.`partition` AS part, h.`offset` AS pos, h.message_id, any_value(r.zones) AS zones,
               min_by(struct(h.producer, h.sequence), h.zone) AS record,
               count(DISTINCT h.zone) AS holders
        FROM order_rest h JOIN order_runs r ON r.run = h.run
        WHERE h.place = 'log'
        GROUP BY h.run, h.`partition`, h.`offset`, h.message_id
    )
    WHERE 2 * holders > zones
"""

# Appends that were confirmed before they had an offset: where they were first begun, otherwise where the log has them.
# They, and those that found their record there, began when it was first sent. What is delayed goes into the log when it
# is due, and is left as it is.
PLACED = f"""
    SELECT u.run, u.index, min(s.invoke_ns) AS invoke_ns, coalesce(min(b.pos), min(l.pos)) AS pos
    FROM (
        SELECT * FROM order_told_events
        WHERE kind = '{OrderKind.PRODUCE}' AND outcome = 'ok' AND part IS NOT NULL
          AND IF(pos IS NULL, until_ns IS NULL, status = 'duplicate')
    ) u
    JOIN (SELECT * FROM order_told_events WHERE kind = '{OrderKind.PRODUCE}') s
      ON s.run = u.run AND s.part = u.part AND s.message_id <=> u.message_id AND s.producer <=> u.producer
     AND s.sequence <=> u.sequence
    LEFT JOIN (
        SELECT run, part, message_id, min(pos) AS pos
        FROM order_told_events WHERE kind = '{OrderKind.START}' GROUP BY run, part, message_id
    ) b ON b.run = u.run AND b.part = u.part AND b.message_id <=> u.message_id
    LEFT JOIN order_log l
      ON l.run = u.run AND l.part = u.part AND l.message_id <=> u.message_id AND l.producer <=> u.producer
     AND l.sequence <=> u.sequence
    GROUP BY u.run, u.index
"""

EVENTS = """
    SELECT e.* EXCEPT (invoke_ns, pos), coalesce(p.invoke_ns, e.invoke_ns) AS invoke_ns, coalesce(e.pos, p.pos) AS pos
    FROM order_told_events e LEFT JOIN order_placed p ON p.run = e.run AND p.index = e.index
"""

# The newest cursor, by token and then offset, that a majority of all zones has reached.
CURSORS = f"""
    SELECT run, grp, part, pos AS cursor
    FROM (
        SELECT h.run, h.`group` AS grp, h.`partition` AS part, h.`offset` AS pos, r.zones,
               row_number() OVER (
                   PARTITION BY h.run, h.`group`, h.`partition` ORDER BY {_BALLOT} DESC, h.`offset` DESC
               ) AS nth
        FROM order_rest h JOIN order_runs r ON r.run = h.run
        WHERE h.place = 'cursor'
    )
    WHERE nth = zones DIV 2 + 1
"""

PLACES = "SELECT DISTINCT run, grp, part FROM order_events WHERE grp IS NOT NULL AND part IS NOT NULL"

# Every cursor that a group received, and how many resets of it by hand had begun by then. What was asked for while
# somebody reset it is left out.
TOLD = f"""
    SELECT *
    FROM (
        SELECT e.run, e.grp, e.part, e.index, e.time_ns, e.invoke_ns, e.`cursor`,
               coalesce(array_contains(transform(r.resets, one -> one.index), e.index), false) AS by_hand,
               size(filter(coalesce(r.resets, array()), one -> one.invoke_ns < e.time_ns)) AS era,
               size(filter(coalesce(r.resets, array()), one -> one.time_ns < e.invoke_ns)) AS ended
        FROM order_events e
        LEFT JOIN (
            SELECT run, grp, part, collect_list(struct(index, invoke_ns, time_ns)) AS resets
            FROM order_events
            WHERE kind = '{OrderKind.COMMIT}' AND outcome <> 'fail' AND status = 'reset'
            GROUP BY run, grp, part
        ) r ON r.run = e.run AND r.grp = e.grp AND r.part = e.part
        WHERE (e.kind IN ('{OrderKind.COMMIT}', '{OrderKind.GRANT}') OR e.kind IN {ASIDE})
          AND e.outcome = 'ok' AND e.`cursor` IS NOT NULL AND e.grp IS NOT NULL AND e.part IS NOT NULL
    )
"""

VIEWS: Mapping[str, str] = {
    "order_told_events": AS_TOLD,
    "order_log": LOG,
    "order_placed": PLACED,
    "order_events": EVENTS,
    "order_cursors": CURSORS,
    "order_places": PLACES,
    "order_told": TOLD,
}
"""Views in the order in which they build on each other."""
