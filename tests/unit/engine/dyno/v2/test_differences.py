"""Where the original's V2 differs from us, it does with ``compat`` what docs/dyno-v2.md says, and we do not.

Method: a course of events for each row of the page's table, told to both modes on one simulated server whose clock is
set by the test. ``pytest -k`` with the name of a row plays one. A program that comes in between is let in by a
connection just before a chosen command.
"""

from pathlib import Path

import pytest
from support.engine.differences import MODES, Differences
from support.engine.dyno import EPOCH_MS, SHARDS, CuttingConnection, Interceptor
from support.engine.dyno_bench import ids
from support.engine.dyno_v2 import LEASE_MS, MultiBench, PipelinedBench, Refusing
from support.engine.metrics_page import Page

from zonelab.engine.common.prometheus import Metrics
from zonelab.engine.dyno import IdHash
from zonelab.engine.dyno.v2 import BatchPushFailure, BatchPushIndeterminate, BatchPushRejected
from zonelab.engine.message import Message

MS = 1_000_000
V2 = Differences(
    "dyno-v2.md", windows={"remove-leased": "v2_remove_of_leased", "handler-dies": "v2_handler_after_an_outage"}
)


def test_the_page_has_these_rows_and_no_other():
    assert V2.faults() == []


def test_a_death_that_the_page_lists_has_a_test():
    there = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = [row[-1].strip("`") for row in V2.cells("| operation | dies |")]
    assert len(named) > 6
    assert [name for name in named if f"def {name}(" not in there] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", V2.rows)
def test_a_row_is_as_the_page_says(lab, name, mode):
    row = V2.rows[name]
    bench = row.settings.get("bench", PipelinedBench)(lab, compat=MODES[mode])
    assert row.course(bench) == row.comes_of[mode]


def sent(bench, operation, *names):
    """Label and number of commands of each pipeline of ``operation``; of those that begin with ``names``, if given."""
    found = bench.sent(operation)
    return [(label, len(commands)) for label, *commands in found if not names or commands[0].startswith(names)]


@V2.row("voted-ranges", original=[("Q", 1)], default=[("N", 1)])
def a_pop_reads_a_range(bench):
    return sent(bench, lambda queue: queue.pop(2), "ZRANGEBYSCORE")[:1]


@V2.row("early-leases", original=[LEASE_MS, LEASE_MS + 300], default=[LEASE_MS + 300] * 2)
def a_pop_waits_for_a_second_message(bench):
    async def push_second():
        bench.clock.advance(300)
        await bench.another().push([Message(id="late")])

    bench.push("soon")
    bench.later(300, push_second)
    deliveries = bench.run(bench.queue.pop(2, wait_ms=60_000))
    assert ids(deliveries) == ["soon", "late"]
    return [delivery.lease_end_ms - EPOCH_MS for delivery in deliveries]


def blocked(bench, message_id):
    bench.run(bench.direct.execute(("ZADD", bench.queue.keys.lease_of(message_id), EPOCH_MS + 60_000, message_id)))


@V2.row("lost-round", original=("Unavailable", "H U", 0), default=(["y"], "H U", 1))
def a_later_round_of_a_pop_fails(bench):
    bench.push("x", "y", "z")
    blocked(bench, "x")
    # The original's second look; by default the leases of what replaces the miss.
    bench.connection.cut(after_pipelines=4 if bench.compat else 5, applied=None)
    found = bench.outcome(bench.queue.pop(2, wait_ms=1000 if bench.compat else 0))
    return found, bench.state("y"), bench.queue.counters.curtailed_pops


@V2.row("blocked-head", original=[], default=["next"])
def the_first_message_is_blocked(bench):
    bench.push("blocked", priority=0)
    bench.push("next", priority=1)
    blocked(bench, "blocked")
    return bench.pop(1, wait_ms=500)


