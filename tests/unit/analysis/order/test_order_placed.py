"""Goal: appends that are confirmed before they have an offset are judged by I1 and I2, too. Method: planted faults."""

from collections.abc import Callable
from typing import Any

import pytest
from support.analysis.orders import RULES, Ordered

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.runs.order import OrderKind


def topic_of(messages: int, *, begun: int = 0) -> Ordered:
    """Messages of one key, the first of which were worked on; no append says where it stands."""
    topic = Ordered(RULES)
    for _ in range(messages):
        topic.produce(offset=None)
    owner = topic.grant("m-1")
    for offset in range(begun):
        owner.work(offset)
    return topic


def lost() -> Ordered:
    topic = topic_of(3)
    topic.held = [row for row in topic.at_rest() if row["offset"] != 2 or row["zone"] == "a"]
    return topic


def lost_after_it_was_begun() -> Ordered:
    topic = topic_of(3, begun=2)
    topic.logs["t/0"][1]["message_id"] = "other"
    return topic


def twice() -> Ordered:
    topic = topic_of(2)
    topic.logs["t/0"].append({**topic.logs["t/0"][1], "offset": 2})
    return topic


def in_front() -> Ordered:
    topic = topic_of(3)
    topic.logs["t/0"][1]["offset"], topic.logs["t/0"][2]["offset"] = 2, 1
    return topic


@pytest.mark.parametrize(
    ("plant", "name", "what"),
    [
        (lost, "I2", "confirmed and lost"),
        (lost_after_it_was_begun, "I2", "confirmed and replaced"),
        (twice, "I2", "appended twice"),
        (in_front, "I1", "in front"),
    ],
)
def test_a_planted_fault_is_found_and_nothing_else(plant: Callable[[], Ordered], name: str, what: str) -> None:
    verdict = plant().verdict()
    assert {(str(one), sort) for one in verdict.shown for sort in verdict.sorts[one]} == {(name, what)}, verdict.cases


def test_what_waits_for_an_offset_at_rest_is_not_lost_and_what_is_in_the_log_is_an_opportunity() -> None:
    topic = topic_of(3, begun=2)
    held = topic.at_rest()
    for row in held:
        if row["offset"] == 2 and row["zone"] != "a":
            row.update(place="inbox", offset=-1)
    topic.held = held
    verdict = topic.verdict()
    assert (verdict.valid, verdict.shown) == (True, ())
    assert (verdict.opportunities["I1"], verdict.opportunities["I2"]) == (1, 2)


def test_a_delayed_append_is_not_looked_for() -> None:
    topic = topic_of(1)
    topic.rows[0]["until_ns"] = 10**15
    topic.logs.clear()
    verdict = topic.verdict()
    assert (verdict.shown, verdict.opportunities["I2"]) == ((), 0)
    assert topic.rows[0]["kind"] == str(OrderKind.PRODUCE)


def sent_again() -> Ordered:
    """A push whose fate was unknown is worked on, and says where its record stands when it is sent again."""
    topic = Ordered(RULES)
    record = topic.produce(outcome="info", offset=None)
    topic.grant("m-1").work(0)
    topic.now += 1
    topic.add(OrderKind.PRODUCE, outcome="ok", **{**_said(record), "offset": 0, "status": "duplicate"})
    return topic


def _said(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("producer", "key", "sequence", "message_id", "partition", "epoch")}


def test_a_record_that_is_sent_again_was_in_the_log_since_it_was_first_sent() -> None:
    assert sent_again().verdict().shown == ()


def test_a_cursor_that_passes_a_record_that_was_not_sent_yet_is_seen() -> None:
    topic = sent_again()
    del topic.rows[0]
    verdict = topic.verdict()
    assert verdict.sorts[Property.CURSOR] == {"passed the end": 1}, verdict.cases


def test_a_cursor_may_pass_a_record_of_unknown_fate_that_was_trimmed() -> None:
    """Its push failed, it was in the log all the same, and nothing at rest tells so any more."""
    topic = Ordered(RULES)
    topic.produce(outcome="info", offset=None)
    topic.grant("m-1").work(0)
    topic.now += 1
    topic.produce()
    del topic.logs["t/0"][0]
    verdict = topic.verdict()
    assert verdict.shown == (), verdict.cases
