"""The pops by id, from every shard and in bulk do what they say, and with compat have the original's defects.

Method: one simulated server and a clock that stands still; states are written as H (payload), Q:x (waits in shard x)
and U:x (leased in shard x).
"""

import pytest
from support.engine.dyno import EPOCH_MS, SHARDS, Interceptor
from support.engine.dyno_bench import LEASE_MS, Bench, X, assert_planted_bug_fails, consume, ids, messages

from engine.dyno import DynoQueue, LocalOnly
from engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS


def test_pop_with_id_delivers_the_message_that_is_asked_for(either):
    either.push(*messages("u", "v"), X)
    either.clock.advance(1)
    delivery = either(either.queue.pop_with_id("x"))
    assert (delivery.message.payload, delivery.shard) == ("p", "a")
    assert delivery.lease_end_ms == EPOCH_MS + 1 + LEASE_MS
    assert either.states("u", "x") == ["H Q:a", "H U:a"]
    assert either(either.queue.pop_with_id("x")) is None
    assert either.queue.counters.misses == 1


def test_pop_with_id_leaves_a_message_alone_that_is_not_due(bench):
    bench.push(*messages("x", timeout_ms=500))
    assert bench(bench.queue.pop_with_id("x")) is None
    assert bench.states("x") == ["H Q:a"]
    bench.clock.advance(500)
    assert bench(bench.queue.pop_with_id("x")).message.id == "x"


def test_pop_with_id_of_the_original_delivers_a_message_before_it_is_due(original):
    original.push(*messages("x", timeout_ms=500))
    assert original(original.queue.pop_with_id("x")).message.id == "x"


def test_pop_with_id_leases_nothing_that_has_no_payload_or_a_lease(either):
    either.push(*messages("u", "v"))
    either.drop_payload("u")
    either.lease_of("v")
    assert [either(either.queue.pop_with_id(name)) for name in "uv"] == [None, None]
    assert either.states("u", "v") == ["Q:a", "H Q:a U:a"]


def test_pop_with_id_serves_the_own_shard_and_the_unsafe_one_every_shard(either):
    either.push(*messages("x"), into="c")
    assert either(either.queue.pop_with_id("x")) is None
    delivery = either(either.queue.unsafe_pop_with_id_all_shards("x"))
    assert (delivery.message.id, delivery.shard) == ("x", "c")
    assert either.states("x") == ["H U:c"]


# Pops from every shard


def test_the_unsafe_pop_takes_from_every_shard_the_own_first(either):
    either.push(*messages("c1", timeout_ms=-9), into="c")
    either.push(*messages("b1", timeout_ms=-5), into="b")
    either.push(*messages("a1"))
    deliveries = either(either.queue.unsafe_pop_all_shards(5))
    assert [(delivery.message.id, delivery.shard) for delivery in deliveries] == [("a1", "a"), ("b1", "b"), ("c1", "c")]
    assert either.states("a1", "b1", "c1") == ["H U:a", "H U:b", "H U:c"]


def test_the_unsafe_pop_of_the_original_looks_again_after_an_empty_read(original):
    """Unlike its safe one."""

    async def consumer_first():
        pop = original.lab.runtime.spawn(original.queue.unsafe_pop_all_shards(1, wait_ms=30_000), name="pop")
        await original.lab.runtime.sleep(20_000_000)
        await original.another(strategy=LocalOnly("b")).push([X])
        original.clock.advance(1)
        return await pop.join()

    assert ids(original(consumer_first())) == ["x"]


def test_the_two_kinds_of_pop_of_one_object_do_not_take_each_others_candidates(bench):
    bench.push(*messages(*map(str, range(40))))

    async def four_at_once():
        queue = bench.queue
        pops = [queue.pop(10), queue.unsafe_pop_all_shards(10), queue.bulk_pop(10), queue.unsafe_bulk_pop(10)]
        tasks = [bench.lab.runtime.spawn(pop, name="pop") for pop in pops]
        return [ids(await task.join()) for task in tasks]

    batches = bench(four_at_once())
    assert [len(batch) for batch in batches] == [10] * 4
    assert len({message_id for batch in batches for message_id in batch}) == 40
    assert bench.queue.counters.misses == 0


