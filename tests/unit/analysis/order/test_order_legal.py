"""Goal: what is allowed is not called disorder, and what was not tried is no pass. Method: legal histories by hand."""

from pathlib import Path

import pytest
from support.analysis.orders import LEASE_MS, MS, RULES, Ordered, busy

from zonelab.analysis.checkers.order import order
from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.checkers.order.properties import HARMLESS, Property
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.runs.segments import table_in


def replay() -> Ordered:
    """1, 2, 3, and after a takeover 2, 3 again: the cursor had not moved."""
    topic = Ordered(RULES.model_copy(update={"replay_max": 2}))
    for _ in range(4):
        topic.produce()
    old = topic.grant("m-1")
    old.work(0)
    for offset in (1, 2):
        start = old.start(offset)
        old.sink(start)
        old.end(start)
    topic.now += 2 * LEASE_MS
    new = topic.grant("n-1")
    new.work(1, sink="fail")
    new.work(2, sink="fail")
    new.work(3)
    return topic


def test_a_replay_after_a_takeover_is_no_disorder() -> None:
    verdict = replay().verdict()
    assert (verdict.valid, verdict.shown) == (True, ())
    assert (verdict.of(Property.DUPLICATES), verdict.opportunities["I13"]) == ("holds", 2)
    assert (verdict.of(Property.REDELIVERY_IN_ORDER), verdict.opportunities["I7"]) == ("holds", 1)


def test_a_busy_run_without_a_fault_of_its_own_is_valid() -> None:
    verdict = busy().verdict()
    assert (verdict.valid, verdict.shown) == (True, ())
    assert {name for name in Property if verdict.of(name) == "not exercised"} == {
        Property.EXCLUSION,
        Property.ONE_OWNER,
    }


def test_a_run_that_tried_nothing_passes_nothing() -> None:
    verdict = Ordered().verdict()
    assert {verdict.of(name) for name in Property} == {"not exercised"}


def test_a_zombie_whose_effects_were_refused_is_counted_and_not_forbidden() -> None:
    topic = Ordered()
    topic.produce()
    old = topic.grant("m-1")
    begun = old.start(0)
    topic.now += 2 * LEASE_MS
    new = topic.grant("n-1")
    again = new.start(0)
    new.sink(again)
    old.sink(begun, "fail")
    old.end(begun, "error")
    new.end(again)
    verdict = topic.verdict()
    assert (verdict.valid, verdict.counts["I6"], verdict.sorts["I6"]) == (True, 0, {HARMLESS: 1})
    assert (verdict.of(Property.EXCLUSION), verdict.opportunities["I6"]) == ("holds", 1)


@pytest.mark.parametrize(("late", "sorts"), [("fail", {HARMLESS: 2}), ("ok", {"zombie": 2})])
def test_a_zombie_of_a_partition_that_was_sealed_is_told_by_its_epoch(late: str, sorts: dict[str, int]) -> None:
    """The key goes on in another partition, whose first token is no greater than that of the zombie."""
    topic = Ordered(RULES.model_copy(update={"unit": "key"}))
    topic.produce()
    old = topic.grant("m-1")
    begun = old.start(0)
    topic.now += 2 * LEASE_MS
    topic.grant("n-1").work(0)
    topic.produce(partition="t/0@1", epoch=1)
    other = topic.grant("o-1", partition="t/0@1")
    start = other.start(0, epoch=1)
    other.sink(start)
    old.sink(begun, late)
    old.end(begun, "error")
    other.end(start)
    assert topic.verdict().sorts[Property.EXCLUSION] == sorts


def test_what_was_asked_at_once_may_have_happened_in_either_order() -> None:
    topic = Ordered()
    topic.produce()
    late = topic.grant("m-1", until_ns=0)
    answered = topic.rows[-1]
    early = topic.grant("n-1", until_ns=0)
    assert early.token > late.token
    topic.rows[-1]["invoke_ns"] = answered["invoke_ns"]
    topic.rows[-1]["time_ns"], answered["time_ns"] = answered["time_ns"], topic.rows[-1]["time_ns"]
    assert topic.verdict().shown == ()


def test_keys_of_a_partition_may_overtake_each_other_if_the_order_is_by_key() -> None:
    for unit, broken in (("key", ()), ("partition", (Property.STRICT_ORDER, Property.EXCLUSION))):
        topic = Ordered(RULES.model_copy(update={"unit": unit}))
        topic.produce("a")
        topic.produce("b")
        owner = topic.grant("m-1")
        starts = [owner.start(0), owner.start(1)]
        for start in reversed(starts):
            owner.sink(start)
            owner.end(start)
        owner.commit(2)
        assert topic.verdict().shown == broken


