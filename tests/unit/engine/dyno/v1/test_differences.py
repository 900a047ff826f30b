"""Where the original differs from us, it does with ``compat`` what docs/dyno-queues.md says, and we do not.

Method: a course of events for each row of the page's table, on one simulated server and a clock that stands still;
what comes of it in both modes. ``pytest -k`` with the name of a row plays one. States are written as H (payload), Q:x
(waits in shard x) and U:x (leased in shard x).
"""

import pytest
from support.engine.differences import MODES, Differences
from support.engine.dyno import EPOCH_MS, Interceptor, content
from support.engine.dyno_bench import LEASE_MS, DynoBench, X, consume, ids, messages

from zonelab.engine.dyno import DynoSettings, RoundRobin
from zonelab.engine.message import Message
from zonelab.engine.ports import Unavailable

V1 = Differences(
    "dyno-queues.md",
    windows={
        "lost-batch": "error_in_pop_at_third_message",
        "half-ack": "error_in_ack_reply_lost",
        "left-over": "race_postponed_after_range_read",
        "bulk-gone": "bulk_pop_of_an_id_that_is_gone",
        "requeue-extended": "race_extension_during_atomic_requeue",
        "requeue-twice": "race_two_atomic_handlers",
    },
)
JSON = '{"id":"x","payload":"p","timeout":0,"priority":7}'
WAIT_MS = 2_000


def test_the_page_has_these_rows_and_no_other():
    assert V1.faults() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", V1.rows)
def test_a_row_is_as_the_page_says(lab, name, mode):
    row = V1.rows[name]
    bench = DynoBench(lab, compat=MODES[mode], poll_interval_ms=1, **row.settings)
    assert row.course(bench) == row.comes_of[mode]


@V1.row("long-poll", original=([], ["x"]), default=(["x"], []))
def something_comes_while_a_pop_waits(bench):
    bench.later(50, lambda: bench.another().push([Message(id="x")]))
    return bench.pop(1, wait_ms=300), bench.pop(1)


@V1.row("shared-demand", original=0, default=["x"])
def a_pop_finds_nothing_while_another_waits(bench):
    if bench.compat:
        bench.queue._popper.prefetch.demand = 5  # of others that wait
        bench.pop(1)
        return bench.queue._popper.prefetch.demand

    async def find_nothing_and_push():
        assert await bench.queue.pop(1) == []
        await bench.another().push([Message(id="x")])

    bench.later(50, find_nothing_and_push)
    return bench.pop(1, wait_ms=WAIT_MS)


@V1.row("same-ids", original=(["u", "v"], 3, []), default=(["u", "v"], 0, [{}]))
def a_pop_waits_for_more_than_is_due(bench):
    """Ids, misses, and what is leased after 100 ms, if it waits for so long."""
    leased = []

    async def look():
        leased.append((await content(bench.direct, bench.queue.keys)).unacked)

    bench.push("u", "v")
    bench.later(100, look)
    return bench.pop(5, wait_ms=WAIT_MS), bench.queue.counters.misses, leased


@V1.row("shared-ids", original=([], ["v", "u"]), default=(["u", "v"], ["w", "x"]))
def a_pop_comes_before_the_first_lease_of_another(bench):
    bench.push("u", "v", "w", "x")
    overtaking = []

    async def another_pop():
        overtaking.extend(ids(await queue.pop(2)))

    queue = bench.another(Interceptor(bench.direct, "ZADD", another_pop))
    return ids(bench(queue.pop(2))), overtaking


@V1.row("clear-keeps", original=([], ["U:a"]), default=([], [""]))
def the_queue_is_cleared_after_a_pop(bench):
    bench.push("u", "v")
    if bench.compat:
        bench.queue._popper.prefetch.demand = 1  # left by another consumer's pop: the second is read as well
    assert bench.pop(1) == ["u"]
    bench(bench.queue.clear())
    return bench.pop(1), bench.states("v")


@V1.row("short-batch", original=(["w"], 2), default=(["w", "y", "z"], 3))
def a_pop_meets_what_it_cannot_lease(bench):
    bench.push(*"uvwxyz")
    for blocked in "uvx":
        bench.lease_of(blocked)
    return bench.pop(3), bench.queue.counters.misses


class Ticking:
    """The clock goes on by a second at every command."""

    def __init__(self, inner, clock):
        self._inner, self._clock = inner, clock

    async def execute(self, *commands):
        self._clock.advance(1000)
        return await self._inner.execute(*commands)


@V1.row(
    "batch-lease",
    original=[(1_000, 3_000, 2_000), (4_000, 6_000, 2_000)],
    default=[(1_000, 3_000, 2_000), (4_000, 6_000, 5_000)],
)
def a_batch_is_slow(bench):
    """Of each delivery: when its lease began, when it was written, and its end, as the server has it."""
    bench.push("u", "v")
    deliveries = bench(bench.another(Ticking(bench.direct, bench.clock)).pop(2))
    assert {d.message.id: d.lease_end_ms for d in deliveries} == bench.content().unacked["a"]
    return [tuple(ms - EPOCH_MS for ms in (d.lease_start_ms, d.leased_ms, d.lease_end_ms)) for d in deliveries]


