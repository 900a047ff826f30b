"""Pop finds what is due, waits as it says, and has none of the original's prefetch defects unless compat asks for them.

Method: a simulated server, a clock that stands still for due times and leases, and virtual time for waiting.
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor, content
from support.engine.dyno_bench import LEASE_MS, ids

from engine.dyno import PayloadError
from engine.message import Message
from engine.ports import Unavailable

MS = 1_000_000
LONG_MS = 30_000


def test_messages_come_in_order_of_due_time_and_within_a_millisecond_of_priority(either):
    either.push("later", timeout_ms=-1)
    either.push("p9", priority=9)
    either.push("p3", priority=3)
    either.push("first", timeout_ms=-2, priority=99)
    assert either.pop(10) == ["first", "later", "p3", "p9"]


def test_a_message_is_not_delivered_before_its_time_except_for_the_last_millisecond(either):
    either.push("x", timeout_ms=100)
    either.clock.advance(98)
    assert either.pop(1) == []
    either.clock.advance(1)
    assert either.pop(1) == ["x"]


def test_the_priority_fraction_can_hold_a_message_back_until_its_millisecond(either):
    either.push("x", timeout_ms=100, priority=1)
    either.clock.advance(99)
    assert either.pop(1) == []
    either.clock.advance(1)
    assert either.pop(1) == ["x"]


def test_only_the_own_shard_is_served(bench):
    bench.push("x")
    assert bench(bench.another(shard="b").pop(1)) == []
    assert bench.pop(1) == ["x"]


def test_a_pop_that_waits_sees_what_is_pushed_later(bench):
    async def consumer_first():
        pop = bench.lab.runtime.spawn(bench.queue.pop(1, wait_ms=LONG_MS), name="pop")
        await bench.lab.runtime.sleep(120 * MS)
        assert not pop.done()
        await bench.another().push([Message(id="x")])
        return await pop.join()

    begin_ns = bench.lab.runtime.now_ns()
    assert ids(bench(consumer_first())) == ["x"]
    assert bench.lab.runtime.now_ns() - begin_ns < LONG_MS * MS / 2


def test_a_waiting_pop_of_the_original_never_looks_again_after_an_empty_read(original):
    async def consumer_first():
        pop = original.lab.runtime.spawn(original.queue.pop(1, wait_ms=300), name="pop")
        await original.lab.runtime.sleep(50 * MS)
        await original.another().push([Message(id="x")])
        return await pop.join()

    begin_ns = original.lab.runtime.now_ns()
    assert original(consumer_first()) == []
    assert original.lab.runtime.now_ns() - begin_ns >= 300 * MS
    assert original.queue._popper.prefetch.demand == 0
    assert original.pop(1) == ["x"]


def test_an_empty_read_of_one_pop_does_not_end_the_wait_of_another(bench):
    async def one_waits_and_one_finds_nothing():
        waiting = bench.lab.runtime.spawn(bench.queue.pop(1, wait_ms=LONG_MS), name="pop")
        await bench.lab.runtime.sleep(20 * MS)
        assert await bench.queue.pop(1) == []
        await bench.another().push([Message(id="x")])
        return await waiting.join()

    assert ids(bench(one_waits_and_one_finds_nothing())) == ["x"]


def test_an_empty_read_of_the_original_resets_the_demand_of_all_its_pops(original):
    original.queue._popper.prefetch.demand = 5  # of others that wait
    assert original.pop(1) == []
    assert original.queue._popper.prefetch.demand == 0


def overtaken_by_its_own_object(bench):
    """What a pop of two of four messages gets when another pop of the same object comes before its first lease."""
    bench.push("u", "v", "w", "x")
    overtaking = []

    async def another_pop():
        overtaking.extend(ids(await queue.pop(2)))

    queue = bench.another(Interceptor(bench.direct, "ZADD", another_pop))
    return ids(bench(queue.pop(2))), overtaking


def test_two_pops_of_one_object_leave_each_others_candidates_alone(bench):
    assert overtaken_by_its_own_object(bench) == (["u", "v"], ["w", "x"])


def test_two_pops_of_one_object_of_the_original_take_each_others_candidates(original):
    """One of them gets nothing although two more messages are due."""
    assert overtaken_by_its_own_object(original) == ([], ["v", "u"])


def test_a_pop_on_an_empty_queue_waits_as_long_as_it_may(either):
    begin_ns = either.lab.runtime.now_ns()
    assert either.pop(1, wait_ms=250) == []
    assert either.lab.runtime.now_ns() - begin_ns >= 250 * MS


def test_a_pop_of_more_than_is_due_waits_for_the_rest_without_leases(bench):
    bench.push("u", "v")

    async def wait_for_a_third():
        pop = bench.lab.runtime.spawn(bench.queue.pop(3, wait_ms=LONG_MS), name="pop")
        await bench.lab.runtime.sleep(120 * MS)
        while_waiting = await content(bench.direct, bench.queue.keys)
        await bench.another().push([Message(id="w")])
        return while_waiting, await pop.join()

    while_waiting, deliveries = bench(wait_for_a_third())
    assert while_waiting.unacked == {}
    assert ids(deliveries) == ["u", "v", "w"]
    assert bench.queue.counters.misses == 0


def test_a_pop_of_more_than_is_due_takes_what_is_there_when_the_wait_is_over(bench):
    bench.push("u", "v")
    begin_ns = bench.lab.runtime.now_ns()
    assert bench.pop(3, wait_ms=200) == ["u", "v"]
    assert bench.lab.runtime.now_ns() - begin_ns >= 200 * MS


def test_the_original_reads_the_same_ids_again_and_counts_the_repetitions_as_misses(original):
    original.push("u", "v")
    begin_ns = original.lab.runtime.now_ns()
    assert original.pop(5, wait_ms=LONG_MS) == ["u", "v"]
    assert original.lab.runtime.now_ns() - begin_ns < LONG_MS * MS / 2
    assert original.queue.counters.misses == 3


def test_misses_are_replaced_within_the_call(bench):
    bench.push("u", "v", "w", "x", "y", "z")
    for blocked in "uvx":
        bench.lease_of(blocked)
    assert bench.pop(3) == ["w", "y", "z"]
    assert bench.queue.counters.misses == 3


def test_misses_of_the_original_shorten_the_batch(original):
    original.push("u", "v", "w")
    original.lease_of("u")
    assert original.pop(2) == ["v"]


def test_a_miss_for_want_of_the_payload_ends_up_as_a_lease_that_the_handler_removes(either):
    either.push("x")
    either.drop_payload("x")
    assert either.pop(1) == []
    assert either.states("x") == ["U:a"]
    either.clock.advance(LEASE_MS)
    assert either(either.queue.process_unacks()).stale == 1
    assert either.states("x") == [""]


def test_a_candidate_that_another_consumer_takes_first_leaves_its_lease_to_end_by_itself(either):
    """Taken and acknowledged between the range read and the lease; to remove the lease again could remove another's."""
    either.push("x")
    thief = Interceptor(either.direct, "ZADD", lambda: take_and_ack(either.another()))
    slow = either.another(thief)
    assert either(slow.pop(1)) == []
    assert (slow.counters.misses, either.content().state("x")) == (1, "U:a")


