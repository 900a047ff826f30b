"""Goal: controls that keep no order, and planted bugs, are caught, each by its property; without them nothing is.

Method: producers and members on one simulated zone. A bug is one part of the engine replaced.
"""

import pytest
from support.engine.fifo import Unsteady
from support.engine.fifo_verdicts import JudgedBench

from analysis.checkers.order.properties import Property
from engine.fifo.consumer import process_queue
from engine.fifo.consumer.consume_loop import ConsumeLoop
from engine.fifo.consumer.listener import Outcome
from engine.fifo.consumer.results import GOES_ON, Results
from engine.fifo.log.producer import Producer
from engine.fifo.settings import Order
from engine.message import Message
from engine.ports import Unavailable

KEYS = [f"k{number}" for number in range(8)]


def broken(bench):
    """The properties that make the run invalid."""
    verdict = bench.verdict()
    return {str(name) for name in verdict.broken if name in verdict.forbid}


def fails_once(offset):
    failed = []

    def handle(delivered, _handling):
        if delivered[0].offset == offset and not failed:
            failed.append(offset)
            return Outcome.SUSPEND
        return Outcome.SUCCESS

    return handle


def served(lab, *, messages=6, keys=(), handle=None, work_ms=5, **settings):
    """One member that gets what there is, and then one message more, which comes while it works."""
    bench = JudgedBench(lab, work_ms=work_ms, **settings)
    bench.handle, sender = handle, bench.sender()
    bench.send(sender, messages - 1, *keys)
    bench.start("m").until(lambda: bench.started())
    bench.send(sender, 1, *keys)
    return bench


@pytest.mark.parametrize("unit", ["partition", "key"])
def test_without_a_bug_nothing_is_broken_and_order_was_tried(lab, unit):
    bench = served(lab, messages=16, keys=KEYS[:4], handle=fails_once(1), order=unit, unit=unit)
    bench.all_done()
    verdict = bench.verdict()
    assert (verdict.valid, verdict.broken) == (True, ())
    exercised = [Property.STRICT_ORDER, Property.NO_GAPS, Property.PRODUCED_IN_ORDER, Property.RETRIES]
    assert {verdict.of(name) for name in exercised} == {"holds"}


def test_concurrent_consumers_with_batches_of_one_are_caught(lab):
    bench = served(lab, handle=fails_once(1), work_ms=200, order="none")
    bench.all_done()
    assert {"I4", "I6"} <= broken(bench)


def test_asynchronous_sends_are_caught(lab):
    bench = JudgedBench(lab, work_ms=1)
    late = bench.through(Unsteady(lab.direct("a"), lab.runtime, 500))
    sender = bench.sender(sending="asynchronous", logs=late)
    bench.send_at_once(sender, "x", "y", "z")
    assert broken(bench) == {"I1"}


def test_a_retry_to_another_partition_is_caught(lab, monkeypatch):
    """RocketMQ's producers without a selector avoid the broker that did not answer."""
    bench = JudgedBench(lab, work_ms=1, partitions=2)
    sender = bench.sender(logs=bench.through(Unsteady(lab.direct("a"), lab.runtime, None, Unavailable("no answer"))))
    original = Producer._tried

    async def avoiding(self, partition, record, due_ms):
        self._attempts = 1
        return await original(self, partition, record, due_ms)

    monkeypatch.setattr(Producer, "_tried", avoiding)

    async def sent(number):
        try:
            await sender.send(Message(id=f"x{number}", key="k"))
        except Unavailable:
            bench.partitions.reverse()
            await sender.send(Message(id=f"x{number}", key="k"))

    for number in range(3):
        bench.run(sent(number))
    assert broken(bench) == {"I1", "I2"}


def test_two_numbers_instead_of_a_barrier_are_caught(lab):
    bench = JudgedBench(lab, work_ms=100, partitions=2, unit="key")
    sender = bench.sender(route=bench.route())
    for name in "mn":
        bench.start(name, route=bench.route())
    bench.send(sender, 60, *KEYS)
    bench.run(bench.resizing().numbers(write=3, read=3))
    bench.pause_ms(bench.times_ms.route)
    bench.send(sender, 40, *KEYS)
    bench.all_done()
    assert "I4" in broken(bench)


