"""Queues count under the original's metric names, and measure nothing if nobody asked for metrics.

Method: all operations of each queue on a simulated server that is 2 ms away, then the page that Prometheus would read.
"""

from dataclasses import replace

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock, make_queue
from support.engine.dyno_v2 import make_multi, make_pipelined
from support.engine.metrics_page import Page

from zonelab.engine.common.prometheus import Metrics
from zonelab.engine.common.timings import ABOUT
from zonelab.engine.dyno import DynoQueue, DynoQueues, DynoSettings, IdHash
from zonelab.engine.message import Message
from zonelab.engine.ports import Unavailable

MS = 1_000_000
LEASE_MS = 1000
NAMES = sorted(ABOUT)


class Far:
    """A server 2 ms away."""

    def __init__(self, inner, runtime):
        self._inner = inner
        self._runtime = runtime
        self.dead = False

    async def execute(self, *commands):
        await self._runtime.sleep(2 * MS)
        if self.dead:
            raise Unavailable("gone")
        return await self._inner.execute(*commands)


@pytest.fixture(params=[make_queue, make_pipelined], ids=["v1", "v2"])
def measured(request, lab):
    return Measured(lab, request.param)


class Measured:
    """A queue, and what Prometheus reads of it."""

    def __init__(self, lab, make):
        self.run, self.runtime = lab.run, lab.runtime
        self.direct = lab.direct("a")
        self.clock, self.connection = SettableClock(), Far(lab.direct("a"), lab.runtime)
        self.metrics = Metrics()
        of_v1 = {"shards": ("a",)} if make is make_queue else {}
        self.queue = make(
            self.connection, runtime=lab.runtime, clock=self.clock, unack_ms=LEASE_MS, metrics=self.metrics, **of_v1
        )
        self.label = self.queue.name if of_v1 else self.queue.keys.tag
        self.reads_ahead = bool(of_v1)

    def value(self, name):
        return Page(self.metrics).value(name, queue=self.label)


def use(measured):
    """Every operation once, pops twice."""
    queue, run = measured.queue, measured.run
    run(queue.push([Message(id=each) for each in "xyz"]))
    run(queue.peek(3))
    run(queue.pop(2))
    run(queue.ack("x"))
    run(queue.set_unack_timeout("y", timeout_ms=5))
    run(queue.get("z"))
    run(queue.size())
    run(queue.remove("z"))
    measured.clock.advance(LEASE_MS)
    run(queue.process_unacks())
    run(queue.pop(5))


def test_a_queue_that_did_nothing_shows_every_name_of_the_original_at_zero(measured):
    page = Page(measured.metrics)
    for name in NAMES:
        for part in ("count", "sum", "min", "max", "mean"):
            assert page.value(f"{name}_{part}", queue=measured.label) == 0
    assert page.value("queue_miss_total", queue=measured.label) == 0
    assert page.classes() == {"QueueMonitor"}
    assert measured.clock.now_ms() == EPOCH_MS


def test_each_operation_counts_under_its_name(measured):
    use(measured)
    expected = {"push": 1, "pop": 2, "ack": 2, "peek": 1, "get": 1, "size": 1, "remove": 1, "processUnack": 1}
    assert {name: measured.value(f"{name}_count") for name in expected} == expected
    assert measured.value("queueDepth_count") == 1
    assert measured.value("queueDepth_sum") == 0
    reads = 3 if measured.reads_ahead else 0  # V1 counts what it reads ahead
    assert (measured.value("prefetch_count"), measured.value("batchSize_count"), measured.value("batchSize_max")) == (
        reads,
        3 + reads,
        5,
    )


def test_batch_sizes_are_told_by_the_name_of_the_argument_not_by_its_place(measured):
    """A pop once counted its wait as its size when that was written first."""
    measured.run(measured.queue.push(messages=[Message(id=each) for each in "xyz"]))
    measured.run(measured.queue.pop(wait_ms=0, count=3))
    assert measured.value("batchSize_min") == measured.value("batchSize_max") == 3


def test_times_are_milliseconds_of_the_run_and_shared_among_the_messages(measured):
    measured.run(measured.queue.push([Message(id=str(number)) for number in range(10)]))
    measured.run(measured.queue.get("0"))
    assert measured.value("get_sum") == pytest.approx(2, abs=0.5)
    round_trips = 20 if measured.reads_ahead else 1
    assert measured.value("push_mean") == pytest.approx(0.2 * round_trips, rel=0.25)


