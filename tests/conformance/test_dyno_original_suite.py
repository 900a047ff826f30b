"""The expectations of dyno-queues' own test suite, which V1 and V2 share, hold on a plain server and on three zones,
real and simulated.

Method: the cases of ``RedisDynoQueueTest`` (of V1 and of V2), ``BaseQueueTests``, ``DefaultShardingStrategyTest``,
``CustomShardingStrategyTest`` and ``TestMessage`` of https://github.com/Netflix/dyno-queues, with what they say about a
real Redis (the original's mock of it orders and overwrites differently). Where they sleep, the clock is set instead.
"""

from enum import StrEnum

import pytest
from support.engine.dyno_v2 import make_pipelined, shard_content

from zonelab.engine.dyno import DynoQueue, IdHash, RoundRobin
from zonelab.engine.dyno.hosts import DynoHost, SingleShard
from zonelab.engine.dyno.v2.builder import ShardCluster, build_queue
from zonelab.engine.message import Message

LEASE_MS = 1000
WAIT_MS = 1000
MS = 1_000_000


class Made(StrEnum):
    """How a test of the original makes its queue."""

    V1 = "v1"
    PIPELINED = "pipelined"
    BUILT = "built"


@pytest.fixture(params=Made)
def made(request):
    return request.param


@pytest.fixture
def queue(made, target):
    """One shard, a lease of a second, and a handler that the test runs."""
    if made is Made.V1:
        return v1_queue(target)
    if made is Made.PIPELINED:
        return make_pipelined(
            target.quorum("a"),
            local=target.local("a"),
            runtime=target.lab.runtime,
            clock=target.clock,
            name=target.name,
            shard="a",
            unack_ms=LEASE_MS,
            unack_interval_ms=LEASE_MS,
            compat=target.compat,
        )
    return build_queue(
        queue_name=target.name,
        redis_key_prefix="test",
        unack_ms=LEASE_MS,
        servers=ShardCluster(
            hosts=lambda: [DynoHost(name="localhost", rack="us-east-1a")],
            quorum=target.quorum("a"),
            non_quorum=target.local("a"),
        ),
        runtime=target.lab.runtime,
        clock=target.clock,
        shard_supplier=SingleShard("a"),
        compat=target.compat,
    )


def v1_queue(target):
    return target.queue(shards=("a",), unack_ms=LEASE_MS, unack_interval_ms=1_000_000)


@pytest.fixture
def pop(target, queue):
    return lambda count, wait_ms=WAIT_MS: [
        delivery.message for delivery in target.run(queue.pop(count, wait_ms=wait_ms))
    ]


def payloads(target, queue, *, count):
    """Those that the server holds, once it has so many: the last zone carries out a write after its quorum has."""

    def held():
        if isinstance(queue, DynoQueue):
            return target.content(queue).payloads
        return target.run(shard_content(target.lab.direct("a"), queue.keys)).payloads

    return target.eventually(held, lambda found: len(found) == count)


def test_get_name(queue, target):
    assert queue.name == target.name


def test_get_unack_time(queue):
    assert queue.settings.unack_ms == 1000


def test_timeout_update(target, queue, pop):
    run, clock = target.run, target.clock
    message = Message(id="1", payload="Hello World", timeout_ms=100)
    run(queue.push([message]))
    assert pop(1, wait_ms=10) == []
    clock.advance(500)
    assert pop(1) == [message]
    assert run(queue.set_unack_timeout("1", timeout_ms=500)) is True
    assert pop(1, wait_ms=10) == []
    clock.advance(1000)
    run(queue.process_unacks())
    assert pop(1) == [message]
    assert run(queue.set_unack_timeout("1", timeout_ms=10_000)) is True
    run(queue.process_unacks())
    assert pop(1, wait_ms=10) == []
    assert run(queue.set_unack_timeout("1", timeout_ms=0)) is True
    run(queue.process_unacks())
    assert pop(1) == [message]
    assert run(queue.ack("1")) is True
    size = run(queue.shard_sizes())["a"]
    assert size.waiting + size.unacked == 0
    assert pop(1, wait_ms=10) == []


def test_concurrency(target, queue, made):
    count = 100 if made is not Made.V1 else 10_000 if target.level is None else 1_000
    runtime = target.lab.runtime
    received = []

    async def publish(first):
        priorities = runtime.random("priorities")
        for batch in range(first, count, 30):
            ids = range(batch, min(batch + 10, count))
            await queue.push([Message(id=str(number), priority=priorities.randrange(98)) for number in ids])

    async def consume():
        while len(received) < count:
            received.extend(await queue.pop(100, wait_ms=1))
            await runtime.sleep(10 * MS)

    async def publish_and_consume():
        tasks = [runtime.spawn(publish(first), name="publisher") for first in (0, 10, 20)]
        tasks += [runtime.spawn(consume(), name="consumer") for _ in range(2)]
        for task in tasks:
            await task.join()
        begin_ns = runtime.now_ns()
        return await queue.pop(1, wait_ms=WAIT_MS), runtime.now_ns() - begin_ns

    rest, waited_ns = target.run(publish_and_consume())
    assert len(received) == count
    assert len({delivery.message.id for delivery in received}) == count
    assert rest == []
    assert waited_ns >= WAIT_MS * MS


