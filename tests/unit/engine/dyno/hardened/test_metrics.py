"""Goal: hardened queues show what they count under the names that other queues use, and do the same without metrics.

Method: three simulated zones, and the page that Prometheus would read; the tests of each mechanism say when its counter
moves. What is sent, and how often the time is read, is compared with and without metrics.
"""

from dataclasses import fields

import pytest
from support.engine.hardened import KEYS, commands_of, hardened_lab, leased, message
from support.engine.metrics_page import Page

from zonelab.engine.common.prometheus import Metrics
from zonelab.engine.dyno.hardened.context import HardenedCounters, totals_of
from zonelab.engine.ports import Indeterminate

TOTALS = [total.name for total in totals_of(HardenedCounters())]


def shown(metrics, name, *, shard="a"):
    return Page(metrics).value(name, queue=KEYS.queue, shard=shard)


def moved(metrics, *, shard="a"):
    """Totals that are not zero, misses among them."""
    page = Page(metrics)
    values = {name: page.value(f"{name}_total", queue=KEYS.queue, shard=shard) for name in ("queue_miss", *TOTALS)}
    return {name: value for name, value in values.items() if value}


async def use(queue):
    """Every operation that is timed, acks four times."""
    await queue.push([message(each) for each in "xyz"])
    first, second = await queue.pop(2)
    assert await queue.extend(first, lease_ms=500) is True
    assert await queue.ack(first) is True
    assert await queue.ack_all([second]) == [True]
    assert await queue.ack(second) is False
    assert (await queue.get("z")).payload == "work"
    assert await queue.size() == 1
    assert await queue.remove_all(["z"]) == [True]
    assert await queue.pop(5) == []


async def idle(queue):
    assert queue.counters == HardenedCounters()


async def using(lab, course=idle, **options):
    await course(lab.queue(**options))


def test_each_operation_counts_under_its_name_and_batches_by_what_was_asked_for(lab):
    metrics = Metrics()
    lab.run(using(lab, use, metrics=metrics))
    expected = {"push": 1, "pop": 2, "ack": 4, "get": 1, "size": 1, "remove": 1, "batchSize": 3, "peek": 0}
    assert {name: shown(metrics, f"{name}_count") for name in expected} == expected
    assert [shown(metrics, f"batchSize_{part}") for part in ("min", "max", "sum")] == [2, 5, 10]
    assert shown(metrics, "push_sum") > 0
    assert moved(metrics) == {"ack_refused": 1}


def test_every_counter_of_the_queue_is_on_the_page():
    names = [field.name for field in fields(HardenedCounters) if field.name != "misses"]
    for name in names:
        values = [total.value() for total in totals_of(HardenedCounters(**{name: 7}))]
        assert sorted(values) == [0] * (len(names) - 1) + [7], name
    assert len(TOTALS) == len(dict.fromkeys(TOTALS)) == len(names)


async def test_takeovers_are_counted_where_they_happen(lab):
    metrics = Metrics()
    async with lab.queue("a", metrics=metrics):
        await lab.sleep(800)
    assert moved(metrics) == {"shard_takeover": 2}


async def test_candidates_that_another_consumer_has_are_misses(lab):
    metrics = Metrics()
    queue = lab.queue(metrics=metrics)
    await queue.push([message()])
    await lab.sleep(20)
    for zone in ("b", "c"):
        await lab.take_elsewhere(zone, "m", for_ms=100)
    assert await queue.pop(1) == []
    assert moved(metrics) == {"queue_miss": queue.counters.misses} == {"queue_miss": 1}


async def test_objects_of_one_shard_count_together_and_others_for_themselves(lab):
    metrics = Metrics()
    queues = [lab.queue(zone, metrics=metrics) for zone in "aab"]
    for queue in queues:
        await queue.get("m")
        queue.counters.repaired += 2
    assert (shown(metrics, "get_count"), shown(metrics, "record_mended_total")) == (2, 4)
    assert (shown(metrics, "get_count", shard="b"), shown(metrics, "record_mended_total", shard="b")) == (1, 2)
    assert Page(metrics).text.count("# TYPE dyno_queue_record_mended_total counter") == 1


class CountingTime:
    """A runtime that counts how often the time is read."""

    def __init__(self, inner):
        self._inner = inner
        self.reads = 0

    def now_ns(self):
        self.reads += 1
        return self._inner.now_ns()

    def __getattr__(self, name):
        return getattr(self._inner, name)


def course(metrics):
    """What a queue with ``metrics`` sends in the course of every operation, how often it reads the time, and when it
    is done.
    """
    with hardened_lab() as lab:

        async def program():
            clockwork = lab.runtime
            lab.runtime = reading = CountingTime(clockwork)
            queue = lab.queue(metrics=metrics)
            lab.runtime = clockwork
            sent = commands_of(queue)
            reading.reads = 0
            await use(queue)
            return queue, sent, reading.reads, clockwork.now_ns()

        return lab.run(program())


def test_metrics_change_nothing_that_is_sent_and_without_them_no_time_is_read_for_them():
    measured, measured_sent, measured_reads, measured_end_ns = course(Metrics())
    plain, sent, reads, end_ns = course(None)
    assert (plain.metrics, measured.metrics is None) == (None, False)
    assert sent == measured_sent
    assert end_ns == measured_end_ns
    timed = 1 + 2 + 4 + 1 + 1 + 1
    assert measured_reads == reads + 2 * timed
    assert reads == 2 * 2 + 2  # a pop looks when it begins and when it has looked, and notes each delivery


async def test_what_could_not_be_set_aside_or_mended_is_not_counted(lab, monkeypatch):
    metrics = Metrics()
    queue = lab.queue(metrics=metrics)
    await queue.push([message("unreadable"), message("whole")])
    await lab.sleep(20)
    await lab.ask("a", "HSET", KEYS.messages, "unreadable", "{")
    await lab.ask("b", "DEL", KEYS.records, KEYS.messages, KEYS.ready("a"), KEYS.queue_of("a"))

    async def failing(*_, **__):
        raise Indeterminate("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(queue._steps, "set_aside", failing)
        patch.setattr(queue._steps, "repair", failing)
        for _ in range(2):
            with pytest.raises(Indeterminate):
                await queue.pop(1)
            with pytest.raises(Indeterminate):
                await queue.compare()
    assert moved(metrics) == {}
    await queue.compare()
    await lab.sleep(20)
    await queue.pop(2)
    assert moved(metrics) == {"record_mended": 2, "dead_letter": 1}


async def test_a_heartbeat_that_meets_an_ack_of_the_same_object_refuses_nothing(lab, monkeypatch):
    queue = lab.queue(lease_ms=60_000)
    delivery = await leased(queue)
    extend = queue._steps.extend

    async def after_an_ack(held, *, ends_ms):
        assert await queue.ack(delivery) is True
        return await extend(held, ends_ms=ends_ms)

    monkeypatch.setattr(queue._steps, "extend", after_an_ack)
    await queue._beat()
    assert queue.counters.refused == 0