# Bulk pops


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_leases_many_at_once(either, operation):
    either.push(X, *messages("u", "v", "w", payload="q"))
    either.clock.advance(1)
    deliveries = either(getattr(either.queue, operation)(3))
    assert ids(deliveries) == ["u", "v", "w"]
    assert [delivery.message.payload for delivery in deliveries] == ["q"] * 3
    lease_end = EPOCH_MS + 1 + LEASE_MS
    assert {(d.lease_start_ms, d.leased_ms, d.lease_end_ms) for d in deliveries} == {
        (EPOCH_MS + 1, EPOCH_MS + 1, lease_end)
    }
    assert either.content().unacked == {"a": dict.fromkeys("uvw", lease_end)}
    assert either.states("x") == ["H Q:a"]


def test_the_unsafe_bulk_pop_takes_from_every_shard(either):
    for shard in SHARDS:
        either.push(*messages(shard), into=shard)
    deliveries = either(either.queue.unsafe_bulk_pop(9))
    assert sorted((delivery.message.id, delivery.shard) for delivery in deliveries) == [(s, s) for s in SHARDS]
    assert either.states(*SHARDS) == [f"H U:{shard}" for shard in SHARDS]


def test_a_bulk_pop_passes_over_what_another_consumer_took(bench):
    bench.push(*messages("u", "v", "w"))
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: consume(bench.another(), "v")))
    assert ids(bench(slow.bulk_pop(3))) == ["u", "w"]
    assert bench.states("u", "v", "w") == ["H U:a", "", "H U:a"]


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_of_the_original_returns_nothing_if_one_id_is_gone_and_what_it_leased_stays_leased(
    original, operation
):
    original.push(*messages("u", "v", "w"))
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: consume(original.another(), "v")))
    assert original(getattr(slow, operation)(3)) == []
    assert original.states("u", "v", "w") == ["H U:a", "", "H Q:a"]


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_of_more_than_is_due_takes_what_there_is_when_the_wait_is_over(lab, operation):
    bench = Bench(lab, poll_interval_ms=1)
    bench.push(*messages("u", "v"))
    assert ids(bench(getattr(bench.queue, operation)(5, wait_ms=20))) == ["u", "v"]


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_of_the_original_of_more_than_is_due_returns_nothing_and_leases_all(original, operation):
    """It has read them twice while it waited, and the second time the script finds them gone."""
    original.push(*messages("u", "v"))
    assert original(getattr(original.queue, operation)(5, wait_ms=20)) == []
    assert original.states("u", "v") == ["H U:a", "H U:a"]


def test_a_bulk_pop_does_not_touch_what_is_leased_already(bench):
    bench.push(*messages("u", "v"))
    bench.lease_of("u")
    before = bench.content().unacked["a"]["u"]
    bench.clock.advance(5)
    assert ids(bench(bench.queue.bulk_pop(2))) == ["v"]
    assert bench.states("u") == ["H Q:a U:a"]
    assert bench.content().unacked["a"]["u"] == before
    assert bench.queue.counters.misses == 1


def test_a_bulk_pop_of_the_original_takes_an_existing_lease_for_its_own_and_does_not_renew_it(original):
    original.push(*messages("u"))
    original.lease_of("u")
    before = original.content().unacked["a"]["u"]
    original.clock.advance(5)
    (delivery,) = original(original.queue.bulk_pop(1))
    assert delivery.lease_end_ms == before + 5
    assert original.states("u") == ["H U:a"]
    assert original.content().unacked["a"]["u"] == before


def test_a_bulk_pop_compares_scores_as_numbers(lab):
    bench = Bench(lab, now_ms=999)
    bench.push(X)
    bench.clock.advance(1)
    assert ids(bench(bench.queue.bulk_pop(1))) == ["x"]


