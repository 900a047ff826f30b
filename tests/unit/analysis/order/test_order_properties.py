"""Goal: each property catches what it is there for, and nothing else. Method: one planted fault, the exact verdict."""

from collections.abc import Callable

import pytest
from support.analysis.orders import LEASE_MS, MS, RULES, Ordered, twice

from zonelab.analysis.checkers.order.properties import FORBIDDEN, HARMLESS, Property
from zonelab.analysis.runs.order import OrderKind

Planted = tuple[Ordered, str, str]
"""A history, and the one property and the sort of case that it must show."""


def topic_of(messages: int = 3, *keys: str, rules=RULES) -> Ordered:
    topic = Ordered(rules)
    for number in range(messages):
        topic.produce(keys[number % len(keys)] if keys else "k")
    return topic


def done(topic: Ordered, *offsets: int) -> Ordered:
    owner = topic.grant("m-1")
    for offset in offsets:
        owner.work(offset)
    return topic


def appended_out_of_order() -> Planted:
    topic = topic_of(3)
    topic.rows[1]["offset"], topic.rows[2]["offset"] = 2, 1
    topic.logs["t/0"][1]["offset"], topic.logs["t/0"][2]["offset"] = 2, 1
    return topic, "I1", "in front"


def sent_again_to_another_partition() -> Planted:
    topic = topic_of(1)
    topic.produce(partition="t/1", sequence=2)
    topic.logs["t/1"][0]["sequence"] = 2
    return topic, "I1", "another partition"


def in_front_of_one_due_earlier() -> Planted:
    topic = topic_of(3)
    for row, due in zip(topic.rows, (90, 40, 70), strict=True):
        row["offset"], row["until_ns"] = None, due * MS
    log = topic.logs["t/0"]
    log[:2] = [{**log[1], "offset": 0}, {**log[0], "offset": 1}]
    return done(topic, 0, 1, 2), "I1", "in front of one due earlier"


def confirmed_and_lost() -> Planted:
    topic = done(topic_of(3), 0, 1)
    lost = [("log", 2, "a"), ("log", 2, "b")]
    topic.held = [row for row in topic.at_rest() if (row["place"], row["offset"], row.get("zone")) not in lost]
    return topic, "I2", "confirmed and lost"


def one_offset_for_two() -> Planted:
    topic = topic_of(3)
    topic.rows.append({**topic.rows[1], "message_id": "other", "producer": "q", "time_ns": 4 * MS})
    topic.held = [row for row in topic.at_rest() if row["offset"] == 2]  # the rest is trimmed
    return topic, "I2", "offset given twice"


def appended_twice() -> Planted:
    topic = topic_of(2)
    topic.logs["t/0"].append({**topic.logs["t/0"][1], "offset": 2})
    return topic, "I2", "appended twice"


def a_cursor_beyond_unfinished_work() -> Planted:
    topic = done(topic_of(3), 0, 1)
    topic.cursors["g", "t/0"] = 3
    return topic, "I3", "never finished"


def begun_before_the_one_in_front() -> Planted:
    topic = topic_of(3, "a", "b")
    owner = topic.grant("m-1")
    owner.work(0)
    owner.end(owner.start(1), "suspend")
    start = owner.start(2)
    owner.sink(start)
    owner.end(start)
    return topic, "I4", "begun early"


def two_at_once_in_one_session() -> Planted:
    topic = topic_of(2)
    owner = topic.grant("m-1")
    starts = [owner.start(0), owner.start(0)]
    for start, outcome in zip(starts, ("ok", "fail"), strict=True):
        owner.sink(start, outcome)
    owner.end(starts[0])
    owner.end(starts[1], "rollback")
    return topic, "I6", "same token"


def zombie(*, late: str) -> Ordered:
    """The old owner brings its effect when the new one works already; ``late``: what the sink says."""
    topic = topic_of(2)
    old = topic.grant("m-1")
    begun = old.start(0)
    topic.now += 2 * LEASE_MS
    new = topic.grant("n-1")
    again = new.start(0)
    if late == "ok":
        old.sink(begun)
        new.sink(again, "fail")
    else:
        new.sink(again)
        old.sink(begun, late)
    old.end(begun, "error")
    new.end(again)
    new.commit(1)
    return topic


def an_effect_of_a_zombie() -> Planted:
    return zombie(late="ok"), "I6", "zombie"


def a_stale_cache() -> Planted:
    topic = done(topic_of(3), 0, 1)
    topic.now += 2 * LEASE_MS
    owner = topic.grant("n-1")
    owner.end(owner.start(0), "rollback")
    return topic, "I7", "behind its cursor"