@V2.row("second-look", original=["x"], default=[])
def something_comes_just_after_a_pop_looked(bench):
    runtime = bench.lab.runtime
    bench.run(runtime.sleep(MS - runtime.now_ns() % MS))  # the original's clock counts whole milliseconds
    bench.later(5, lambda: bench.another().push([Message(id="x")]))
    found = bench.pop(1)
    bench.run(runtime.sleep(20 * MS))
    return found


@V2.row("one-pop", original=4, default=2)
def two_pops_of_one_object_wait(bench):
    """How many times 100 ms both together take."""

    async def two_pops():
        runtime = bench.lab.runtime
        begin_ns = runtime.now_ns()
        tasks = [runtime.spawn(bench.queue.pop(1, wait_ms=200), name="pop") for _ in range(2)]
        for task in tasks:
            await task.join()
        return (runtime.now_ns() - begin_ns) // (100 * MS)

    return bench.run(two_pops())


@V2.row("one-bad-payload", original=("PayloadError", "H U", "H U"), default=(["y"], "H U", "H U"))
def one_of_a_batch_is_no_message(bench):
    bench.push("x", "y")
    bench.run(bench.direct.execute(("HSET", bench.queue.keys.payload_of("x"), "x", "[]")))
    return bench.outcome(bench.queue.pop(2)), bench.state("x"), bench.state("y")


@V2.row("half-ack", original=[([False, False], "H")] * 2, default=[([True, True], "-")] * 2)
def a_batch_ack_breaks(bench):
    """The reply to its first pipeline is lost; it dies before its second."""

    def broken(*names, after_pipelines, applied):
        bench.push(*names)
        bench.pop(2)
        bench.cut(bench.queue.ack_all(names), after_pipelines=after_pipelines, applied=applied)
        acked = bench.run(bench.queue.ack_all(names))
        bench.lease_ends()
        assert bench.state(names[1]) == bench.state(names[0])
        return acked, bench.state(names[0])

    return [broken("u", "v", after_pipelines=0, applied=2), broken("x", "y", after_pipelines=1, applied=None)]


@V2.row("refused-push", original=["xyz", "xyz", "xyz"], default=["xz y rejected", "xz y in doubt", "xz y in doubt"])
def the_server_refuses_commands_of_a_push(bench):
    def pushed(*refused):
        queue = bench.another(Refusing(bench.direct, names=refused, message_id="y"))
        try:
            done = "".join(receipt.id for receipt in bench.run(queue.push([Message(id=each) for each in "xyz"])))
        except BatchPushFailure as failure:
            (failed,) = failure.failed_ids
            kind = {BatchPushRejected: "rejected", BatchPushIndeterminate: "in doubt"}[type(failure)]
            done = f"{''.join(receipt.id for receipt in failure.receipts)} {failed} {kind}"
        left = [bench.state(each) for each in "xyz"]
        bench.run(bench.queue.clear())
        assert left == ["H Q", {"HSET": "-" if "ZADD" in refused else "Q", "ZADD": "H"}[refused[0]], "H Q"]
        return done

    return [pushed("HSET", "ZADD"), pushed("ZADD"), pushed("HSET")]


def let_in(bench, name, *, ack):
    """A queue before whose command of that name another pops x, and acknowledges it if ``ack``."""

    async def consume():
        other = bench.another()
        assert ids(await other.pop(1)) == ["x"]
        if ack:
            assert await other.ack("x")

    return bench.another(Interceptor(bench.direct, name, consume))


@V2.row("timeout-popped", original=(True, "H Q U"), default=(False, "H U"))
def a_postponed_message_is_popped_meanwhile(bench):
    bench.push("x")
    return bench.run(let_in(bench, "ZADD", ack=False).set_timeout("x", timeout_ms=0)), bench.state("x")


@V2.row("timeout-acked", original=(True, "H Q", ["x"]), default=(False, "-", []))
def a_postponed_message_is_consumed_meanwhile(bench):
    bench.push("x")
    return bench.run(let_in(bench, "ZADD", ack=True).set_timeout("x", timeout_ms=0)), bench.state("x"), bench.pop()