async def take_and_ack(queue):
    (delivery,) = await queue.pop(1)
    assert await queue.ack(delivery.message.id)


def test_a_waiting_pop_goes_on_when_others_take_all_that_was_due(bench):
    bench.push("x")
    slow = bench.another(Interceptor(bench.direct, "ZADD", lambda: take_and_ack(bench.another())))

    async def outrun_and_then_served():
        pop = bench.lab.runtime.spawn(slow.pop(1, wait_ms=LONG_MS), name="pop")
        while slow.counters.misses == 0:
            await bench.lab.runtime.sleep(MS)
        await bench.another().push([Message(id="y")])
        return await pop.join()

    assert ids(bench(outrun_and_then_served())) == ["y"]


def test_concurrent_pops_of_one_object_do_not_get_in_each_others_way(bench):
    wanted = [str(number) for number in range(60)]
    bench.push(*wanted)

    async def six_at_once():
        pops = [bench.lab.runtime.spawn(bench.queue.pop(10), name="pop") for _ in range(6)]
        return [ids(await pop.join()) for pop in pops]

    batches = bench(six_at_once())
    assert [len(batch) for batch in batches] == [10] * 6
    assert sorted(message_id for batch in batches for message_id in batch) == sorted(wanted)
    assert bench.queue.counters.misses == 0


