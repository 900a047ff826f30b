"""The atomic removal and the atomic requeue do what they say, and with compat have the original's defects.

Method: one simulated server and a clock that stands still; states are written as H (payload), Q:x (waits in shard x)
and U:x (leased in shard x).
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_bench import LEASE_MS, Bench, X, assert_planted_bug_fails, ids, messages

from engine.dyno import RoundRobin, UnackResult
from engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from engine.message import Message


@pytest.mark.parametrize("prepare", ["waiting", "leased", "orphaned", "without payload"])
def test_atomic_remove_removes_a_message_whatever_its_state(either, prepare):
    either.push(X)
    either.clock.advance(1)
    if prepare == "leased":
        assert len(either(either.queue.pop(1))) == 1
    elif prepare == "orphaned":
        either.redis("DEL", either.queue.keys.queue_of("a"))
    elif prepare == "without payload":
        either.drop_payload("x")
    assert either(either.queue.atomic_remove("x")) is True
    assert either.states("x") == [""]
    assert either(either.queue.atomic_remove("x")) is False


def test_atomic_remove_of_a_doubled_id_without_payload_says_true(lab):
    bench = Bench(lab, strategy=RoundRobin())
    bench(bench.queue.push([X, X]))
    bench.drop_payload("x")
    assert bench(bench.queue.atomic_remove("x")) is True
    assert bench.states("x") == [""]


def test_atomic_remove_of_the_original_denies_a_doubled_id_without_payload(lab):
    original = Bench(lab, strategy=RoundRobin(), compat=True)
    original(original.queue.push([X, X]))
    original.drop_payload("x")
    assert original(original.queue.atomic_remove("x")) is False
    assert original.states("x") == [""]


def test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority(bench):
    bench.push(X, *messages("u"), Message(id="tricky", payload='"priority":9', priority=3))
    bench.clock.advance(1)
    assert len(bench(bench.queue.pop(3))) == 3
    bench.drop_payload("u")
    bench.clock.advance(LEASE_MS)
    assert bench(bench.queue.atomic_process_unacks()) == UnackResult(requeued=2, stale=1, queue_depth=0)
    end = EPOCH_MS + 1 + LEASE_MS
    assert bench.content().waiting == {"a": {"tricky": end + 0.03, "x": end + 0.07}}
    assert bench.content().unacked == {}
    counters = bench.queue.counters
    assert (counters.requeued, counters.stale) == (2, 1)


def test_the_atomic_requeue_of_the_original_loses_the_priority(original):
    original.push(X, *messages("u"))
    original.clock.advance(1)
    assert len(original(original.queue.pop(2))) == 2
    original.drop_payload("u")
    original.clock.advance(LEASE_MS)
    assert original(original.queue.atomic_process_unacks()) == UnackResult(requeued=1, stale=1, queue_depth=0)
    assert original.content().waiting == {"a": {"x": EPOCH_MS + 1 + LEASE_MS}}


def test_the_atomic_requeue_goes_on_until_nothing_is_expired_and_the_original_after_a_batch_does_not(lab):
    for compat, rounds in ((False, [25, 0]), (True, [10, 10, 5, 0])):
        bench = Bench(lab, compat=compat, unack_batch=10)
        bench.push(*messages(*map(str, range(25))))
        assert len(bench(bench.queue.pop(25))) == 25
        bench.clock.advance(LEASE_MS)
        assert [bench(bench.queue.atomic_process_unacks()).requeued for _ in rounds] == rounds


def leased_and_expired(bench):
    bench.push(*messages("x"))
    assert len(bench(bench.queue.pop(1))) == 1
    bench.clock.advance(LEASE_MS)


async def extend(bench):
    assert await bench.another().set_unack_timeout("x", timeout_ms=5000)


def test_the_atomic_requeue_leaves_a_lease_alone_that_was_extended_since_it_was_read(bench):
    leased_and_expired(bench)
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: extend(bench)))
    assert bench(slow.atomic_process_unacks()).requeued == 0
    assert bench.states("x") == ["H U:a"]


def test_the_atomic_requeue_of_the_original_ends_a_lease_that_was_extended_since_it_was_read(original):
    leased_and_expired(original)
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: extend(original)))
    assert original(slow.atomic_process_unacks()).requeued == 1
    assert original.states("x") == ["H Q:a"]


async def requeue_and_pop(bench):
    assert (await bench.another().process_unacks()).requeued == 1
    assert len(await bench.another().pop(1)) == 1


def test_two_atomic_handlers_of_a_shard_do_not_end_the_lease_of_the_next_consumer(bench):
    leased_and_expired(bench)
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: requeue_and_pop(bench)))
    bench(slow.atomic_process_unacks())
    assert bench.states("x") == ["H U:a"]


def test_two_atomic_handlers_of_the_original_do(original):
    leased_and_expired(original)
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: requeue_and_pop(original)))
    original(slow.atomic_process_unacks())
    assert original.states("x") == ["H Q:a"]


@pytest.mark.parametrize("single_ring", [False, True])
def test_the_handler_uses_the_script_if_there_is_a_single_ring(lab, single_ring):
    seen = []

    class Noting:
        async def execute(self, *commands):
            seen.extend(command[0] for command in commands)
            return await lab.direct("a").execute(*commands)

    bench = Bench(lab, unack_interval_ms=5, single_ring=single_ring)
    leased_and_expired(bench)
    queue = bench.another(Noting())

    async def wait_for_redelivery():
        async with queue:
            return await queue.pop(1, wait_ms=30_000)

    assert ids(bench(wait_for_redelivery())) == ["x"]
    assert ("EVAL" in seen) is single_ring


PLANTED = {
    "an atomic requeue drops the priority": (
        SCRIPTS,
        (
            "process_unacks",
            "+ priority / 100",
            "",
            test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority,
        ),
    ),
    "an atomic requeue leaves the lease": (
        SCRIPTS,
        (
            "process_unacks",
            "redis.call('ZREM', KEYS[3], id)",
            "",
            test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority,
        ),
    ),
    "a priority in the payload is taken for the message's": (
        SCRIPTS,
        (
            "process_unacks",
            "'\"priority\":(%d+)'",
            "'priority%p+(%d+)'",
            test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority,
        ),
    ),
    "an atomic remove of the original tells the truth": (
        ORIGINAL_SCRIPTS,
        (
            "atomic_remove",
            "return leased",
            "return 1",
            test_atomic_remove_of_the_original_denies_a_doubled_id_without_payload,
        ),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_planted_in_a_script_fails_a_test(lab, monkeypatch, bug):
    assert_planted_bug_fails(lab, monkeypatch, *PLANTED[bug])