def test_a_barrier_is_not_called_disorder_and_without_it_the_same_resize_is_caught(lab, monkeypatch):
    def resized():
        bench = JudgedBench(lab, work_ms=100, partitions=2, unit="key")
        sender = bench.sender(route=bench.route())
        for name in "mn":
            bench.start(name, route=bench.route())
        bench.send(sender, 40, *KEYS)
        resize = lab.runtime.spawn(bench.resizing().to(3, select="hash"), name="resize")
        bench.send(sender, 40, *KEYS)
        bench.run(resize.join())
        return broken(bench.all_done())

    assert resized() == set()
    monkeypatch.setattr("engine.fifo.topics.route.Predecessors.of", lambda *_, **__: [])
    assert "I4" in resized()


def test_a_commit_before_the_effect_is_caught(lab, monkeypatch):
    bench = served(lab, messages=20)
    original = ConsumeLoop._handed_over

    async def committed_first(self, queue, batch, handling):
        await self._results._commit(queue, process_queue.WHOLE)
        await self._results._offsets.flush()
        return await original(self, queue, batch, handling)

    monkeypatch.setattr(ConsumeLoop, "_handed_over", committed_first)
    bench.until(lambda: len(bench.started("m")) == 5)
    bench.kill("m")
    bench.start("n").until(lambda: bench.finished("n")[-1:] == [19])
    assert broken(bench) == {"I3", "I4"}


def skipping(self, queue, lane, batch, handling):
    """A failed message counts as done."""

    async def done():
        await self._commit(queue, lane)
        return GOES_ON

    return done()


def through_a_side_topic(self, queue, lane, batch, handling):
    """A failed message comes again when others have come."""

    async def later():
        for each in batch:
            each.failed += 1
        self._context.spawn(again(), "side topic")
        return GOES_ON

    async def again():
        await self._context.sleep(50)
        queue._lanes.setdefault(lane, process_queue._Lane())
        queue.put_back(batch, lane)

    return later()


@pytest.mark.parametrize("failed", [skipping, through_a_side_topic])
def test_whoever_goes_on_past_a_failed_message_is_caught(lab, monkeypatch, failed):
    monkeypatch.setattr(Results, "_failed", failed)
    bench = served(lab, handle=fails_once(2))
    bench.until(lambda: bench.started()[-1:] == [5])
    assert "I4" in broken(bench)


def test_a_pool_that_works_on_a_whole_partition_at_once_is_caught(lab, monkeypatch):
    monkeypatch.setitem(process_queue._LANES, Order.PARTITION, process_queue._LANES[Order.NONE])
    bench = served(lab, work_ms=200)
    bench.all_done()
    assert broken(bench) == {"I4", "I6", "I7"}


def test_a_pause_below_the_least_one_is_caught(lab, monkeypatch):
    def handle(delivered, handling):
        handling.suspend_ms = 1
        return Outcome.SUSPEND if delivered[0].attempt == 1 else Outcome.SUCCESS

    monkeypatch.setattr(Results, "_pause", lambda _, handling: handling.suspend_ms)
    bench = served(lab, messages=2, handle=handle, rules={"suspend_ms": 10})
    bench.all_done()
    assert broken(bench) == {"I11"}


@pytest.mark.parametrize(("reconsumed_max", "caught"), [(1, set()), (2, {"I11"}), (0, {"I11"})])
def test_one_attempt_too_many_or_too_few_is_caught(lab, reconsumed_max, caught):
    bench = served(
        lab,
        messages=3,
        handle=lambda delivered, _: Outcome.SUSPEND if delivered[0].offset == 1 else Outcome.SUCCESS,
        reconsumed_max=reconsumed_max,
        rules={"retries_max": 1},
    )
    bench.until(lambda: 2 in bench.finished())
    assert broken(bench) == caught