def ended_lease(bench, **fields):
    bench.push("x", **fields)
    assert bench.pop() == ["x"]
    bench.clock.advance(LEASE_MS)


@V2.row("requeue-priority", original=EPOCH_MS + LEASE_MS, default=EPOCH_MS + LEASE_MS + 0.07)
def a_lease_ends(bench):
    ended_lease(bench, priority=7)
    assert bench.run(bench.queue.process_unacks()).requeued == 1
    return bench.content().waiting["x"]


@V2.row("stale-requeue", original=("H Q", False, "H Q"), default=("H U", True, "H U"))
def a_lease_is_another_when_the_handler_has_read_it(bench):
    """A second handler requeued it and a consumer popped, and acknowledges; then one that is extended."""
    ended_lease(bench)

    async def the_other_handler_and_a_consumer():
        await bench.queue.process_unacks()
        assert ids(await bench.queue.pop(1)) == ["x"]

    async def extend():
        assert await bench.queue.set_unack_timeout("y", timeout_ms=LEASE_MS)

    bench.run(bench.another(Interceptor(bench.direct, "HGET", the_other_handler_and_a_consumer)).process_unacks())
    state, acked = bench.state("x"), bench.run(bench.queue.ack("x"))
    bench.push("y")
    bench.pop()
    bench.clock.advance(LEASE_MS)
    bench.run(bench.another(Interceptor(bench.direct, "HGET", extend)).process_unacks())
    return state, acked, bench.state("y")


@V2.row("acked-requeue", original="Q", default="-")
def a_message_is_acknowledged_while_the_handler_runs(bench):
    ended_lease(bench)

    async def acknowledge():
        assert await bench.queue.ack("x")

    requeues = "ZADD" if bench.compat else "EVAL"
    bench.run(bench.another(Interceptor(bench.direct, requeues, acknowledge)).process_unacks())
    return bench.state("x")


@V2.row("bucket-by-bucket", original=68, default=4)
def a_run_of_the_handler_moves_a_message(bench):
    """How many pipelines it takes; test_commands has which."""
    ended_lease(bench)
    return len(sent(bench, lambda queue: queue.process_unacks()))


@V2.row("peek-fails", original="PayloadError", default=["y"])
def one_that_is_peeked_at_has_no_payload(bench):
    bench.push("x", "y")
    bench.run(bench.direct.execute(("HDEL", bench.queue.keys.payload_of("x"), "x")))
    return bench.outcome(bench.queue.peek(5))


@V2.row("peek-trips", original=[("Q", 1), ("Q", 1)], default=[("N", 2)])
def two_messages_are_peeked_at(bench):
    bench.push("x", "y")
    return sent(bench, lambda queue: queue.peek(5), "HGET")


@V2.row("sizes-trips", original=[("N", 1)] * 33, default=[("N", 33)])
def somebody_asks_for_sizes(bench):
    return sent(bench, lambda queue: queue.shard_sizes())


@V2.row("clear-trips", original=[("Q", 1)] * 65, default=[("Q", 65)])
def somebody_clears_the_queue(bench):
    return sent(bench, lambda queue: queue.clear())


@V2.row("no-ensure", original=["UnsupportedOperation"] * 2, default=[False, True], bench=MultiBench)
def somebody_ensures_that_messages_are_there(bench):
    bench.put("c", "x")
    return [bench.outcome(bench.queue.ensure(Message(id=each))) for each in "xy"]


@V2.row("whole-ms", original=0, default=0.2)
def a_batch_takes_less_than_a_millisecond_a_message(bench):
    class Far:
        async def execute(self, *commands):
            await bench.lab.runtime.sleep(2 * MS)
            return await bench.direct.execute(*commands)

    metrics = Metrics()
    queue = bench.another(Far(), metrics=metrics)
    bench.run(queue.push([Message(id=str(number)) for number in range(10)]))
    return round(Page(metrics).value("push_mean", queue=queue.keys.tag), 1)