@V1.row("integer-priority", original=EPOCH_MS + 20, default=EPOCH_MS + 20.07)
def a_message_is_postponed(bench):
    bench.push(X)
    assert bench(bench.queue.set_timeout("x", timeout_ms=20)) is True
    stored = bench(bench.queue.get("x"))
    assert (stored.timeout_ms, stored.priority, stored.payload) == (20, 7, "p")
    return bench.content().waiting["a"]["x"]


@V1.row("requeue-priority", original=[0, 0], default=[0.03, 0.09])
def leases_end(bench):
    bench.lease(Message(id="p9", priority=9), Message(id="p3", priority=3))
    bench.clock.advance(LEASE_MS)
    bench(bench.queue.process_unacks())
    waiting = bench.content().waiting["a"]
    return [round(waiting[name] - EPOCH_MS - LEASE_MS, 2) for name in ("p3", "p9")]


@V1.row("thousand-a-run", original=[[10, 10, 5, 0]] * 2, default=[[25, 0, 0, 0]] * 2, unack_batch=10)
def more_leases_end_than_a_batch(bench):
    def runs(handle):
        bench.lease(*map(str, range(25)))
        bench.clock.advance(LEASE_MS)
        return [bench(handle()).requeued for _ in range(4)]

    return [runs(bench.queue.process_unacks), runs(bench.queue.atomic_process_unacks)]


@V1.row("remove-leased", original=(False, ["H"]), default=(True, [""]))
def a_leased_message_is_removed(bench):
    bench.lease("x")
    return bench(bench.queue.remove("x")), bench.states("x")


@V1.row("remove-first", original=(True, ["Q:c"]), default=(True, [""]), strategy=RoundRobin())
def a_doubled_message_is_removed(bench):
    bench(bench.queue.push([X, X]))
    return bench(bench.queue.remove("x")), bench.states("x")


@V1.row("peek-fails", original="PayloadError", default=["v"])
def one_that_is_peeked_at_has_no_payload(bench):
    bench.push("u", "v")
    bench.drop_payload("u")
    return bench.outcome(bench.queue.peek(9))


@V1.row("unsafe-peek", original=["a1", "a2", "b1", "b2"], default=["b1", "a1"])
def somebody_looks_at_the_head_of_every_shard(bench):
    bench.push(*messages("b1", timeout_ms=-9), *messages("b2"), into="b")
    bench.push(*messages("a1", timeout_ms=-5), *messages("a2", timeout_ms=-1))
    return bench.outcome(bench.queue.unsafe_peek_all_shards(2))


@V1.row("unsafe-peek-fails", original="PayloadError", default=["v"])
def one_that_is_looked_at_has_no_payload(bench):
    bench.push("u", "v")
    bench.drop_payload("u")
    return bench.outcome(bench.queue.unsafe_peek_all_shards(5))


@V1.row("id-not-due", original=("x", None), default=(None, "x"))
def a_delayed_message_is_popped_by_its_id(bench):
    bench.push("x", timeout_ms=500)
    early = bench.outcome(bench.queue.pop_with_id("x"))
    bench.clock.advance(500)
    return early, bench.outcome(bench.queue.pop_with_id("x"))


@V1.row("bulk-waits", original=([], ["H U:a", "H U:a"]), default=(["u", "v"], ["H U:a", "H U:a"]))
def a_bulk_pop_waits_for_more_than_is_due(bench):
    bench.push("u", "v")
    return ids(bench(bench.queue.bulk_pop(5, wait_ms=20))), bench.states("u", "v")


@V1.row("bulk-text", original=([], ["H Q:a"]), default=(["x"], ["H U:a"]), now_ms=999)
def scores_have_different_numbers_of_digits(bench):
    """999.07 is greater than 1001 as text: it shows with a clock near zero only."""
    bench.push(X)
    bench.clock.advance(1)
    return ids(bench(bench.queue.bulk_pop(1))), bench.states("x")


@V1.row("bulk-zero", original=(["u", "v"], 0, ["H U:a", "H U:a"]), default=(["v"], 1, ["H Q:a U:a", "H U:a"]))
def a_bulk_pop_meets_a_lease(bench):
    bench.push("u", "v")
    bench.lease_of("u")
    bench.clock.advance(5)
    popped = ids(bench(bench.queue.bulk_pop(2)))
    assert bench.content().unacked["a"]["u"] == EPOCH_MS + LEASE_MS
    return popped, bench.queue.counters.misses, bench.states("u", "v")


