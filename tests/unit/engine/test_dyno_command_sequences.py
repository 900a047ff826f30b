"""Every operation sends the commands of the original, in its order, on its connection, one a round trip.

Method: the commands are recorded on their way to a real server. Q is the quorum connection, N the local one; keys are
written H (payloads), Q:x and U:x (waiting and leased in shard x). The queue has the shards b and a, in that order, and
serves a, where everything is pushed.
"""

import pytest
from support.dyno_commands import DEPTH, LEASE_END, NOW, CommandBench, X

from engine.message import Message

pytestmark = pytest.mark.real

Y = Message(id="y", timeout_ms=500, shard="s")
JSON = b'{"id":"x","payload":"p","timeout":0,"priority":3}'
RANGE = ("N", "ZRANGEBYSCORE", "Q:a", 0, NOW + 1, "LIMIT", 0)


@pytest.fixture
def make_bench():
    return CommandBench


def test_push_writes_the_payload_and_then_the_id_message_by_message(either):
    assert either.commands(either.queue.push([Y, X])) == [
        ("Q", "HSET", "H", "y", b'{"id":"y","timeout":500,"priority":0,"shard":"s"}'),
        ("Q", "ZADD", "Q:a", NOW + 500.0, "y"),
        ("Q", "HSET", "H", "x", JSON),
        ("Q", "ZADD", "Q:a", NOW + 0.03, "x"),
    ]


def test_push_of_nothing_sends_nothing(either):
    assert either.commands(either.queue.push([])) == []


def test_pop_leases_before_it_takes_and_takes_before_it_reads(either):
    either.push()
    assert either.commands(either.queue.pop(1)) == [
        (*RANGE, 1),
        ("Q", "ZADD", "U:a", "NX", LEASE_END, "x"),
        ("Q", "ZREM", "Q:a", "x"),
        ("Q", "HGET", "H", "x"),
    ]


def test_pop_of_an_empty_queue_is_one_range_read(either):
    assert either.commands(either.queue.pop(5)) == [(*RANGE, 5)]


@pytest.mark.parametrize("count", [0, -1])
def test_pop_and_peek_of_none_send_nothing(either, count):
    assert either.commands(either.queue.pop(count)) == []
    assert either.commands(either.queue.peek(count)) == []


def test_peek_reads_locally_one_by_one(either):
    either.push()
    assert either.commands(either.queue.peek(4)) == [(*RANGE, 4), ("N", "HGET", "H", "x")]


def test_ack_searches_the_shards_and_deletes_the_payload_last(either):
    either.lease()
    assert either.commands(either.queue.ack("x")) == [
        ("Q", "ZREM", "U:b", "x"),
        ("Q", "ZREM", "U:a", "x"),
        ("Q", "HDEL", "H", "x"),
    ]
    assert either.commands(either.queue.ack("x")) == [("Q", "ZREM", "U:b", "x"), ("Q", "ZREM", "U:a", "x")]


def test_get_is_a_quorum_read(either):
    assert either.commands(either.queue.get("x")) == [("Q", "HGET", "H", "x")]


def test_set_unack_timeout_looks_before_it_writes(either):
    either.lease()
    assert either.commands(either.queue.set_unack_timeout("x", timeout_ms=70)) == [
        ("Q", "ZSCORE", "U:b", "x"),
        ("Q", "ZSCORE", "U:a", "x"),
        ("Q", "ZADD", "U:a", NOW + 70, "x"),
    ]


def test_set_timeout_reads_the_payload_locally_and_writes_score_and_payload(either):
    either.push()
    assert either.commands(either.queue.set_timeout("x", timeout_ms=70)) == [
        ("N", "HGET", "H", "x"),
        ("Q", "ZSCORE", "Q:b", "x"),
        ("Q", "ZSCORE", "Q:a", "x"),
        ("Q", "ZADD", "Q:a", "XX", NOW + 70.0 if either.compat else NOW + 70.03, "x"),
        ("Q", "HSET", "H", "x", JSON.replace(b'"timeout":0', b'"timeout":70')),
    ]