def test_nothing_read_is_kept_so_a_postponed_message_is_not_delivered_early(bench):
    bench.push("u", "v")

    async def two_pops_and_a_postponement():
        await bench.queue.pop(1)
        assert await bench.queue.set_timeout("v", timeout_ms=5000)
        return await bench.queue.pop(2)

    assert bench(two_pops_and_a_postponement()) == []


def test_an_id_left_over_in_the_original_is_delivered_although_it_was_postponed(original):
    original.push("u", "v")
    original.queue._popper.prefetch.demand = 1  # left by another consumer's pop
    assert original.pop(1) == ["u"]
    assert original(original.queue.set_timeout("v", timeout_ms=5000))
    assert original.pop(1) == ["v"]


def test_ids_left_over_in_the_original_survive_clear_and_become_phantom_leases(original):
    original.push("u", "v")
    original.queue._popper.prefetch.demand = 1
    assert original.pop(1) == ["u"]
    original(original.queue.clear())
    assert original.pop(1) == []
    assert original.states("v") == ["U:a"]


def test_nothing_is_left_after_clear(bench):
    bench.push("u", "v")
    assert bench.pop(1) == ["u"]
    bench(bench.queue.clear())
    assert bench.pop(1) == []
    assert bench.content() == type(bench.content())()


class Ticking:
    """The clock goes on by a second at every command."""

    def __init__(self, inner, clock):
        self._inner, self._clock = inner, clock

    async def execute(self, *commands):
        self._clock.advance(1000)
        return await self._inner.execute(*commands)


def test_each_delivery_has_a_whole_lease_of_its_own_and_its_bounds(bench):
    bench.push("u", "v")
    slow = bench.another(Ticking(bench.direct, bench.clock))
    first, second = bench(slow.pop(2))
    for delivery, read_ms in ((first, EPOCH_MS + 1000), (second, EPOCH_MS + 4000)):
        assert (delivery.lease_start_ms, delivery.leased_ms) == (read_ms, read_ms + 2000)
        assert delivery.lease_end_ms == read_ms + LEASE_MS
    assert bench.content().unacked == {"a": {"u": first.lease_end_ms, "v": second.lease_end_ms}}


def test_in_the_original_one_lease_end_serves_the_whole_batch(original):
    original.push("u", "v")
    slow = original.another(Ticking(original.direct, original.clock))
    first, second = original(slow.pop(2))
    assert first.lease_end_ms == second.lease_end_ms == EPOCH_MS + 1000 + LEASE_MS
    assert (first.lease_start_ms, second.lease_start_ms) == (EPOCH_MS + 1000, EPOCH_MS + 4000)


def test_a_payload_that_is_no_message_is_an_error_and_its_lease_stays(either):
    either.push("x")
    either.store_payload("x", "nonsense")
    with pytest.raises(PayloadError, match="'x' is not a message"):
        either.pop(1)
    assert either.states("x") == ["H U:a"]


def test_an_unreadable_payload_does_not_cost_the_deliveries_before_it(bench):
    bench.push("u", "v")
    bench.store_payload("v", "nonsense")
    assert bench.pop(2) == ["u"]


def test_an_error_while_waiting_is_raised(either):
    class Gone:
        async def execute(self, *commands):
            raise Unavailable("no server")

    with pytest.raises(Unavailable):
        either(either.another(Gone()).pop(1, wait_ms=LONG_MS))
