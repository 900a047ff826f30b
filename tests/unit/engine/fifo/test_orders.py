"""Goal: what is worked on beside each other, what waits for each other, and what goes aside, by key or by partition.

Method: members on one simulated zone in the newer mode; where messages of a partition go is the same in both.
"""

import pytest
from support.engine.fifo_group import GroupBench

from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.log.progress import Progress

MODE = "rocketmq-5.3"


def failing(*keys):
    return lambda delivered, _: ConsumeStatus.SUSPEND if delivered[0].record.key in keys else ConsumeStatus.SUCCESS


def progress(bench):
    return bench.run(bench.logs.progress(bench.partition, bench.settings.group))


def of_key(bench, key, *, kind="end"):
    return [each.offset for each in bench.told.of(kind) if each.key == key]


def most_at_once(bench):
    """Deliveries that were open at the same time: of the partition, and of one key."""
    opened, most, most_of_key = {}, 0, 0
    for event in bench.told.events:
        if event.kind == "start":
            opened[event.op_id] = event.key
            most = max(most, len(opened))
            most_of_key = max(most_of_key, list(opened.values()).count(event.key))
        elif event.kind == "end":
            del opened[event.op_id]
    return most, most_of_key


@pytest.mark.parametrize(
    ("order", "threads", "most"),
    [("partition", 20, (1, 1)), ("key", 20, (4, 1)), ("key", 2, (2, 1)), ("none", 20, (20, 7))],
)
def test_so_many_are_worked_on_at_once(lab, order, threads, most):
    bench = GroupBench(lab, MODE, order=order, threads=threads)
    bench.produce(40, keys="abcd")
    bench.start("m").until(lambda: len(bench.finished()) == 40)
    assert most_at_once(bench) == most
    if order != "none":
        assert all(of_key(bench, key) == list(range(place, 40, 4)) for place, key in enumerate("abcd"))


def test_members_share_no_more_threads_than_they_have_over_all_partitions(lab):
    bench = GroupBench(lab, MODE, partitions=4, threads=3)
    bench.fill(5)
    bench.start("m").until(lambda: len(bench.finished()) == 20)
    assert most_at_once(bench)[0] == 3


def test_by_key_a_message_that_fails_holds_up_its_key_alone_and_who_takes_over_repeats_nothing_else(lab):
    bench = GroupBench(lab, MODE, order="key", work_ms=1)
    bench.handle = failing("b")
    bench.produce(9, keys="abc")
    bench.start("m").until(lambda: len(of_key(bench, "c")) == 3)
    bench.close("m")
    assert progress(bench) == Progress(1, (2, 3, 5, 6, 8))
    bench.handle = None
    known = len(bench.finished())
    bench.start("n").until(lambda: progress(bench) == Progress(9))
    assert bench.finished()[known:] == [1, 4, 7]


def test_what_is_read_beyond_the_lowest_unfinished_message_is_bounded(lab):
    bench = GroupBench(lab, MODE, order="key", work_ms=1, span=20, pulled=5)
    bench.handle = failing("a")
    bench.produce(1, keys="a")
    bench.produce(60, first=1, keys="b")
    bench.start("m").pause_ms(3_000)
    assert max(bench.finished()) in range(20, 25)


@pytest.mark.parametrize("order", ["partition", "key"])
def test_a_poisoned_key_is_parked_in_order_and_others_go_on(lab, order):
    bench = GroupBench(lab, MODE, order=order, work_ms=1, reconsumed_max=1, poison="park")
    bench.handle = failing("a")
    bench.produce(6, keys="abc")
    bench.start("m").until(lambda: len(of_key(bench, "b") + of_key(bench, "c")) == 4)
    bench.produce(6, first=6, keys="abc")
    bench.until(lambda: len(bench.told.of("park")) == 4)
    bench.close("m")
    assert of_key(bench, "a") == [0, 0]
    parked = bench.zones(lab.direct("a")).parked
    assert [entry.offset for entry in bench.run(parked.listed(bench.partition, "group"))] == [0, 3, 6, 9]
    assert progress(bench) == Progress(12)
    # Whoever takes over knows of it; once the key was taken up, its messages are served again.
    bench.produce(3, first=12, keys="abc")
    bench.start("n").until(lambda: progress(bench) == Progress(15))
    bench.close("n")
    assert len(bench.run(parked.take_up(bench.partition, "group", "a"))) == 5
    bench.produce(3, first=15, keys="abc")
    bench.start("o").until(lambda: 15 in bench.finished("o"))


def test_a_blocking_poison_is_tried_for_ever(lab):
    bench = GroupBench(lab, MODE, work_ms=1, reconsumed_max=1, poison="block")
    bench.handle = failing("k")
    bench.produce(2)
    bench.start("m").until(lambda: len(bench.finished()) == 10)
    assert set(bench.finished()) == {0}
    assert bench.told.of("dead_letter") == bench.told.of("park") == []


def test_concurrent_consumers_with_batches_of_one_keep_no_order(lab):
    """The article's warning: what fails comes after its successors, and two members work beside each other."""
    bench = GroupBench(lab, MODE, order="none", work_ms=1)
    failed = []
    bench.handle = lambda delivered, _: (
        ConsumeStatus.SUSPEND
        if delivered[0].offset == 1 and not failed and not failed.append(1)
        else ConsumeStatus.SUCCESS
    )
    bench.produce(4)
    bench.start("m").until(lambda: len(bench.finished()) == 5)
    assert bench.finished()[-1] == 1
    assert bench.told.of("grant") == []


def test_a_unit_of_work_beyond_the_credit_is_explained_once(lab):
    bench = GroupBench(lab, MODE, work_ms=1, credit=20, pulled=10)

    def by_hand(_, handling):
        handling.commits_itself = False

    bench.handle = by_hand
    bench.produce(60)
    bench.start("m").pause_ms(5_000)
    (explained,) = [each for each in bench.told.of("assign") if each.status == "credit"]
    assert explained.detail == "30 messages are not committed, credit 20"