def test_a_bulk_pop_of_the_original_compares_scores_as_text(lab):
    """999.07 is greater than 1001 as text: it shows with a clock near zero only."""
    original = Bench(lab, now_ms=999, compat=True)
    original.push(X)
    original.clock.advance(1)
    assert original(original.queue.bulk_pop(1)) == []
    assert original.states("x") == ["H Q:a"]


def test_a_bulk_pop_replaces_misses_within_the_call(bench):
    bench.push(*messages(*"uvwxyz"))
    for name in "uvw":
        bench.lease_of(name)
    bench.drop_payload("x")
    assert ids(bench(bench.queue.bulk_pop(2))) == ["y", "z"]
    assert bench.queue.counters.misses == 4


def test_a_bulk_pop_leaves_a_message_alone_that_was_postponed_since_the_range_read(either):
    either.push(*messages("u"))

    async def postpone():
        assert await either.another().set_timeout("u", timeout_ms=500)

    slow = either.another(Interceptor(either.direct, "EVAL", postpone))
    assert either(slow.bulk_pop(1)) == []
    assert either.states("u") == ["H Q:a"]


def test_a_bulk_pop_leases_no_more_than_it_was_asked_for(bench):
    """In its second round there are more candidates than are missing."""
    bench.push(*messages(*"uvwxyz"))
    bench.lease_of("u")
    bench.lease_of("v")
    assert ids(bench(bench.queue.bulk_pop(2))) == ["w", "x"]
    assert bench.states("y", "z") == ["H Q:a", "H Q:a"]


def test_an_unsafe_pop_by_id_that_asks_the_own_shard_only_fails_a_test(lab, monkeypatch):
    monkeypatch.setattr(DynoQueue, "unsafe_pop_with_id_all_shards", DynoQueue.pop_with_id)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'message'"):
        test_pop_with_id_serves_the_own_shard_and_the_unsafe_one_every_shard(Bench(lab))


def the_original_pops_more_in_bulk_than_is_due(original):
    test_a_bulk_pop_of_the_original_of_more_than_is_due_returns_nothing_and_leases_all(original, "bulk_pop")


PLANTED = {
    "a bulk pop of the original respects a lease": (
        ORIGINAL_SCRIPTS,
        (
            "bulk_pop",
            "ARGV[3], id) then",
            "ARGV[3], id) == 1 then",
            test_a_bulk_pop_of_the_original_takes_an_existing_lease_for_its_own_and_does_not_renew_it,
        ),
    ),
    "a bulk pop of the original passes over what is gone": (
        ORIGINAL_SCRIPTS,
        (
            "bulk_pop",
            "if not known then return {tried} end",
            "",
            the_original_pops_more_in_bulk_than_is_due,
        ),
    ),
    "a bulk pop writes over leases": (
        SCRIPTS,
        ("bulk_pop", "'NX', lease_end", "lease_end", test_a_bulk_pop_does_not_touch_what_is_leased_already),
    ),
    "a bulk pop takes one too many": (
        SCRIPTS,
        (
            "bulk_pop",
            "#leased >= 3 * count",
            "#leased > 3 * count",
            test_a_bulk_pop_leases_no_more_than_it_was_asked_for,
        ),
    ),
    "a bulk pop compares text": (
        SCRIPTS,
        ("bulk_pop", "tonumber(score) > eligible", "score > ARGV[2]", test_a_bulk_pop_compares_scores_as_numbers),
    ),
    "a bulk pop of the original compares numbers": (
        ORIGINAL_SCRIPTS,
        (
            "bulk_pop",
            "score <= ARGV[2]",
            "tonumber(score) <= tonumber(ARGV[2])",
            test_a_bulk_pop_of_the_original_compares_scores_as_text,
        ),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_planted_in_a_script_fails_a_test(lab, monkeypatch, bug):
    assert_planted_bug_fails(lab, monkeypatch, *PLANTED[bug])
