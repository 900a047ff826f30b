"""What V1 has beyond push, pop and ack: pops by id, in bulk, by pattern and from every shard, searches, scripts.

Method: one simulated server and a clock that stands still; states are written as H (payload), Q:x (waits in shard x)
and U:x (leased in shard x). The conformance suite has each operation on three zones, test_differences the defects.
"""

from itertools import combinations

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_bench import LEASE_MS, DynoBench, X, ids, messages

from zonelab.engine.dyno import LocalOnly
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, Unavailable


def test_pop_with_id_leases_nothing_that_has_no_payload_or_a_lease(either):
    either.push("u", "v")
    either.drop_payload("u")
    either.lease_of("v")
    for pop in (either.queue.pop_with_id, either.queue.unsafe_pop_with_id_all_shards):
        assert [either(pop(name)) for name in "uv"] == [None, None]
    assert either.states("u", "v") == ["Q:a", "H Q:a U:a"]


def test_the_unsafe_pop_of_the_original_looks_again_after_an_empty_read(original):
    """Unlike its safe one."""

    async def push_elsewhere():
        await original.another(strategy=LocalOnly("b")).push([X])
        original.clock.advance(1)

    original.later(20, push_elsewhere)
    assert ids(original(original.queue.unsafe_pop_all_shards(1, wait_ms=30_000))) == ["x"]


def test_the_kinds_of_pop_of_one_object_do_not_take_each_others_candidates(bench):
    bench.push(*map(str, range(40)))

    async def four_at_once():
        queue = bench.queue
        pops = [queue.pop(10), queue.unsafe_pop_all_shards(10), queue.bulk_pop(10), queue.unsafe_bulk_pop(10)]
        tasks = [bench.lab.runtime.spawn(pop, name="pop") for pop in pops]
        return [ids(await task.join()) for task in tasks]

    batches = bench(four_at_once())
    assert [len(batch) for batch in batches] == [10] * 4
    assert len({message_id for batch in batches for message_id in batch}) == 40
    assert bench.queue.counters.misses == 0


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_replaces_misses_within_the_call_and_leases_no_more_than_it_was_asked_for(bench, operation):
    """In its second round there are more candidates than are missing."""
    bench.push(*"tuvwxyz")
    for name in "uvw":
        bench.lease_of(name)
    bench.drop_payload("x")
    deliveries = bench(getattr(bench.queue, operation)(2))
    assert [(d.message.id, d.shard, d.leased_ms, d.lease_end_ms) for d in deliveries] == [
        (name, "a", EPOCH_MS, EPOCH_MS + LEASE_MS) for name in "ty"
    ]
    assert bench.states("x", "z") == ["Q:a", "H Q:a"]
    assert bench.queue.counters.misses == 4


def test_a_bulk_pop_leaves_a_message_alone_that_was_postponed_since_the_range_read(either):
    either.push("u")

    async def postpone():
        assert await either.another().set_timeout("u", timeout_ms=500)

    slow = either.another(Interceptor(either.direct, "EVAL", postpone))
    assert either(slow.bulk_pop(1)) == []
    assert either.states("u") == ["H Q:a"]


def test_a_message_is_found_by_a_pattern_of_its_json(either):
    either.push(*map(str, range(300)), payload="plain")
    either.push(Message(id="x", payload="needle 42"), into="b")
    assert either(either.queue.get_msg_with_predicate('"needle %d+"')) == "x"
    assert either(either.queue.contains_predicate("needle")) is True
    assert either(either.queue.get_msg_with_predicate("haystack")) is None
    assert either(either.queue.contains_predicate("needle", own_shard_only=True)) is False


def test_a_pop_by_pattern_takes_the_first_due_match_of_all_shards(either):
    either.push(Message(id="late", payload="needle"), *messages("early", timeout_ms=-20))
    either.push(Message(id="x", payload="needle", timeout_ms=-10), into="c")
    either.push(Message(id="future", payload="needle", timeout_ms=500), into="b")
    found = [either(either.queue.pop_msg_with_predicate("needle", own_shard_only=own)) for own in (False, True, False)]
    assert [(d.message.id, d.shard, d.lease_end_ms) for d in found[:2]] == [
        ("x", "c", EPOCH_MS + LEASE_MS),
        ("late", "a", EPOCH_MS + LEASE_MS),
    ]
    assert found[2] is None
    assert either.states("x", "late", "early", "future") == ["H U:c", "H U:a", "H Q:a", "H Q:b"]


