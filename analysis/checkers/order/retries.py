"""Retries: attempts are counted, spaced and limited as the settings of the run demand: I11."""

import numpy as np

from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.intervals import count_before, first_of_each, latest_before
from zonelab.analysis.checkers.order.messages import FAILURES, ends_with
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.rows import INFO, OK, Rows
from zonelab.analysis.runs.order import OrderKind
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.units import NS_PER_MS

_NAME = Property.RETRIES


def check_retries(rows: Rows, rules: OrderRules, findings: OrderFindings) -> None:
    """I11. A failure counts from the moment at which its count was confirmed, across all takeovers."""
    starts = rows.of_kind(OrderKind.START)
    starts = starts.where(starts.attempt >= 0)
    counted = rows.of_kind(OrderKind.FAIL, outcomes=(OK,))
    perhaps = rows.of_kind(OrderKind.FAIL, outcomes=(OK, INFO))
    least = 1 + count_before(counted.message, counted.time_ns, starts.message, starts.time_ns)
    most = 1 + count_before(perhaps.message, perhaps.invoke_ns, starts.message, starts.time_ns + 1)
    findings.exercised(_NAME, (most > 1).sum())
    forgotten = starts.attempt < least
    findings.add(
        _NAME, "forgotten", starts.where(forgotten), lambda row: f"{least[forgotten][row] - 1} had failed before"
    )
    findings.add(_NAME, "counted too high", starts.where(starts.attempt > most))
    _hurried(starts, counted, rules, findings)
    _limits(rows, starts, rules, findings)


def _hurried(starts: Rows, counted: Rows, rules: OrderRules, findings: OrderFindings) -> None:
    until = np.maximum(counted.until_ns, counted.invoke_ns)
    last = latest_before(counted.message, counted.time_ns, until, starts.message, starts.time_ns)
    soon = (last >= 0) & (until[last] > starts.time_ns) if len(counted) else last >= 0
    findings.add(_NAME, "hurried", starts.where(soon))
    pause = int(rules.suspend_ms * NS_PER_MS)
    short = (counted.until_ns >= 0) & (counted.until_ns < counted.invoke_ns + pause)
    findings.add(_NAME, "suspended too briefly", counted.where(short))


def _limits(rows: Rows, starts: Rows, rules: OrderRules, findings: OrderFindings) -> None:
    dead = rows.of_kind(OrderKind.DEAD_LETTER, outcomes=(OK,))
    again = count_before(dead.message, dead.time_ns, starts.message, starts.invoke_ns)
    findings.add(_NAME, "begun after its dead letter", starts.where(again > 0))
    ordered = dead.where(np.lexsort((dead.index, dead.message)))
    findings.add(_NAME, "two dead letters", ordered.where(~first_of_each(ordered.message)))
    if rules.retries_max is None:
        return
    findings.add(_NAME, "too many attempts", starts.where(starts.attempt > rules.retries_max + 1))
    failed = ends_with(rows, FAILURES, findings.books)
    attempts = count_before(failed.message, failed.time_ns, dead.message, dead.time_ns + 1)
    early = attempts <= rules.retries_max
    findings.add(_NAME, "dead letter too early", dead.where(early), lambda row: f"{attempts[early][row]} had failed")
