"""The expectations of dyno-queues' own tests of V2 and of the multi-shard queue hold on every target.

Method: the cases of ``v2/RedisDynoQueueTest``, ``BaseQueueTests`` (which builds its queue) and ``MultiQueueTests`` of
https://github.com/Netflix/dyno-queues. Where they sleep to let a due time or a lease pass, the clock is set instead.
"""

import pytest
from support.dyno_v2 import make_multi, make_pipelined, shard_content

from engine.dyno.builder import Cluster, build_queue
from engine.dyno.multi import MultiQueue
from engine.dyno.suppliers import Host, RackSuffixShards, SingleShard
from engine.message import Message

LEASE_MS = 1000
WAIT_MS = 1000
MS = 1_000_000


@pytest.fixture(params=["pipelined", "built"])
def queue(request, target):
    """One shard, a lease of a second; made by hand as in ``RedisDynoQueueTest``, or built as in ``BaseQueueTests``."""
    if request.param == "built":
        return build_queue(
            queue_name=target.name,
            redis_key_prefix="test",
            unack_ms=LEASE_MS,
            servers=Cluster(
                hosts=lambda: [Host(name="localhost", rack="us-east-1a")],
                quorum=target.quorum("a"),
                non_quorum=target.local("a"),
            ),
            runtime=target.lab.runtime,
            clock=target.clock,
            shard_supplier=SingleShard("a"),
            compat=target.compat,
        )
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


@pytest.fixture
def pop(target, queue):
    return lambda count, wait_ms=WAIT_MS: [
        delivery.message for delivery in target.run(queue.pop(count, wait_ms=wait_ms))
    ]


def held(target, queue):
    return target.run(shard_content(target.lab.direct("a"), queue.keys))


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


def test_concurrency(target, queue):
    count = 100
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


def test_set_timeout(target, queue, pop):
    target.run(queue.push([Message(id="x001yx", payload="Hello World", priority=3, timeout_ms=10_000)]))
    assert pop(1, wait_ms=10) == []
    assert target.run(queue.set_timeout("x001yx", timeout_ms=0)) is True
    (message,) = pop(2, wait_ms=50)
    assert (message.id, message.timeout_ms, message.priority) == ("x001yx", 0, 3)
    assert target.run(queue.set_timeout("x001yx", timeout_ms=0)) is False


def test_all(target, queue, pop):
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
    assert sorted(message.id for message in popped) == [message.id for message in messages]
    if not target.compat:  # the original has lost the priorities by now
        assert popped == peeked
    assert len(held(target, queue).payloads) == 10
    assert run(queue.ack_all([message.id for message in messages])) == [True] * 10
    assert run(queue.ack_all([message.id for message in messages])) == [False] * 10
    target.clock.advance(2 * LEASE_MS)
    run(queue.process_unacks())
    assert pop(1, wait_ms=10) == []
    assert run(queue.size()) == 0
    assert held(target, queue).payloads == {}


def test_clear_queues(target, queue):
    target.run(queue.push([Message(id=str(number)) for number in range(10)]))
    assert target.run(queue.size()) == 10
    target.run(queue.clear())
    assert target.run(queue.size()) == 0
    assert held(target, queue).payloads == {}


def test_multi_queue(target):
    """``MultiQueueTests``: two racks, two shards; what is due in the other shard is not waited for."""
    hosts = [Host(name="host1", rack="us-east-1a"), Host(name="host2", rack="us-east-2b")]
    queue = build_queue(
        queue_name=target.name,
        redis_key_prefix="test",
        unack_ms=50_000,
        servers=Cluster(hosts=lambda: hosts, quorum=target.quorum("a"), non_quorum=target.local("a")),
        runtime=target.lab.runtime,
        clock=target.clock,
        shard_supplier=RackSuffixShards(hosts=lambda: hosts, local_rack="us-east-1a"),
        compat=target.compat,
    )
    assert isinstance(queue, MultiQueue)
    runtime = target.lab.runtime

    def pop(count, wait_ms):
        async def timed():
            begin_ns = runtime.now_ns()
            deliveries = await queue.pop(count, wait_ms=wait_ms)
            return [delivery.message.id for delivery in deliveries], (runtime.now_ns() - begin_ns) / MS

        return target.run(timed())

    popped, ms = pop(2, WAIT_MS)
    assert popped == []
    assert ms >= WAIT_MS
    target.run(queue.push([Message(id=str(number), payload=f"Hello World-{number}") for number in range(10)]))
    assert target.run(queue.size()) == 10
    sizes = target.run(queue.shard_sizes())
    assert {shard: size.waiting for shard, size in sizes.items()} == {"a": 5, "b": 5}
    popped, ms = pop(2, 20_000)
    assert len(popped) == 2
    assert ms < 20_000
    popped, ms = pop(5, 2 * WAIT_MS)
    assert len(popped) == 3
    assert ms >= 2 * WAIT_MS


def test_zones_push_to_each_other_and_serve_their_own_shards_until_nothing_is_left(target):
    queues = {
        zone: make_multi(
            target.quorum(zone),
            local=target.local(zone),
            runtime=target.lab.runtime,
            clock=target.clock,
            name=target.name,
            shard=zone,
            unack_ms=LEASE_MS,
            compat=target.compat,
        )
        for zone in target.zones
    }
    run, delivered = target.run, []
    for zone, queue in queues.items():
        receipts = run(queue.push([Message(id=f"{zone}{number}") for number in range(9)]))
        assert len(receipts) == 9
    for zone, queue in queues.items():
        first = eventually(target, queue, 9)
        assert {delivery.shard for delivery in first} == {zone}
        target.clock.advance(LEASE_MS)
        assert run(queue.process_unacks()).requeued >= 9
        again = eventually(target, queue, 9)
        assert sorted(each.message.id for each in again) == sorted(each.message.id for each in first)
        assert run(queue.ack_messages([each.message for each in again])) == [True] * 9
        delivered += [each.message.id for each in again]
    assert sorted(delivered) == sorted(f"{zone}{number}" for zone in target.zones for number in range(9))
    for zone in target.zones:
        for shard_queue in queues[zone].queues.values():
            at_rest(target, shard_queue, zone)


def eventually(target, queue, count):
    """Pop ``count`` messages, as they reach the zone of the queue."""
    deliveries = []
    for _ in range(1000):
        deliveries += target.run(queue.pop(count - len(deliveries)))
        if len(deliveries) == count:
            return deliveries
        target.run(target.lab.runtime.sleep(10 * MS))
    raise AssertionError(f"only {len(deliveries)} of {count} came")


def at_rest(target, shard_queue, zone):
    """Fails unless the zone comes to hold nothing of the shard."""
    server = target.lab.direct("a" if target.level is None else zone)
    for _ in range(1000):
        content = target.run(shard_content(server, shard_queue.keys))
        if (content.payloads, content.waiting, content.leased) == ({}, {}, {}):
            return
        target.run(target.lab.runtime.sleep(10 * MS))
    raise AssertionError(f"{zone} still holds {content}")
