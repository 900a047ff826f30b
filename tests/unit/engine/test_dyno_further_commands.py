"""The operations beyond push, pop and ack send the commands of the original, in its order, on its connection.

Method: as in ``test_dyno_command_sequences``, whose notation this module uses: Q and N for the connections, H, Q:x and
U:x for the keys. The queue has the shards b and a, in that order, and serves a. A script is written as its name.
"""

import pytest
from support.dyno_commands import DEPTH, LEASE_END, NOW, CommandBench

pytestmark = pytest.mark.real

EVERY_KEY = ("H", "Q:b", "U:b", "Q:a", "U:a")
OWN_KEYS = ("H", "Q:a", "U:a")


@pytest.fixture
def make_bench():
    return CommandBench


def pop_by_id(shard):
    return [
        ("Q", "HGET", "H", "x"),
        ("Q", "ZADD", f"U:{shard}", "NX", LEASE_END, "x"),
        ("Q", "ZREM", f"Q:{shard}", "x"),
    ]


def test_pop_with_id_asks_whether_it_is_due_and_reads_the_payload_before_it_leases(bench):
    bench.push()
    assert bench.commands(bench.queue.pop_with_id("x")) == [("N", "ZSCORE", "Q:a", "x"), *pop_by_id("a")]
    assert bench.commands(bench.queue.pop_with_id("x")) == [("N", "ZSCORE", "Q:a", "x")]


def test_pop_with_id_of_the_original_asks_only_whether_it_is_there(original):
    original.push()
    assert original.commands(original.queue.pop_with_id("x")) == [("N", "ZRANK", "Q:a", "x"), *pop_by_id("a")]


def test_the_unsafe_pop_by_id_asks_shard_by_shard_in_the_order_of_the_settings(bench):
    bench.push()
    assert bench.commands(bench.queue.unsafe_pop_with_id_all_shards("x")) == [
        ("N", "ZSCORE", "Q:b", "x"),
        ("N", "ZSCORE", "Q:a", "x"),
        *pop_by_id("a"),
    ]


def test_the_unsafe_pop_by_id_of_the_original_asks_in_the_same_order(original):
    original.push()
    assert original.commands(original.queue.unsafe_pop_with_id_all_shards("x")) == [
        ("N", "ZRANK", "Q:b", "x"),
        ("N", "ZRANK", "Q:a", "x"),
        *pop_by_id("a"),
    ]


def test_the_unsafe_pop_reads_the_own_shard_first_and_the_others_for_what_is_missing(either):
    either.push()
    assert either.commands(either.queue.unsafe_pop_all_shards(2)) == [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 2),
        ("N", "ZRANGEBYSCORE", "Q:b", 0, NOW + 1, "LIMIT", 0, 1),
        ("Q", "ZADD", "U:a", "NX", LEASE_END, "x"),
        ("Q", "ZREM", "Q:a", "x"),
        ("Q", "HGET", "H", "x"),
        *([] if either.compat else fixed_looks_again(2)),
    ]


def fixed_looks_again(count):
    """Nothing missed, so the rest of the count is looked for once more, in case something fell due."""
    limit = count  # one is missing, one is claimed
    return [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, limit),
        ("N", "ZRANGEBYSCORE", "Q:b", 0, NOW + 1, "LIMIT", 0, limit - 1),
    ]


def test_the_bulk_pop_is_a_range_read_and_one_script(either):
    either.push()
    assert either.commands(either.queue.bulk_pop(1)) == [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 1),
        ("Q", "EVAL", "bulk_pop", 3, *OWN_KEYS, 1, NOW + 1, LEASE_END, *([] if either.compat else [1]), "x"),
    ]


def test_the_bulk_pop_of_nothing_is_a_script_in_the_original_only(bench, original):
    read = ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 4)
    assert bench.commands(bench.queue.bulk_pop(4)) == [read]
    assert original.commands(original.queue.bulk_pop(4)) == [
        read,
        ("Q", "EVAL", "bulk_pop", 3, *OWN_KEYS, 4, NOW + 1, LEASE_END),
    ]


def test_the_unsafe_bulk_pop_of_the_original_hands_the_script_every_shard(original):
    original.push()
    assert original.commands(original.queue.unsafe_bulk_pop(1)) == [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 1),
        ("Q", "EVAL", "bulk_pop", 5, *EVERY_KEY, 1, NOW + 1, LEASE_END, "x"),
    ]