def test_messages_that_were_handed_over_in_one_call_are_no_overlap() -> None:
    topic = Ordered(RULES.model_copy(update={"unit": "key"}))
    for _ in range(2):
        topic.produce()
    owner = topic.grant("m-1")
    starts = [owner.start(0), owner.start(1)]
    starts[0]["time_ns"] = starts[1]["time_ns"]
    for start in starts:
        owner.sink(start)
        owner.end(start)
    assert topic.verdict().counts["I6"] == 0


def test_every_group_has_every_message_and_its_own_cursor() -> None:
    topic = Ordered()
    for _ in range(2):
        topic.produce()
    for group in "gh":
        owner = topic.grant(f"{group}-1", group=group)
        owner.work(0)
        owner.work(1)
    topic.cursors["h", "t/0"] = 1
    assert topic.verdict().shown == (Property.CURSOR,)


def test_a_cursor_may_be_set_back_by_hand() -> None:
    topic = Ordered()
    for _ in range(2):
        topic.produce()
    topic.grant("m-1", until_ns=0).work(0)
    topic.now += 1
    topic.add(OrderKind.COMMIT, outcome="ok", status="reset", group="g", partition="t/0", offset=1, cursor=0)
    topic.now += 1
    topic.cursors["g", "t/0"] = 0
    topic.grant("n-1").work(0, sink="fail")
    assert topic.verdict().shown == ()


def test_logs_that_zones_hold_differently_are_a_statistic() -> None:
    topic = replay()
    topic.held = [row for row in topic.at_rest() if (row["place"], row["offset"], row.get("zone")) != ("log", 3, "a")]
    verdict = topic.verdict()
    assert verdict.valid is True
    assert [(one.partition, one.offsets, one.divergent) for one in verdict.divergence] == [("t/0", 4, 1)]


def many(partitions: int) -> Ordered:
    topic = Ordered()
    for number in range(partitions):
        for _ in range(4):
            topic.produce(f"k{number}", partition=f"t/{number}")
        owner = topic.grant(f"m{number}-1", partition=f"t/{number}")
        for offset in range(4):
            owner.work(offset)
    return topic


def test_the_parts_of_a_long_history_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = many(9).verdict()
    monkeypatch.setattr(order, "ROWS_PER_PART", 20)
    assert many(9).verdict() == whole
    assert whole.opportunities["I3"] == 36


def test_a_run_directory_is_judged_and_has_its_verdict(tmp_path: Path) -> None:
    topic = replay()
    run = RunBuilder(tmp_path).write(segments={}, order={"replay_max": 2})
    table = table_in(run, ORDER_NAME, ORDER)
    for index, row in enumerate(topic.rows):
        table.append({**row, "index": index})
    table.close()
    order = check_order(OrderRun.of(RunDirectory.open(run)))
    assert order.valid == "unknown"  # nothing at rest
    rest = table_in(run, FINAL_ORDER_NAME, FINAL_ORDER)
    for row in topic.at_rest():
        rest.append(row)
    rest.close()
    order = check_order(OrderRun.of(RunDirectory.open(run)))
    assert (order.valid, order.opportunities) == (True, replay().verdict().opportunities)
    assert order.to_json()["properties"]["I4"] == "holds"


