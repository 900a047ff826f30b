"""Sinks: what came out at the end is the log in order, each message once: I14."""

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import first_of_each, least
from zonelab.analysis.checkers.order.messages import NEVER, SUCCESSES, ends_with
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import BITS, INFO, OK, Bools, Ints, Rows
from zonelab.analysis.runs.order import OrderKind

_NAME = Property.SINK


def check_sinks(rows: Rows, at_rest: Rows, findings: OrderFindings) -> None:
    """I14. ``at_rest``: what sinks hold for good; nothing if that was not read."""
    sinks = rows.of_kind(OrderKind.SINK)
    findings.exercised(_NAME, len(sinks))
    taken = sinks.where(sinks.outcome == OK)
    taken = taken.where(np.lexsort((taken.index, taken.position, _whose(taken))))
    highest, first = _highest_so_far(taken)
    place = taken.epoch << BITS | taken.offset
    findings.add(_NAME, "taken twice", taken.where(~first & (place == highest)))
    findings.add(_NAME, "older after newer", taken.where(~first & (place < highest)))
    _missing(rows, sinks, findings)
    _at_rest(taken, at_rest, findings)


def _whose(rows: Rows) -> Ints:
    return rows.group << BITS | rows.key + 1


def _highest_so_far(taken: Rows) -> tuple[Ints, Bools]:
    """Return the latest message among the effects on the same key before each, and which are the first of their key."""
    first = first_of_each(_whose(taken))
    place = taken.epoch << BITS | taken.offset
    ranks = np.unique(place, return_inverse=True)[1].astype(np.int64)
    running = np.maximum.accumulate(np.cumsum(first) * (len(taken) + 1) + ranks)
    values = np.unique(place)
    before = np.full(len(taken), -1, dtype=np.int64)
    before[1:] = values[running[:-1] % (len(taken) + 1)]
    return before, first


def _missing(rows: Rows, sinks: Rows, findings: OrderFindings) -> None:
    """Find what a program finished under a sink that took nothing of it and may not have."""
    if not len(sinks):
        return
    ends = ends_with(rows, SUCCESSES, findings.books)
    ends = ends.where(np.lexsort((ends.index, ends.message)))
    ends = ends.where(first_of_each(ends.message))
    perhaps = sinks.where(np.isin(sinks.outcome, (OK, INFO)))
    findings.add(_NAME, "not taken", ends.where(~np.isin(ends.message, perhaps.message)))


def _at_rest(taken: Rows, at_rest: Rows, findings: OrderFindings) -> None:
    """The last effect that a sink confirmed for a key is the last that it holds. Not judged after a resize, which
    numbers offsets anew.
    """
    if not len(at_rest) or (taken.epoch > 0).any():
        return
    held = -least(_whose(at_rest), -at_rest.offset, _whose(taken), otherwise=NEVER)
    last = np.ones(len(taken), dtype=np.bool_)
    last[:-1] = _whose(taken)[1:] != _whose(taken)[:-1]
    findings.add(_NAME, "not held at rest", taken.where(last & (held < taken.offset)))
