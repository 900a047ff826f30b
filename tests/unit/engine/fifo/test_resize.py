"""Goal: a resize with a barrier keeps the order of every key; RocketMQ's two numbers do so only if doubled and drained.

Method: one producer, and two members that are slow, on one simulated zone. Programs look at the route at times of
their own.
"""

from random import Random

import pytest
from support.engine.fifo_group import GroupBench

from zonelab.engine.fifo.producer import Producer, SendMode
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.fifo.topics.resize import ResizeRefused
from zonelab.engine.fifo.topics.route import Predecessors, TopicRoute
from zonelab.engine.message import Message

KEYS = [f"k{number}" for number in range(8)]


class Stage(GroupBench):
    """``sent``: how many messages the producer has sent, the keys in turn."""

    def __init__(self, lab, *, partitions=2, work_ms=100):
        super().__init__(lab, "rocketmq-5.3", partitions=partitions, work_ms=work_ms)
        self.sent = 0
        self.producer = Producer(
            "p",
            partitions=[],
            select=selector("hash", random=Random(1)),
            sending=SendMode.IDEMPOTENT,
            logs=self.logs,
            runtime=lab.runtime,
            route=self.route(),
            observer=self.told,
        )
        for name in "mn":
            self.start(name, route=self.route())

    def send(self, number):
        for _ in range(number):
            self.run(self.producer.send(Message(id=f"x{self.sent}", key=KEYS[self.sent % len(KEYS)])))
            self.sent += 1

    def begin(self, operation):
        return self.lab.runtime.spawn(operation, name="resize")

    def all_done(self):
        return self.until(lambda: len({each.message_id for each in self.told.of("end")}) == self.sent)

    def disordered(self):
        """Keys whose messages were first begun in another order than they were sent in."""
        begun = list(dict.fromkeys((each.key, each.message_id) for each in self.told.of("start")))
        ranks = {key: [int(message_id[1:]) for of, message_id in begun if of == key] for key in KEYS}
        return [key for key, each in ranks.items() if each != sorted(each)]


@pytest.fixture
def stage(lab):
    return Stage(lab)


@pytest.mark.parametrize("count", [4, 3, 1])
def test_a_resize_with_a_barrier_keeps_the_order_of_every_key(stage, count):
    stage.send(40)
    resize = stage.begin(stage.resizing().to(count, select="hash"))
    stage.send(40)
    route = stage.run(resize.join())
    stage.send(8)
    stage.all_done()
    assert stage.disordered() == []
    assert (route.epoch, route.write, route.resizing) == (1, count, None)
    told = [(each.status, each.partition, each.offset, each.epoch) for each in stage.told.of("resize")]
    ends = [
        len([each for each in stage.told.of("produce") if each.outcome == "ok" and each.partition == f"t/{number}"])
        for number in (0, 1)
    ]
    assert told[:2] == [("sealed", f"t/{number}", ends[number], 0) for number in (0, 1)]
    assert told[2:] == [("opened", f"t/{number}@1", None, 1) for number in range(count)]
    # Nothing was sent in vain: what found its partition sealed went to a new one.
    produced = stage.told.of("produce")
    assert {each.outcome for each in produced if each.status != "sealed"} == {"ok"}
    assert {each.partition for each in stage.told.of("start")[-8:]} <= {f"t/{number}@1" for number in range(count)}


def test_nothing_of_a_new_partition_is_begun_before_its_predecessor_is_finished(stage):
    stage.send(40)
    stage.run(stage.resizing().to(4, select="hash"))
    stage.send(40)
    stage.all_done()
    ends, starts = stage.told.of("end"), stage.told.of("start")
    for number in range(4):
        finished_ms = max(each.time_ms for each in ends if each.partition == f"t/{number % 2}")
        begun_ms = [each.time_ms for each in starts if each.partition == f"t/{number}@1"]
        assert not begun_ms or begun_ms[0] > finished_ms


def test_one_resize_at_a_time_and_one_that_was_broken_off_goes_on(stage):
    stage.send(40)
    stage.until(lambda: len(stage.finished()) > 4)
    broken_off = stage.begin(stage.resizing().to(4, select="hash"))
    stage.pause_ms(100)
    broken_off.cancel()
    told = (
        r"^topic t cannot be resized to 8 partitions: the resize to 4 is under way, group group is at \d+ of \d+ in t/"
    )
    with pytest.raises(ResizeRefused, match=told):
        stage.run(stage.resizing().to(8, select="hash"))
    with pytest.raises(ResizeRefused, match="cannot get other numbers: the resize to 4 is under way"):
        stage.run(stage.resizing().numbers(write=8))
    assert stage.run(stage.resizing().to(4, select="hash")).resizing is None
    assert stage.run(stage.resizing().to(8, select="hash")).series == 2


@pytest.mark.parametrize(("count", "drained", "ordered"), [(4, True, True), (3, False, False), (4, False, False)])
def test_two_numbers_keep_the_order_only_if_they_are_doubled_and_drained(stage, count, drained, ordered):
    stage.send(60)
    numbers = stage.resizing().numbers
    stage.run(numbers(write=count, **({} if drained else {"read": count})))
    stage.pause_ms(stage.times_ms.route)
    stage.send(40)
    if drained:
        stage.until(lambda: len(stage.finished()) >= 60)
        stage.run(numbers(read=count))
    stage.all_done()
    assert (stage.disordered() == []) is ordered


def test_two_numbers_that_are_not_doubled_break_the_order_even_if_drained(lab):
    """Keys move between partitions that are read all the time."""
    stage = Stage(lab, partitions=3)
    stage.send(60)
    numbers = stage.resizing().numbers
    stage.run(numbers(write=4))
    stage.pause_ms(stage.times_ms.route)
    stage.send(40)
    stage.until(lambda: len(stage.finished()) >= 60)
    stage.run(numbers(read=4))
    stage.all_done()
    assert stage.disordered()


@pytest.mark.parametrize(
    ("name", "old", "count", "expected"),
    [
        ("hash", 2, 4, [[0], [1], [0], [1]]),
        ("hash", 2, 3, [[0, 1]] * 3),
        ("hash", 3, 1, [[0, 1, 2]]),
        ("consistent-hash", 2, 3, [[0], [1], [0, 1]]),
        ("consistent-hash", 3, 2, [[0, 1, 2]] * 2),
        ("random", 2, 4, [[0, 1]] * 4),
    ],
)
def test_whoever_may_hold_earlier_messages_of_a_partitions_keys_is_in_front_of_it(name, old, count, expected):
    before = Predecessors(series=0, ends=(0,) * old, selector=name)
    assert [before.of(number, count=count) for number in range(count)] == expected
    select = selector(name, random=Random(1))
    for key in (f"order-{number}" for number in range(500)):
        assert select(key, old) in expected[select(key, count)]


def test_routes_and_numbers_that_cannot_be_are_refused(stage):
    route = TopicRoute(
        topic="t", zones=("a",), write=2, read=3, epoch=4, old=Predecessors(series=1, ends=(5,), selector="hash")
    )
    assert TopicRoute.parse(route.text(), topic="t", zones=("a",)) == route
    with pytest.raises(ValueError, match="partitions must be at least 1, got 0"):
        stage.run(stage.resizing().to(0, select="hash"))
    with pytest.raises(ValueError, match="read partitions must be at least 1, got -1"):
        stage.run(stage.resizing().numbers(read=-1))