@V1.row("pattern-zero", original=("u", ["H U:a"]), default=("v", ["H Q:a U:a"]))
def a_pop_by_pattern_meets_a_lease(bench):
    bench.push("u", "v")
    bench.lease_of("u")
    return bench.outcome(bench.queue.pop_msg_with_predicate("id")), bench.states("u")


@V1.row("pattern-json", original=JSON, default="p")
def a_pop_by_pattern_delivers(bench):
    bench.push(X)
    bench.clock.advance(1)
    return bench(bench.queue.pop_msg_with_predicate('"p"')).message.payload


@V1.row(
    "all-json",
    original=[('{"payload":"o"}', 0), ('{"id":"u","timeout":0,"priority":0}', 0), (JSON, 0)],
    default=[("o", 0), ("", 0), ("p", 7)],
)
def all_messages_are_read(bench):
    """One is stored only, one leased, one waits."""
    bench.store_payload("orphan", '{"payload":"o"}')
    bench.push(X, *messages("u"))
    bench(bench.queue.pop_with_id("u"))
    found = sorted(bench(bench.queue.get_all_messages()), key=lambda message: message.id)
    assert [message.id for message in found] == ["orphan", "u", "x"]
    return [(message.payload, message.priority) for message in found]


@V1.row("remove-two", original=(False, [""]), default=(True, [""]), strategy=RoundRobin())
def a_doubled_id_without_payload_is_removed_by_the_script(bench):
    bench(bench.queue.push([X, X]))
    bench.drop_payload("x")
    return bench(bench.queue.atomic_remove("x")), bench.states("x")


@V1.row("atomic-priority", original=[0, 0], default=[0.03, 0.07])
def leases_end_under_the_script(bench):
    """What looks like a priority in a payload is none; what has no payload is dropped."""
    bench.push(X, *messages("u"), Message(id="tricky", payload='"priority":9', priority=3))
    bench.clock.advance(1)
    assert len(bench.pop(3)) == 3
    bench.drop_payload("u")
    bench.clock.advance(LEASE_MS)
    found = bench(bench.queue.atomic_process_unacks())
    counters = bench.queue.counters
    assert (found.requeued, found.stale) == (counters.requeued, counters.stale) == (2, 1)
    waiting = bench.content().waiting["a"]
    return [round(waiting[name] - EPOCH_MS - LEASE_MS - 1, 2) for name in ("tricky", "x")]


@V1.row("stale-consumed", original=["u"], default=[])
def a_message_is_consumed_while_stale_ones_are_looked_for(bench):
    bench.push("u")
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: consume(bench.another(), "u")))
    return bench.outcome(slow.find_stale_messages())


class Noting:
    def __init__(self, inner):
        self._inner, self.names = inner, []

    async def execute(self, *commands):
        self.names += [command[0] for command in commands]
        return await self._inner.execute(*commands)


@V1.row("empty-bulk", original=["ZRANGEBYSCORE", "EVAL"], default=["ZRANGEBYSCORE"])
def a_bulk_pop_finds_nothing(bench):
    connection = Noting(bench.direct)
    assert bench(bench.another(connection).bulk_pop(4)) == []
    return connection.names


class Nowhere:
    def next_shard(self, shards, message):
        return "z"


@V1.row("unknown-shard", original=(["x"], 1, 0), default=("ValueError", 0, 0), strategy=Nowhere())
def a_strategy_chooses_no_shard_of_the_queue(bench):
    pushed = bench.outcome(bench.queue.push([X]))
    return pushed, bench.redis("ZCARD", bench.queue.keys.queue_of("z")), bench(bench.queue.size())


@V1.row("lease-length", original=(60, 7), default=(60_000, 7))
def a_lease_is_not_set(bench):
    given = {"prefix": "p", "shards": ("a",), "shard": "a", "compat": bench.compat}
    return DynoSettings(**given).unack_ms, DynoSettings(**given, unack_ms=7).unack_ms


IN_ORDER = ["first", "later", "p3", "p9"]


@V1.row("priority-order", original=IN_ORDER, default=IN_ORDER)
def messages_have_priorities(bench):
    bench.push("later", timeout_ms=-1)
    bench.push("p9", priority=9)
    bench.push("p3", priority=3)
    bench.push("first", timeout_ms=-2, priority=99)
    return bench.pop(10)


class Unreachable:
    attempts = 0

    async def execute(self, *commands):
        self.attempts += 1
        raise Unavailable("no connection")


@V1.row("no-retry", original=5, default=5)
def nobody_answers(bench):
    """A repeated ZADD NX or ZREM would answer 0 although the first one did it."""
    connection = Unreachable()
    queue = bench.another(connection)
    operations = [queue.push([X]), queue.pop(1), queue.ack("x"), queue.atomic_remove("x")]
    for operation in [*operations, queue.set_unack_timeout("x", timeout_ms=5)]:
        assert bench.outcome(operation).endswith("Unavailable")
    return connection.attempts