def test_a_pop_by_pattern_looks_beyond_its_first_page_and_passes_over_what_has_no_payload(either):
    either.push(*map(str, range(250)), timeout_ms=-5)
    either.push(Message(id="x", payload="needle"))
    either.drop_payload("7")
    assert either(either.queue.pop_msg_with_predicate("needle")).message.id == "x"


def test_stale_messages_are_due_and_have_no_payload_and_no_lease(either):
    either.push("u", "v", "y")
    either.push("w", timeout_ms=500)
    either.push("x", into="c")
    for name in "uwxy":
        either.drop_payload(name)
    either.lease_of("y")
    assert either.outcome(either.queue.find_stale_messages()) == ["u", "x"]
    assert either.states("u", "x") == ["Q:a", "Q:c"]


def test_only_the_first_ten_due_ids_of_a_shard_are_looked_at(either):
    either.push(*map(str, range(10)), timeout_ms=-1)
    either.push("x")
    either.drop_payload("x")
    assert either(either.queue.find_stale_messages()) == []


PLACES = [("H",), *((kind, shard) for kind in "QU" for shard in "ac")]
ALL_PLACES = [places for count in range(len(PLACES) + 1) for places in combinations(PLACES, count)]


@pytest.mark.parametrize("operation", ["remove", "atomic_remove"])
def test_a_message_is_removed_wherever_a_part_of_it_is(bench, operation):
    keys = bench.queue.keys
    for number, places in enumerate(ALL_PLACES):
        name = f"m{number}"
        for kind, *shard in places:
            if kind == "H":
                bench.redis("HSET", keys.messages, name, "{}")
            else:
                bench.redis("ZADD", (keys.queue_of if kind == "Q" else keys.unack)(*shard), EPOCH_MS, name)
        assert bench(getattr(bench.queue, operation)(name)) is bool(places), places
        assert bench.states(name) == [""]


class Failing:
    """Ends with an error at the ``last`` command, which is not carried out."""

    def __init__(self, inner, last):
        self._inner, self._left = inner, last

    async def execute(self, *commands):
        self._left -= 1
        if not self._left:
            raise Unavailable("gone")
        return await self._inner.execute(*commands)


@pytest.mark.parametrize("place", PLACES, ids="".join)
def test_a_remove_that_fails_is_certain_only_if_it_has_removed_nothing(bench, place):
    """One command for the leased and one for the waiting of each shard, then one for the payload."""
    keys, [kind, *shard] = bench.queue.keys, place
    at = {("U", "a"): 1, ("Q", "a"): 2, ("U", "c"): 5, ("Q", "c"): 6, ("H",): 7}[place]
    for last in range(1, 8):
        name = f"m{last}"
        if kind == "H":
            bench.redis("HSET", keys.messages, name, "{}")
        else:
            bench.redis("ZADD", (keys.queue_of if kind == "Q" else keys.unack)(*shard), EPOCH_MS, name)
        with pytest.raises(Unavailable if last <= at else Indeterminate, match="gone"):
            bench(bench.another(Failing(bench.direct, last)).remove(name))
        assert (bench.states(name) == [""]) is (last > at)


@pytest.mark.parametrize("single_ring", [False, True])
def test_the_handler_uses_the_script_if_there_is_a_single_ring(lab, single_ring):
    bench, scripts = DynoBench(lab, unack_interval_ms=5, single_ring=single_ring), []

    async def note():
        scripts.append("EVAL")

    bench.lease("x")
    bench.clock.advance(LEASE_MS)
    queue = bench.another(Interceptor(bench.direct, "EVAL", note))

    async def wait_for_redelivery():
        async with queue:
            return await queue.pop(1, wait_ms=30_000)

    assert ids(bench(wait_for_redelivery())) == ["x"]
    assert scripts == ["EVAL"] * single_ring


class Unsure:
    """Nobody knows what became of a script."""

    async def execute(self, *commands):
        raise Indeterminate("no quorum")


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ("get_msg_with_predicate", Unavailable),  # reads only: certainly not applied
        ("contains_predicate", Unavailable),
        ("atomic_remove", Indeterminate),
        ("pop_msg_with_predicate", Indeterminate),
    ],
)
def test_of_a_script_that_writes_nobody_knows_whether_it_was_applied(bench, operation, error):
    with pytest.raises(error, match="no quorum"):
        bench(getattr(bench.another(Unsure()), operation)("p"))