def test_set_timeout_of_an_unknown_id_is_one_local_read(either):
    assert either.commands(either.queue.set_timeout("x", timeout_ms=70)) == [("N", "HGET", "H", "x")]


def test_remove_goes_through_every_shard_and_deletes_the_payload(bench):
    bench.push()
    assert bench.commands(bench.queue.remove("x")) == [
        ("Q", "ZREM", "U:b", "x"),
        ("Q", "ZREM", "Q:b", "x"),
        ("Q", "ZREM", "U:a", "x"),
        ("Q", "ZREM", "Q:a", "x"),
        ("Q", "HDEL", "H", "x"),
    ]


def test_remove_of_the_original_deletes_the_payload_of_a_waiting_message_only(original):
    searched = [
        ("Q", "ZREM", "U:b", "x"),
        ("Q", "ZREM", "Q:b", "x"),
        ("Q", "ZREM", "U:a", "x"),
        ("Q", "ZREM", "Q:a", "x"),
    ]
    original.push()
    assert original.commands(original.queue.remove("x")) == [*searched, ("Q", "HDEL", "H", "x")]
    original.lease()
    assert original.commands(original.queue.remove("x")) == searched


def test_ensure_reads_every_shard_and_then_pushes(either):
    assert either.commands(either.queue.ensure(X)) == [
        ("Q", "ZSCORE", "Q:b", "x"),
        ("Q", "ZSCORE", "U:b", "x"),
        ("Q", "ZSCORE", "Q:a", "x"),
        ("Q", "ZSCORE", "U:a", "x"),
        ("Q", "HSET", "H", "x", JSON),
        ("Q", "ZADD", "Q:a", NOW + 0.03, "x"),
    ]
    assert either.commands(either.queue.ensure(X)) == [
        ("Q", "ZSCORE", "Q:b", "x"),
        ("Q", "ZSCORE", "U:b", "x"),
        ("Q", "ZSCORE", "Q:a", "x"),
    ]


def test_sizes_are_local_reads(either):
    assert either.commands(either.queue.size()) == DEPTH
    assert either.commands(either.queue.shard_sizes()) == [
        ("N", "ZCARD", "Q:b"),
        ("N", "ZCARD", "U:b"),
        ("N", "ZCARD", "Q:a"),
        ("N", "ZCARD", "U:a"),
    ]


def test_clear_deletes_the_sets_and_the_payloads_last(either):
    assert either.commands(either.queue.clear()) == [
        ("Q", "DEL", "Q:b"),
        ("Q", "DEL", "U:b"),
        ("Q", "DEL", "Q:a"),
        ("Q", "DEL", "U:a"),
        ("Q", "DEL", "H"),
    ]


def test_process_unacks_lists_the_message_again_before_it_ends_the_lease(either):
    either.lease()
    either.clock.advance(60_000)
    score = str(LEASE_END).encode() if either.compat else LEASE_END + 0.03
    assert either.commands(either.queue.process_unacks()) == [
        *DEPTH,
        ("N", "ZRANGEBYSCORE", "U:a", 0, LEASE_END, "WITHSCORES", "LIMIT", 0, 1000),
        ("Q", "HGET", "H", "x"),
        ("Q", "ZADD", "Q:a", score, "x"),
        ("Q", "ZREM", "U:a", "x"),
    ]


def test_process_unacks_removes_a_lease_without_payload(either):
    either.lease()
    either.lab.run(either.lab.direct("a").execute(("HDEL", either.queue.keys.messages, "x")))
    either.clock.advance(60_000)
    assert either.commands(either.queue.process_unacks()) == [
        *DEPTH,
        ("N", "ZRANGEBYSCORE", "U:a", 0, LEASE_END, "WITHSCORES", "LIMIT", 0, 1000),
        ("Q", "HGET", "H", "x"),
        ("Q", "ZREM", "U:a", "x"),
    ]