@V2.row(
    "no-round-robin",
    original={"a": ["u", "v", "w", "x"], "b": [], "c": []},
    default={"a": ["w"], "b": ["u", "x"], "c": ["v"]},
    bench=MultiBench,
)
def messages_are_pushed_one_by_one(bench):
    for message_id in "uvwx":
        bench.push(message_id)
    return bench.waiting()


NINE = [f"m{number}" for number in range(9)]


@V2.row(
    "dead-shard",
    original=("BatchPushUnavailable", {"a": 0, "b": 3, "c": 0}),
    default=(NINE, {"a": 6, "b": 3, "c": 0}),
    bench=MultiBench,
)
def a_shard_is_dead(bench):
    bench.kill("c")
    pushed = bench.outcome(bench.queue.push([Message(id=each) for each in NINE]))
    bench.connections["c"].mend()
    return pushed, {shard: len(found) for shard, found in bench.waiting().items()}


@V2.row("retry-rotates", original={"a": "H Q", "b": "H Q"}, default={"b": "H Q"}, bench=MultiBench)
def a_push_that_failed_in_a_shard_is_retried(bench):
    """By default shards go by the id here: m0 is in shard b."""
    queue = bench.another(by_shard=bench.connections, strategy=IdHash())
    bench.kill("c", applied=None if bench.compat else 1)
    for _ in range(2):
        bench.outcome(queue.push([Message(id=each) for each in NINE]))
        bench.connections["c"].mend()
    return bench.states("m0")


@V2.row("all-handlers", original=(3, "H Q", False), default=(1, "H U", True), bench=MultiBench)
def leases_of_every_shard_end(bench):
    """How many an instance requeues; then two race, of which the slower has another shard, and a consumer pops."""
    for shard in SHARDS:
        bench.put(shard, f"x{shard}")
    bench.clock.advance(LEASE_MS)
    requeued = bench.run(bench.queue.process_unacks()).requeued
    bench.run(bench.queue.clear())
    bench.put("a", "x")
    bench.clock.advance(LEASE_MS)
    popped = []

    async def the_other_handler_and_a_consumer():
        await bench.queue.process_unacks()
        popped.extend(ids(await bench.queue.pop(1)))

    slow = Interceptor(bench.direct, "HGET", the_other_handler_and_a_consumer)
    bench.run(bench.another(shard="b", by_shard=dict.fromkeys(SHARDS, slow)).process_unacks())
    if not bench.compat:  # it never looked, so nobody came in between
        bench.run(the_other_handler_and_a_consumer())
    assert popped == ["x"]
    return requeued, bench.states("x")["a"], bench.run(bench.another(shard="b").ack("x"))


@V2.row("ack-shardless", original=["ValueError", "ValueError"], default=[[True], [True]], bench=MultiBench)
def a_message_without_a_shard_of_the_queue_is_acknowledged(bench):
    acked = []
    for message_id, shard in (("x", None), ("y", "elsewhere")):
        bench.put("b", message_id)
        acked.append(bench.outcome(bench.queue.ack_messages([Message(id=message_id, shard=shard)])))
    return acked


@V2.row("remove-first", original=(True, {"b": "H Q"}), default=(True, {}), bench=MultiBench)
def an_id_in_two_shards_is_removed(bench):
    for shard in "ab":
        bench.run(bench.queue.queues[shard].push([Message(id="x")]))
    return bench.run(bench.queue.remove("x")), bench.states("x")


@V2.row("search-order", original=["a", "b", "c"], default=["b", "a", "c"], bench=MultiBench)
def a_program_of_shard_b_looks_for_a_message(bench):
    log = []
    by_shard = {shard: CuttingConnection(bench.direct, label=shard, log=log) for shard in SHARDS}
    bench.run(bench.another(shard="b", by_shard=by_shard).ack("nobody"))
    return [label for label, _ in log]