def test_the_unsafe_bulk_pop_hands_the_script_the_shards_of_the_candidates(bench):
    bench.push()
    assert bench.commands(bench.queue.unsafe_bulk_pop(1)) == [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 1),
        ("Q", "EVAL", "bulk_pop", 3, *OWN_KEYS, 1, NOW + 1, LEASE_END, 1, "x"),
    ]


def test_the_unsafe_peek_reads_the_head_of_every_shard_with_scores(bench):
    bench.push()
    assert bench.commands(bench.queue.unsafe_peek_all_shards(2)) == [
        ("N", "ZRANGEBYSCORE", "Q:b", 0, NOW + 1, "WITHSCORES", "LIMIT", 0, 2),
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "WITHSCORES", "LIMIT", 0, 2),
        ("N", "HGET", "H", "x"),
    ]


def test_the_unsafe_peek_of_the_original_reads_one_more_shard_although_it_has_enough(original):
    original.push()
    assert original.commands(original.queue.unsafe_peek_all_shards(1)) == [
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 1),
        ("N", "ZRANGEBYSCORE", "Q:b", 0, NOW + 1, "LIMIT", 0, 1),
        ("N", "HGET", "H", "x"),
    ]


@pytest.mark.parametrize(
    "operation", ["bulk_pop", "unsafe_bulk_pop", "unsafe_pop_all_shards", "unsafe_peek_all_shards"]
)
@pytest.mark.parametrize("count", [0, -1])
def test_of_none_nothing_is_sent(either, operation, count):
    assert either.commands(getattr(either.queue, operation)(count)) == []


def test_what_only_looks_looks_at_the_local_replica(either):
    assert either.commands(either.queue.local_get("x")) == [("N", "HGET", "H", "x")]
    assert either.commands(either.queue.get_all_messages()) == [("N", "HGETALL", "H")]


def test_a_search_by_pattern_is_a_script_on_the_local_connection(either):
    anywhere = ("N", "EVAL", "find_by_pattern", 1, "H", "p+")
    here = ("N", "EVAL", "find_by_pattern", 2, "H", "Q:a", "p+")
    assert either.commands(either.queue.get_msg_with_predicate("p+")) == [anywhere]
    assert either.commands(either.queue.get_msg_with_predicate("p+", own_shard_only=True)) == [here]
    assert either.commands(either.queue.contains_predicate("p+")) == [anywhere]
    assert either.commands(either.queue.contains_predicate("p+", own_shard_only=True)) == [here]


def test_a_pop_by_pattern_is_a_script_on_the_quorum_connection(either):
    tail = ("p+", NOW + 1, LEASE_END)
    assert either.commands(either.queue.pop_msg_with_predicate("p+")) == [
        ("Q", "EVAL", "pop_by_pattern", 5, *EVERY_KEY, *tail)
    ]
    assert either.commands(either.queue.pop_msg_with_predicate("p+", own_shard_only=True)) == [
        ("Q", "EVAL", "pop_by_pattern", 3, *OWN_KEYS, *tail)
    ]


def test_the_atomic_remove_is_one_script_over_every_shard(either):
    assert either.commands(either.queue.atomic_remove("x")) == [("Q", "EVAL", "atomic_remove", 5, *EVERY_KEY, "x")]


def test_stale_messages_are_looked_for_among_the_first_ten_due_of_every_shard(either):
    either.push()
    either.clock.advance(1)
    assert either.commands(either.queue.find_stale_messages()) == [
        ("N", "ZRANGEBYSCORE", "Q:b", 0, NOW + 1, "LIMIT", 0, 10),
        ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0, 10),
        ("Q", "EVAL", "find_stale", 3, *OWN_KEYS, "x"),
    ]


def test_the_atomic_requeue_is_a_range_read_and_one_script(bench, original):
    for each, arguments in ((bench, (LEASE_END, "x")), (original, (LEASE_END, "x", str(LEASE_END).encode()))):
        each.lease()
        each.clock.advance(60_000)
        expired = ("N", "ZRANGEBYSCORE", "U:a", 0, LEASE_END, "WITHSCORES", "LIMIT", 0, 1000)
        script = ("Q", "EVAL", "process_unacks", 3, *OWN_KEYS, *arguments)
        assert each.commands(each.queue.atomic_process_unacks()) == [*DEPTH, expired, script]
        assert each.commands(each.queue.atomic_process_unacks()) == [*DEPTH, expired]
