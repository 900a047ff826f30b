"""Goal: while a run goes on it is said what was delivered twice and what is overdue, and of nothing that it is lost."""

from zonelab.analysis.runs.history import MessageColumns
from zonelab.scenarios.clients.messages_so_far import OVERDUE_MS, MessagesSoFar


def heard(so_far, f, *ids, due_ms=None, outcome="ok"):
    so_far.heard(f, outcome, [MessageColumns(message_id=each, due_ms=due_ms) for each in ids])


def test_deliveries_after_the_first_are_duplicates():
    so_far = MessagesSoFar()
    heard(so_far, "push", "m1", "m2", due_ms=0)
    heard(so_far, "pop", "m1", "m2")
    heard(so_far, "pop", "m1")
    heard(so_far, "pop", "m1", outcome="info")
    heard(so_far, "ack", "m1")
    assert (so_far.confirmed, so_far.delivered, so_far.duplicates) == (2, 2, 1)


def test_what_is_confirmed_and_nobody_has_is_overdue_some_time_after_it_was_due():
    so_far = MessagesSoFar()
    heard(so_far, "push", "late", due_ms=100)
    heard(so_far, "push", "later", due_ms=50)
    heard(so_far, "push", "not confirmed", due_ms=0, outcome="info")
    heard(so_far, "push", "delayed", due_ms=9_000)
    heard(so_far, "push", "of a queue that tells no time", due_ms=None)
    assert so_far.overdue(50 + OVERDUE_MS) == (0, None)
    assert so_far.overdue(101 + OVERDUE_MS) == (2, 51 + OVERDUE_MS)
    heard(so_far, "pop", "later")
    assert so_far.overdue(200 + OVERDUE_MS) == (1, 100 + OVERDUE_MS)
    heard(so_far, "pop", "late", "delayed")
    assert so_far.overdue(90_000) == (0, None)


def test_a_delivery_that_comes_before_the_confirmation_counts():
    so_far = MessagesSoFar()
    heard(so_far, "pop", "m1")
    heard(so_far, "push", "m1", due_ms=0)
    assert so_far.overdue(90_000) == (0, None)