def a_jump() -> Planted:
    topic = topic_of(3)
    first = topic.grant("m-1")
    starts = [first.start(0), first.start(1)]
    for offset in (0, 1):
        start = starts[offset]
        first.sink(start)
        first.end(start)
    starts[1]["time_ns"] = topic.rows[-3]["time_ns"]
    topic.now += 2 * LEASE_MS
    second = topic.grant("n-1")
    second.work(2)
    return topic, "I7", "beyond its cursor"


def back_without_a_failure() -> Planted:
    topic = topic_of(3)
    owner = topic.grant("m-1")
    for offset in (0, 1):
        start = owner.start(offset)
        owner.sink(start)
        owner.end(start)
    owner.start(0)
    topic.member("m-1", "crashed")
    return topic, "I7", "went back"


def a_token_granted_twice() -> Planted:
    topic = done(topic_of(2), 0)
    topic.now += 2 * LEASE_MS
    topic.grant("n-1", token=1)
    return topic, "I8", "fell"


def a_token_granted_twice_at_once() -> Planted:
    topic = topic_of(1)
    owner = topic.grant("m-1", until_ns=0)
    row = owner.decided(OrderKind.GRANT, session="n-1", cursor=0, until_ns=0)
    row["invoke_ns"] = 0
    return topic, "I8", "granted twice"


def an_older_token_accepted() -> Planted:
    topic = topic_of(2)
    old = topic.grant("m-1")
    topic.now += 2 * LEASE_MS
    topic.grant("n-1")
    topic.now += 1
    old.decided(OrderKind.RELEASE, status="shutdown")
    return topic, "I8", "older token accepted"


def a_cursor_that_fell() -> Planted:
    topic = done(topic_of(3), 0, 1)
    topic.now += 2 * LEASE_MS
    owner = topic.grant("n-1")
    owner.commit(1)
    topic.cursors["g", "t/0"] = 2
    return topic, "I9", "fell"


def a_cursor_that_fell_at_rest() -> Planted:
    topic = done(topic_of(3), 0, 1)
    topic.cursors["g", "t/0"] = 1
    return topic, "I9", "fell at rest"


def a_cursor_beyond_the_log() -> Planted:
    topic = done(topic_of(1), 0)
    owner = topic.grant("m-1", until_ns=0)
    topic.now += 1
    owner.commit(3)
    return topic, "I9", "passed the end"


def two_owners() -> Planted:
    topic = topic_of(1)
    topic.grant("m-1")
    topic.grant("n-1")
    return topic, "I10", "two owners"


def attempts(*numbers: int, pause: int = 20, rules=RULES) -> tuple[Ordered, object]:
    """The message failed under those numbers."""
    topic = topic_of(2, rules=rules)
    owner = topic.grant("m-1", until_ns=10**15)
    for failed, number in enumerate(numbers):
        owner.end(owner.start(0, number), "suspend")
        owner.fail(0, failed + 1)
        topic.now += pause
    return topic, owner


def an_attempt_forgotten_at_a_takeover() -> Planted:
    topic, _ = attempts(1)
    topic.now += 2 * LEASE_MS
    topic.rows[-4]["until_ns"] = 0
    topic.grant("n-1").work(0, attempt=1)
    for row in topic.rows:
        if row["kind"] == "grant":
            row["until_ns"] = 0
    return topic, "I11", "forgotten"


def an_attempt_too_high() -> Planted:
    return attempts(1, 3)[0], "I11", "counted too high"


def an_attempt_too_soon() -> Planted:
    return attempts(1, 2, pause=0)[0], "I11", "hurried"


def a_pause_below_the_least() -> Planted:
    topic, owner = attempts(1)
    owner.end(owner.start(0, 2), "suspend")
    owner.fail(0, 2, pause=1)
    return topic, "I11", "suspended too briefly"


def one_attempt_more() -> Planted:
    topic, owner = attempts(1, 2, 3, 4)
    owner.put_aside(OrderKind.DEAD_LETTER, 0)
    return topic, "I11", "too many attempts"


def a_dead_letter_too_early() -> Planted:
    topic, owner = attempts(1, 2)
    owner.put_aside(OrderKind.DEAD_LETTER, 0)
    return topic, "I11", "dead letter too early"


