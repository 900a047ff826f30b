"""Goal: the exact number of cases where what happened touches several properties. Method: short histories."""

from dataclasses import replace

from support.analysis.orders import LEASE_MS, MS, Ordered

from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.order.order import check_order
from zonelab.analysis.checkers.order.properties import Property


def produced(messages: int) -> Ordered:
    topic = Ordered()
    for _ in range(messages):
        topic.produce()
    return topic


def test_messages_of_a_key_that_are_finished_out_of_order_are_found_whatever_else_is_in_doubt() -> None:
    topic = produced(2)
    owner = topic.grant("m-1")
    first, second = owner.start(0), owner.start(1)
    owner.end(second)
    owner.end(first)
    verdict = check_order(replace(topic.run(), at_rest=None))
    assert (verdict.counts["I5"], verdict.valid) == (1, False)
    topic.rows[-1]["time_ns"] -= 2 * MS
    assert topic.verdict().counts["I5"] == 0


def test_a_member_that_crashed_is_not_at_work_any_more() -> None:
    topic = produced(1)
    topic.grant("m-1").start(0)
    topic.member("m-1", "crashed")
    topic.now += 2 * LEASE_MS
    topic.grant("n-1").work(0)
    topic.rows = [row for row in topic.rows if row["kind"] != "sink"]
    assert topic.verdict().sorts["I6"] == {}


def test_a_cursor_that_one_zone_has_is_not_decided() -> None:
    topic = produced(3)
    owner = topic.grant("m-1")
    for offset in range(3):
        owner.work(offset)
    topic.held = topic.at_rest()
    for row in topic.held:
        if row["place"] == "cursor" and row["zone"] != "a":
            row["offset"] = 2
    assert topic.verdict().sorts["I9"] == {"fell at rest": 1}


def test_a_case_names_its_place_in_the_log_once() -> None:
    fell = Case(what="fell", partition="t/0", offset=-1, detail="from 3 to 1")
    assert (fell.subject, fell.words) == ("t/0", "fell: from 3 to 1")
    zombie = Case(what="zombie", partition="t/0", offset=2, message_id="m", detail="beside 3")
    assert (zombie.subject, zombie.words) == ("m", "zombie, t/0 at 2: beside 3")


def test_every_property_has_a_label_a_meaning_and_what_exercises_it() -> None:
    assert len({text for one in Property for text in (one.label, one.summary, one.exercised_by)}) == 3 * len(Property)