class TestBlocked:
    """Each cause of a standstill; three messages of three keys wait behind the head."""

    @staticmethod
    def stand_still(topic: Ordered) -> tuple[str, int, int, bool]:
        topic.now += 120_000
        (found,) = topic.verdict().blocked
        return found.cause, found.messages, found.keys, found.end_ns is None

    @staticmethod
    def topic() -> Ordered:
        topic = Ordered()
        for key in "abcd":
            topic.produce(key)
        return topic

    def test_poison(self) -> None:
        topic = self.topic()
        owner = topic.grant("m-1", until_ns=10**18)
        for attempt in (1, 2):
            owner.end(owner.start(0, attempt), "suspend")
            owner.fail(0, attempt)
            topic.now += 50
        assert self.stand_still(topic) == ("poison", 3, 3, True)

    def test_hung(self) -> None:
        topic = self.topic()
        topic.grant("m-1", until_ns=10**18).start(0)
        assert self.stand_still(topic) == ("hung", 3, 3, True)

    def test_suspended(self) -> None:
        topic = self.topic()
        owner = topic.grant("m-1", until_ns=10**18)
        owner.end(owner.start(0), "suspend")
        owner.fail(0, 1, pause=10**9)
        assert self.stand_still(topic)[0] == "suspended"

    def test_nobody_wants_it(self) -> None:
        assert self.stand_still_of_group(self.topic()) == "orphan"

    @staticmethod
    def stand_still_of_group(topic: Ordered) -> str:
        topic.add(OrderKind.ASSIGN, group="g", partition="t/0", session="m-1", status="assigned")
        return TestBlocked.stand_still(topic)[0]

    def test_its_owner_gave_it_up(self) -> None:
        topic = self.topic()
        topic.grant("m-1", until_ns=10**18).decided(OrderKind.RELEASE, status="drained")
        assert self.stand_still(topic)[0] == "orphan"

    def test_its_owner_is_dead(self) -> None:
        topic = self.topic()
        topic.grant("m-1", until_ns=10**18)
        topic.member("m-1", "crashed")
        assert self.stand_still(topic)[0] == "dead holder"

    def test_owners_change_too_often(self) -> None:
        topic = self.topic()
        for number in range(5):
            topic.grant(f"m-{number}", until_ns=0)
        assert self.stand_still(topic)[0] == "thrash"

    @pytest.mark.parametrize("cause", ["unadmitted", "cursor ahead"])
    def test_no_grant(self, cause: str) -> None:
        topic = self.topic()
        topic.grant("m-1", outcome="fail", status=cause, until_ns=0)
        assert self.stand_still(topic)[0] == cause

    def test_no_credit(self) -> None:
        topic = self.topic()
        topic.grant("m-1", until_ns=10**18)
        topic.add(OrderKind.ASSIGN, group="g", partition="t/0", session="m-1", status="credit")
        assert self.stand_still(topic)[0] == "credit"

    def test_slow(self) -> None:
        topic = self.topic()
        owner = topic.grant("m-1", until_ns=10**18)
        start = owner.start(0)
        topic.now += 100_000
        owner.end(start)
        for offset in (1, 2, 3):
            owner.work(offset)
        found = topic.verdict().blocked
        assert [(one.cause, one.offset, one.end_ns is None) for one in found] == [("slow", 0, False)]

    def test_time_with_a_fault_is_no_wait(self) -> None:
        topic = self.topic()
        owner = topic.grant("m-1", until_ns=10**18)
        begin = topic.now * MS
        topic.now += 120_000
        for offset in range(4):
            owner.work(offset)
        assert topic.verdict().counts["I12"] == 1
        until = topic.now * MS
        topic.faults = [
            FaultBand(fault="f", kind="kill", target="a", begin_ns=begin, end_ns=until, colour="#000000", detail="")
        ]
        assert topic.verdict().counts["I12"] == 0


def test_what_was_never_begun_stands_behind_what_was_though_nobody_told_its_epoch() -> None:
    """A fenced log gives offsets itself, and logs at rest have no epochs."""
    topic = Ordered()
    for _ in range(3):
        topic.produce(outcome="info", offset=None)
    topic.grant("m-1").start(0)
    verdict = topic.verdict()
    assert (verdict.of(Property.STRICT_ORDER), verdict.shown) == ("not exercised", ())


@pytest.mark.parametrize(("together", "held"), [(True, "holds"), (False, "broken")])
def test_a_batch_of_which_one_failed_comes_again_as_a_whole_and_is_no_disorder(together: bool, held: str) -> None:
    topic = Ordered()
    for _ in range(2):
        topic.produce()
    owner = topic.grant("m-1")
    for attempt, status in ((1, "suspend"), (2, "success")):
        batch = [owner.start(offset, attempt) for offset in (0, 1)]
        if together:
            batch[1]["time_ns"] = batch[0]["time_ns"]
        for start in batch:
            owner.end(start, status)
        topic.now += 20
    assert topic.verdict().of(Property.STRICT_ORDER) == held


def test_a_delayed_message_that_was_confirmed_after_another_was_due_may_stand_behind_it() -> None:
    """Whether it was there in time, nobody knows."""
    for confirmed_after_ms, told in ((0, "broken"), (90, "not exercised")):
        topic = Ordered()
        for due_ms, later_ms in ((90, 0), (60, confirmed_after_ms)):
            topic.now += later_ms
            topic.produce(offset=None, until_ns=due_ms * MS)
        topic.now = 100
        owner = topic.grant("m-1")
        owner.work(0)
        owner.work(1)
        assert topic.verdict().of(Property.PRODUCED_IN_ORDER) == told