DELAYS_MS = {Made.V1: (20_000, 1), Made.PIPELINED: (10_000, 0), Made.BUILT: (10_000, 0)}
"""What a message is pushed with, and what it gets then."""


def test_set_timeout(target, queue, pop, made):
    timeout_ms, soon_ms = DELAYS_MS[made]
    target.run(queue.push([Message(id="x001yx", payload="Hello World", priority=3, timeout_ms=timeout_ms)]))
    assert pop(1, wait_ms=10) == []
    assert target.run(queue.set_timeout("x001yx", timeout_ms=soon_ms)) is True
    target.clock.advance(soon_ms)
    (message,) = pop(2, wait_ms=50)
    assert (message.id, message.timeout_ms, message.priority) == ("x001yx", soon_ms, 3)
    assert target.run(queue.set_timeout("x001yx", timeout_ms=soon_ms)) is False


def test_all(target, queue, pop, made):
    run = target.run
    messages = [Message(id=str(number), payload=f"Hello World-{number}", priority=10 - number) for number in range(10)]
    run(queue.push(messages))
    peeked = run(queue.peek(10))
    assert [message.priority for message in peeked] == list(range(1, 11))
    assert run(queue.size()) == 10
    assert run(queue.peek(10)) == peeked
    assert pop(10) == peeked

    target.clock.advance(2 * LEASE_MS)
    run(queue.process_unacks())
    for message in messages:
        stored = run(queue.get(message.id))
        assert (stored.payload, stored.timeout_ms) == (message.payload, message.timeout_ms)
    assert run(queue.get("some fake id")) is None

    popped = pop(10)
    assert sorted(message.id for message in popped) == sorted(message.id for message in messages)
    if not target.compat:  # the original has lost the priorities by now
        assert popped == peeked
    assert len(payloads(target, queue, count=10)) == 10
    assert run(queue.ack_all([message.id for message in messages])) == [True] * 10
    assert run(queue.ack_all([message.id for message in messages])) == [False] * 10
    target.clock.advance(2 * LEASE_MS)
    run(queue.process_unacks())
    assert pop(1, wait_ms=10) == []
    if made is Made.V1:
        assert [run(queue.remove(message.id)) for message in messages] == [False] * 10
    assert run(queue.size()) == 0
    assert payloads(target, queue, count=0) == {}


def test_acks_one_by_one(target, queue, pop):
    ids = [str(number) for number in range(10)]
    target.run(queue.push([Message(id=each) for each in ids]))
    pop(10)
    for message_id in ids:
        assert target.run(queue.ack(message_id)) is True
        assert target.run(queue.ack(message_id)) is False
    assert payloads(target, queue, count=0) == {}


def test_remove(target):
    queue = v1_queue(target)
    messages = [Message(id=str(number)) for number in range(10)]
    target.run(queue.push(messages))
    assert [target.run(queue.remove(message.id)) for message in messages] == [True] * 10
    assert target.run(queue.size()) == 0
    assert payloads(target, queue, count=0) == {}


def test_clear_queues(target, queue):
    target.run(queue.push([Message(id=str(number)) for number in range(10)]))
    assert target.run(queue.size()) == 10
    target.run(queue.clear())
    assert target.run(queue.size()) == 0
    assert payloads(target, queue, count=0) == {}


def test_default_sharding_strategy(target):
    """Pushed three times, a message goes to three shards and is delivered by each."""
    queues = [target.queue(zone, strategy=RoundRobin()) for zone in target.zones]
    message = Message(id="1", payload="Hello World")
    for _ in range(3):
        target.run(queues[0].push([message]))
    target.at_rest(queues[0])
    deliveries = [target.run(queue.pop(1, wait_ms=WAIT_MS)) for queue in queues]
    assert [[delivery.message for delivery in batch] for batch in deliveries] == [[message]] * 3
    assert [batch[0].shard for batch in deliveries] == list(target.zones)


def test_custom_sharding_strategy(target):
    """Pushed three times, a message goes to one shard, that of its id, and is delivered once."""
    queues = [target.queue(zone, strategy=IdHash()) for zone in target.zones]
    for _ in range(3):
        target.run(queues[0].push([Message(id="1", payload="Hello World")]))
    target.at_rest(queues[0])
    assert [delivery.message.id for delivery in target.run(queues[1].pop(1, wait_ms=WAIT_MS))] == ["1"]
    assert [target.run(queue.pop(1, wait_ms=10)) for queue in queues] == [[], [], []]


@pytest.mark.parametrize("priority", [-1, 100])
def test_message_refuses_priorities_outside_0_to_99(priority):
    with pytest.raises(ValueError, match=f"priority must be 0..99, got {priority}"):
        Message(id="1", priority=priority)
