"""Goal: delayed messages are served when they are due, those of a partition in the order of (due, sequence).

Method: a producer and a member on one simulated zone.
"""

import pytest
from support.engine.fifo import Unsteady
from support.engine.fifo_group import GroupBench

from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate

LOST = Indeterminate("the answer was lost")


@pytest.fixture
def bench(lab):
    return GroupBench(lab, "rocketmq-5.3", work_ms=1)


def producer(bench, *plan, sending="idempotent"):
    connection = Unsteady(bench.lab.direct("a"), bench.lab.runtime, *plan)
    return bench.producer(sending, connection, clock=bench.lab.cluster.clock("a"), observer=bench.told)


def served(bench):
    return [each.message_id for each in bench.told.of("end")]


def send(bench, sender, message_id, delay_ms, key="k"):
    return bench.run(sender.send(Message(id=message_id, key=key, timeout_ms=delay_ms)))


@pytest.mark.parametrize("order", ["partition", "key"])
def test_messages_come_when_they_are_due_and_in_that_order(lab, order):
    bench = GroupBench(lab, "rocketmq-5.3", work_ms=1, order=order)
    sender = producer(bench)
    bench.start("m")
    begin_ms = lab.cluster.clock("a").now_ms()
    placed = [send(bench, sender, name, delay) for name, delay in (("a", 900), ("b", 300), ("c", 0), ("d", 600))]
    assert [each.offset for each in placed] == [None, None, 0, None]
    bench.until(lambda: len(served(bench)) == 4)
    assert served(bench) == ["c", "b", "d", "a"]
    ended_ms = [each.time_ms for each in bench.told.of("start")]
    assert all(
        begun - bench.told.of("start")[0].time_ms >= delay - 100
        for begun, delay in zip(ended_ms[1:], (300, 600, 900), strict=True)
    )
    assert lab.cluster.clock("a").now_ms() >= begin_ms + 900


def test_of_equal_due_times_the_sequence_decides_also_beyond_nine(bench):
    sender = producer(bench)
    due_ms = bench.lab.cluster.clock("a").now_ms() + 2_000
    names = [f"m{number}" for number in range(12)]
    for name in names:
        placed = send(bench, sender, name, due_ms - bench.lab.cluster.clock("a").now_ms())
        assert placed.due_ms == due_ms
    bench.start("m").until(lambda: len(served(bench)) == 12)
    assert served(bench) == names


def test_what_is_sent_after_a_delayed_message_was_due_stands_behind_it_though_nobody_has_looked(bench):
    sender = producer(bench)
    send(bench, sender, "a", 100)
    bench.pause_ms(150)
    assert send(bench, sender, "b", 0).offset == 1
    assert bench.listed() == [(0, "a"), (1, "b")]


def test_an_idempotent_producer_delays_a_message_once(bench):
    sender = producer(bench, LOST, None, LOST)
    send(bench, sender, "a", 100)
    send(bench, sender, "b", 100)
    bench.pause_ms(150)
    send(bench, sender, "c", 0)
    assert bench.listed() == [(0, "a"), (1, "b"), (2, "c")]
    # b was the last that was delayed, and c the last in the log: neither goes in again.
    assert [each.status for each in bench.told.of("produce")] == ["duplicate", "duplicate", None]


def test_a_resize_takes_what_is_not_due_yet_along(bench):
    routes = bench.routes()
    bench.run(routes.create(1))
    sender = bench.producer("idempotent", clock=bench.lab.cluster.clock("a"), route=bench.route())
    bench.start("m", route=bench.route())
    send(bench, sender, "a", 0)
    for number in range(6):
        send(bench, sender, f"b{number}", 3_000, key=f"k{number}")
    bench.run(bench.resizing().to(2, select="hash"))
    for number in range(6):
        send(bench, sender, f"c{number}", 3_000, key=f"k{number}")
    bench.until(lambda: len(served(bench)) == 13)
    for number in range(6):
        assert [each for each in served(bench) if each.endswith(str(number))] == [f"b{number}", f"c{number}"]


def test_a_producer_without_a_clock_delays_nothing(bench):
    with pytest.raises(ValueError, match="timeout_ms must be 0 for a producer without a clock, got 5"):
        send(bench, bench.producer("ordered"), "a", 5)
