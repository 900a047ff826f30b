"""Goal: the ledger and the rule of conservation raise on every broken promise and on nothing else. Method: examples."""

import pytest

from zonelab.analysis.message_classes import MessageClass
from zonelab.engine.message import Delivery, Message
from zonelab.studies.properties import Holdings, Violation
from zonelab.studies.properties.ledger import Ledger, PushRecord
from zonelab.studies.properties.zone_contents import violations

LEASE_MS = 100


def ledger_with(outcome=PushRecord.OK, *, due_ms=1_000):
    ledger = Ledger(early_tolerance_ms=1)
    ledger.push_begun(Message(id="m", payload="told"), now_ms=due_ms)
    if outcome is not PushRecord.BEGUN:
        ledger.push_ended("m", outcome, shard="a", due_ms=due_ms)
    return ledger


def deliver(ledger, at_ms, *, message_id="m", end_ms=None, body=""):
    end_ms = at_ms + LEASE_MS if end_ms is None else end_ms
    times = {"lease_start_ms": at_ms, "leased_ms": at_ms, "lease_end_ms": end_ms}
    return ledger.popped([Delivery(message=Message(id=message_id, payload=body), shard="a", **times)], now_ms=at_ms)


def ack(ledger, number, at_ms):
    clear = ledger.ack_begun("m")
    ledger.acked("m", number, invoke_ms=at_ms, now_ms=at_ms)
    ledger.ack_settled("m", was_clear=clear)


def kind_of(call, *arguments, **options):
    with pytest.raises(Violation) as raised:
        call(*arguments, **options)
    return raised.value.kind


def test_a_delivery_after_the_lease_of_another_is_legal_and_one_within_it_is_not():
    ledger = ledger_with()
    deliver(ledger, 1_000)
    deliver(ledger, 1_100)
    assert kind_of(deliver, ledger, 1_199) is MessageClass.CONCURRENT


def test_a_lease_that_was_extended_holds_until_its_new_end():
    ledger = ledger_with()
    first = deliver(ledger, 1_000)
    ledger.extended("m", first, invoke_ms=1_050, ok_ms=1_050, end_ms=1_300)
    assert kind_of(deliver, ledger, 1_200) is MessageClass.CONCURRENT


def test_a_delivery_after_a_confirmed_ack_is_a_resurrection_and_after_one_in_doubt_is_none():
    confirmed = ledger_with()
    ack(confirmed, deliver(confirmed, 1_000), 1_010)
    assert kind_of(deliver, confirmed, 1_200) is MessageClass.RESURRECTED
    doubtful = ledger_with()
    deliver(doubtful, 1_000)
    doubtful.ack_begun("m")
    deliver(doubtful, 1_200)
    assert doubtful.owed == []


def test_one_millisecond_early_is_tolerated_and_two_are_not():
    deliver(ledger_with(), 999)
    assert kind_of(deliver, ledger_with(), 998) is MessageClass.EARLY


def test_what_nobody_pushed_or_what_failed_for_certain_must_not_be_delivered():
    assert kind_of(deliver, ledger_with(), 1_000, message_id="x") is MessageClass.UNEXPECTED
    assert kind_of(deliver, ledger_with(PushRecord.FAIL), 1_000) is MessageClass.UNEXPECTED
    assert kind_of(deliver, ledger_with(), 1_000, body="another") is MessageClass.UNEXPECTED
    deliver(ledger_with(PushRecord.INFO), 1_000, body="told")
    deliver(ledger_with(PushRecord.BEGUN), 1_000)


def test_only_a_confirmed_push_without_an_ack_is_owed():
    owed = {outcome: len(ledger_with(outcome).owed) for outcome in PushRecord}
    assert owed == {PushRecord.OK: 1, PushRecord.BEGUN: 0, PushRecord.INFO: 0, PushRecord.FAIL: 0}
    ledger = ledger_with()
    clear = ledger.ack_begun("m")
    assert ledger.owed == []
    ledger.ack_settled("m", was_clear=clear)
    assert len(ledger.owed) == 1


def test_an_ack_that_fails_after_one_in_doubt_leaves_the_doubt():
    ledger = ledger_with()
    ledger.ack_begun("m")
    ledger.ack_settled("m", was_clear=ledger.ack_begun("m"))
    assert ledger.owed == []


def held(state):
    """``H Q U`` → holdings of a message m in shard a."""
    ids = frozenset({"m"})
    return Holdings(
        payloads=ids if "H" in state else frozenset(),
        waiting={"a": ids if "Q" in state else frozenset()},
        leased={"a": ids if "U" in state else frozenset()},
    )


def judged(ledger, at_home, elsewhere):
    holdings = {"a": held(at_home), "b": held(elsewhere)}
    return [kind for kind, _ in violations(ledger.fates["m"], holdings, home="a")]


@pytest.mark.parametrize(
    ("at_home", "elsewhere", "fresh", "disturbed"),
    [
        ("H Q", "H Q", [], []),
        ("H U", "H U", [], []),
        ("H Q U", "H Q", ["stuck"], []),
        ("H", "H", ["lost"], ["lost"]),
        ("", "", ["lost"], ["lost"]),
        ("Q", "Q", ["stuck"], ["stuck"]),
        ("", "H Q", ["stuck"], ["stuck"]),
        ("H Q", "", ["stuck"], ["stuck"]),
    ],
)
def test_what_is_owed_is_kept_whole_in_every_zone(at_home, elsewhere, fresh, disturbed):
    ledger = ledger_with()
    assert judged(ledger, at_home, elsewhere) == fresh
    ledger.disturb()
    assert judged(ledger, at_home, elsewhere) == disturbed


def test_what_was_delivered_and_is_listed_nowhere_is_abandoned():
    ledger = ledger_with()
    deliver(ledger, 1_000)
    assert judged(ledger, "H", "H") == ["abandoned"]


@pytest.mark.parametrize(
    ("at_home", "fresh", "disturbed"),
    [
        ("", [], []),
        ("H", ["orphan"], []),
        ("Q", ["phantom"], []),
        ("U", ["phantom"], []),
        ("H Q", ["resurrected"], ["resurrected"]),
        ("H U", ["resurrected"], ["resurrected"]),
    ],
)
def test_what_was_acknowledged_leaves_nothing_that_could_be_delivered(at_home, fresh, disturbed):
    ledger = ledger_with()
    ack(ledger, deliver(ledger, 1_000), 1_010)
    assert judged(ledger, at_home, "") == fresh
    ledger.disturb()
    assert judged(ledger, at_home, "") == disturbed


def test_a_state_is_told_in_words():
    assert [held(state).state("m") for state in ("", "H", "H Q", "Q U")] == ["-", "H", "H Q:a", "Q:a U:a"]