def two_dead_letters() -> Planted:
    topic, owner = attempts(1, 2, 3)
    owner.put_aside(OrderKind.DEAD_LETTER, 0)
    owner.put_aside(OrderKind.DEAD_LETTER, 0)
    return topic, "I11", "two dead letters"


def a_wait_beyond_the_bound() -> Planted:
    topic = done(topic_of(2), 0)
    topic.now += 70_000
    topic.grant("m-2").work(1)
    return topic, "I12", "waited too long"


def finished_twice_by_one_owner() -> Planted:
    topic = topic_of(2)
    owner = topic.grant("m-1")
    for outcome in ("ok", "fail"):
        start = owner.start(0)
        owner.sink(start, outcome)
        owner.end(start)
    return topic, "I13", "without a takeover"


def more_than_a_batch_again() -> Planted:
    topic = topic_of(3)
    first = topic.grant("m-1")
    for offset in (0, 1):
        start = first.start(offset)
        first.sink(start)
        first.end(start)
    topic.now += 2 * LEASE_MS
    second = topic.grant("n-1")
    second.work(0, sink="fail")
    second.work(1, sink="fail")
    return topic, "I13", "too many after a takeover"


def an_effect_twice() -> Planted:
    topic = topic_of(2)
    owner = topic.grant("m-1")
    start = owner.start(0)
    owner.sink(start)
    owner.sink(start)
    owner.end(start)
    owner.commit(1)
    return topic, "I14", "taken twice"


def an_older_effect_after_a_newer() -> Planted:
    topic = topic_of(2)
    owner = topic.grant("m-1")
    start = owner.start(0)
    owner.end(start)
    owner.commit(1)
    owner.work(1)
    owner.sink(start)
    return topic, "I14", "older after newer"


def no_effect() -> Planted:
    topic = topic_of(2)
    owner = topic.grant("m-1")
    owner.work(0, sink="fail")
    return topic, "I14", "not taken"


def an_effect_that_did_not_last() -> Planted:
    topic = done(topic_of(2), 0, 1)
    topic.sunk.pop()
    return topic, "I14", "not held at rest"


PLANTS: tuple[Callable[[], Planted], ...] = (
    appended_out_of_order,
    sent_again_to_another_partition,
    in_front_of_one_due_earlier,
    confirmed_and_lost,
    one_offset_for_two,
    appended_twice,
    a_cursor_beyond_unfinished_work,
    begun_before_the_one_in_front,
    two_at_once_in_one_session,
    an_effect_of_a_zombie,
    a_stale_cache,
    a_jump,
    back_without_a_failure,
    a_token_granted_twice,
    a_token_granted_twice_at_once,
    an_older_token_accepted,
    a_cursor_that_fell,
    a_cursor_that_fell_at_rest,
    a_cursor_beyond_the_log,
    two_owners,
    an_attempt_forgotten_at_a_takeover,
    an_attempt_too_high,
    an_attempt_too_soon,
    a_pause_below_the_least,
    one_attempt_more,
    a_dead_letter_too_early,
    two_dead_letters,
    a_wait_beyond_the_bound,
    finished_twice_by_one_owner,
    more_than_a_batch_again,
    an_effect_twice,
    an_older_effect_after_a_newer,
    no_effect,
    an_effect_that_did_not_last,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_and_nothing_else(plant: Callable[[], Planted]) -> None:
    topic, name, what = plant()
    verdict = topic.verdict()
    found = {(str(one), sort) for one in verdict.shown for sort in verdict.sorts[one] if sort != HARMLESS}
    assert found == {(name, what)}, verdict.cases
    assert verdict.valid is (Property(name) not in FORBIDDEN)
    assert [case.what for case in verdict.cases[name]] == [what]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_the_same_in_another_partition_counts_as_much_again_and_cases_are_told_truly(plant) -> None:
    topic, name, _ = plant()
    alone, both = topic.verdict(), twice(topic).verdict()
    assert both.sorts == {one: {sort: 2 * count for sort, count in own.items()} for one, own in alone.sorts.items()}
    assert both.opportunities == {one: 2 * count for one, count in alone.opportunities.items()}
    assert sorted(both.blocked, key=lambda one: one.partition)[len(alone.blocked) :] == list(alone.blocked)
    rows = sorted(topic.rows, key=lambda row: row["time_ns"])
    for case in alone.cases[name]:
        assert [(one.what, one.offset) for one in both.cases[name]].count((case.what, case.offset)) == 2
        row = {} if case.index is None else rows[case.index]
        assert all(getattr(case, key) == row[key] for key in ("message_id", "partition", "group") if row.get(key))
