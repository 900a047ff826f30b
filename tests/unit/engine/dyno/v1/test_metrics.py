"""Queues count under the original's metric names, and measure nothing if nobody asked for metrics.

Method: all operations of each queue on a simulated server that is 2 ms away, then the page that Prometheus would read.
"""

from dataclasses import replace

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock, make_queue
from support.engine.dyno_v2 import make_multi, make_pipelined
from support.engine.metrics_page import Page

from engine.common.prometheus import Metrics
from engine.common.timings import PER_MESSAGE, SIZES, TIMERS
from engine.dyno import DynoQueue, DynoQueues, DynoSettings, IdHash
from engine.message import Message
from engine.ports import Unavailable

MS = 1_000_000
LEASE_MS = 1000
NAMES = sorted((*TIMERS, *PER_MESSAGE, *SIZES))


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


class Bench:
    def __init__(self, lab, make, *, compat=False, metrics=None):
        self.lab = lab
        self.clock = SettableClock()
        self.connection = Far(lab.direct("a"), lab.runtime)
        self.metrics = Metrics() if metrics is None else metrics
        self.queue = make(
            self.connection,
            runtime=lab.runtime,
            clock=self.clock,
            compat=compat,
            unack_ms=LEASE_MS,
            metrics=self.metrics,
            **({"shards": ("a",)} if make is make_queue else {}),
        )
        keys = self.queue.keys
        self.label = keys.tag if make is make_pipelined else self.queue.name

    def run(self, operation):
        return self.lab.run(operation)

    def page(self):
        return Page(self.metrics)

    def value(self, name):
        return self.page().value(name, queue=self.label)


@pytest.fixture(params=[make_queue, make_pipelined], ids=["v1", "v2"])
def bench(request, lab):
    return Bench(lab, request.param)


def use(bench):
    """Every operation once, pops twice."""
    queue, run = bench.queue, bench.run
    run(queue.push([Message(id=each) for each in "xyz"]))
    run(queue.peek(3))
    run(queue.pop(2))
    run(queue.ack("x"))
    run(queue.set_unack_timeout("y", timeout_ms=5))
    run(queue.get("z"))
    run(queue.size())
    run(queue.remove("z"))
    bench.clock.advance(LEASE_MS)
    run(queue.process_unacks())
    run(queue.pop(5))


def test_a_queue_that_did_nothing_shows_every_name_of_the_original_at_zero(bench):
    page = bench.page()
    for name in NAMES:
        for part in ("count", "sum", "min", "max", "mean"):
            assert page.value(f"{name}_{part}", queue=bench.label) == 0
    assert page.value("queue_miss_total", queue=bench.label) == 0
    assert page.classes() == {"QueueMonitor"}
    assert bench.clock.now_ms() == EPOCH_MS


def test_each_operation_counts_under_its_name(bench):
    use(bench)
    expected = {"push": 1, "pop": 2, "ack": 2, "peek": 1, "get": 1, "size": 1, "remove": 1, "processUnack": 1}
    assert {name: bench.value(f"{name}_count") for name in expected} == expected
    assert bench.value("queueDepth_count") == 1
    assert bench.value("queueDepth_sum") == 0


def test_batch_sizes_are_what_was_asked_for(bench):
    use(bench)
    prefetched = bench.value("prefetch_count")
    assert bench.value("batchSize_count") == 3 + prefetched
    assert bench.value("batchSize_max") == 5
    assert bench.value("batchSize_min") == 2 if prefetched == 0 else bench.value("batchSize_min") >= 1


def test_batch_sizes_are_told_by_the_name_of_the_argument_not_by_its_place(bench):
    """A pop once counted its wait as its size when that was written first."""
    bench.run(bench.queue.push(messages=[Message(id=each) for each in "xyz"]))
    bench.run(bench.queue.pop(wait_ms=0, count=3))
    assert bench.value("batchSize_min") == bench.value("batchSize_max") == 3


def test_v1_counts_its_reads_ahead_and_v2_has_none(lab):
    for make, reads in ((make_queue, 2), (make_pipelined, 0)):
        bench = Bench(lab, make)
        bench.run(bench.queue.push([Message(id="x")]))
        bench.run(bench.queue.pop(1))
        bench.run(bench.queue.pop(1))
        assert bench.value("prefetch_count") == reads


def test_times_are_milliseconds_of_the_run_and_shared_among_the_messages(lab):
    bench = Bench(lab, make_pipelined)
    bench.run(bench.queue.push([Message(id=str(number)) for number in range(10)]))
    bench.run(bench.queue.get("0"))
    assert bench.value("get_sum") == pytest.approx(2, abs=0.5)
    assert bench.value("push_mean") == pytest.approx(0.2, abs=0.05)
    bench.run(bench.queue.pop(10))
    assert bench.value("pop_max") == pytest.approx(0.8, abs=0.1)  # four pipelines


def test_the_original_divides_whole_milliseconds_and_loses_what_is_less(lab):
    bench = Bench(lab, make_pipelined, compat=True)
    bench.run(bench.queue.push([Message(id=str(number)) for number in range(10)]))
    assert (bench.value("push_count"), bench.value("push_sum")) == (1, 0)
    bench.run(bench.queue.get("0"))
    assert bench.value("get_sum") == 2


def test_misses_are_counted_when_somebody_asks(bench):
    bench.run(bench.queue.push([Message(id="x")]))
    key = bench.queue.keys.payload_of("x") if "v2" in type(bench.queue).__module__ else bench.queue.keys.messages
    bench.run(bench.lab.direct("a").execute(("HDEL", key, "x")))
    bench.run(bench.queue.pop(1))
    assert bench.value("queue_miss_total") == bench.queue.counters.misses == 1


def test_an_operation_that_fails_counts_too(bench):
    bench.connection.dead = True
    with pytest.raises(Unavailable):
        bench.run(bench.queue.get("x"))
    assert bench.value("get_count") == 1


def test_runs_of_the_handler_count(bench):
    async def some_runs():
        await bench.queue.start()
        await bench.lab.runtime.sleep(3 * 60_000 * MS + 1000 * MS)
        await bench.queue.close()

    bench.run(some_runs())
    assert bench.value("processUnack_count") == 3
    assert bench.value("queueDepth_count") == 3


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
