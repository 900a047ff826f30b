"""The expectations of dyno-queues' own test of the multi-shard queue hold on every target, and what follows from them.

Method: ``MultiQueueTests`` of https://github.com/Netflix/dyno-queues; then zones that push to each other. Where the
original sleeps to let a due time or a lease pass, the clock is set instead.
"""

from support.engine.dyno_v2 import ShardContent, make_multi, shard_content

from zonelab.engine.dyno.hosts import DynoHost, RackSuffixShards
from zonelab.engine.dyno.v2.builder import ShardCluster, build_queue
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Message

LEASE_MS = 1000
WAIT_MS = 1000
MS = 1_000_000


def test_multi_queue(target):
    """``MultiQueueTests``: two racks, two shards; what is due in the other shard is not waited for."""
    hosts = [DynoHost(name="host1", rack="us-east-1a"), DynoHost(name="host2", rack="us-east-2b")]
    queue = build_queue(
        queue_name=target.name,
        redis_key_prefix="test",
        unack_ms=50_000,
        servers=ShardCluster(hosts=lambda: hosts, quorum=target.quorum("a"), non_quorum=target.local("a")),
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
    target.eventually(
        lambda: deliveries.extend(target.run(queue.pop(count - len(deliveries)))), lambda _: len(deliveries) == count
    )
    return deliveries


def at_rest(target, shard_queue, zone):
    """Fails unless the zone comes to hold nothing of the shard."""
    server = target.lab.direct("a" if target.level is None else zone)
    target.eventually(
        lambda: target.run(shard_content(server, shard_queue.keys)), lambda content: content == ShardContent()
    )