def test_misses_are_counted_when_somebody_asks(measured):
    measured.run(measured.queue.push([Message(id="x")]))
    key = measured.queue.keys.messages if measured.reads_ahead else measured.queue.keys.payload_of("x")
    measured.run(measured.direct.execute(("HDEL", key, "x")))
    measured.run(measured.queue.pop(1))
    assert measured.value("queue_miss_total") == measured.queue.counters.misses == 1


def test_an_operation_that_fails_counts_too(measured):
    measured.connection.dead = True
    with pytest.raises(Unavailable):
        measured.run(measured.queue.get("x"))
    assert measured.value("get_count") == 1


def test_runs_of_the_handler_count(measured):
    async def some_runs():
        await measured.queue.start()
        await measured.runtime.sleep(3 * 60_000 * MS + 1000 * MS)
        await measured.queue.close()

    measured.run(some_runs())
    assert measured.value("processUnack_count") == 3
    assert measured.value("queueDepth_count") == 3


def test_objects_of_one_queue_count_together_and_others_have_labels_of_their_own(lab):
    metrics = Metrics()
    common = {"runtime": lab.runtime, "clock": SettableClock(), "metrics": metrics, "name": "shared"}
    connection = Far(lab.direct("a"), lab.runtime)
    queues = [make_pipelined(connection, shard=shard, **common) for shard in "aab"]
    for queue in queues:
        lab.run(queue.get("x"))
    page = Page(metrics)
    assert page.value("get_count", queue="{shared.a}") == 2
    assert page.value("get_count", queue="{shared.b}", shard="b") == 1
    assert page.text.count("# TYPE dyno_queue_get summary") == 1


def test_every_name_begins_with_the_namespace(lab):
    metrics = Metrics(namespace="jobs")
    make_pipelined(lab.direct("a"), runtime=lab.runtime, clock=SettableClock(), metrics=metrics)
    assert {name.split("_")[0] for name, *_ in Page(metrics).samples} == {"jobs"}


def test_an_ack_counts_in_the_shards_that_were_asked(lab):
    metrics = Metrics()
    queue = make_multi(lab.direct("a"), runtime=lab.runtime, clock=SettableClock(), strategy=IdHash(), metrics=metrics)
    lab.run(queue.queues["a"].push([Message(id="x"), Message(id="y")]))
    x, y = [delivery.message for delivery in lab.run(queue.pop(2))]
    assert lab.run(queue.ack_messages([replace(x, shard="a")])) == [True]
    assert lab.run(queue.ack_all([y.id])) == [True]
    counts = {shard: each.metrics.stats["ack"].count for shard, each in queue.queues.items()}
    assert counts == {"a": 2, "b": 0, "c": 0}


def test_a_registry_of_queues_measures_all_of_them(lab):
    metrics = Metrics()
    connection = lab.direct("a")
    settings = DynoSettings(prefix="test", shards=("a",), shard="a")

    async def use_two():
        options = {"runtime": lab.runtime, "clock": SettableClock(), "quorum": connection, "local": connection}
        async with DynoQueues(**options, settings=settings, metrics=metrics) as queues:
            for name in ("one", "two"):
                await (await queues.get(name)).size()

    lab.run(use_two())
    page = Page(metrics)
    assert [page.value("size_count", queue=name) for name in ("one", "two")] == [1, 1]


@pytest.mark.parametrize("make", [make_queue, make_pipelined], ids=["v1", "v2"])
def test_without_metrics_no_time_is_read(lab, make):
    class Timeless:
        """Spoils whoever reads the time."""

        def __getattr__(self, name):
            assert name != "now_ns", "the time was read"
            return getattr(lab.runtime, name)

    queue = make(lab.direct("a"), runtime=Timeless(), clock=SettableClock())
    assert queue.metrics is None
    lab.run(queue.push([Message(id="x")]))
    lab.run(queue.peek(1))
    assert lab.run(queue.get("x")).id == "x"
    lab.run(queue.remove("x"))
    assert lab.run(queue.size()) == 0
    lab.run(queue.process_unacks())


def test_every_operation_on_messages_of_v1_counts():
    counted = {name for name, value in vars(DynoQueue).items() if hasattr(value, "__wrapped__")}
    assert counted >= {
        "push", "pop", "bulk_pop", "unsafe_pop_all_shards", "unsafe_bulk_pop", "pop_with_id", "ack", "peek", "get",
        "unsafe_pop_with_id_all_shards", "pop_msg_with_predicate", "set_unack_timeout", "unsafe_peek_all_shards",
        "local_get", "remove", "atomic_remove", "size", "shard_sizes",
    }  # fmt: skip
