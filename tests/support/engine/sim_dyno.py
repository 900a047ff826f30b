"""A load of the dyno-queues engine on any testbed: producers and consumers in every zone, until all is acknowledged."""

from dataclasses import dataclass, field

from support.engine.dyno import Content, content

from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue, DynoSettings
from zonelab.engine.message import Message

MS = 1_000_000
PATIENCE_NS = 60_000 * MS


@dataclass(frozen=True, kw_only=True)
class Load:
    """``timeout_ms``: delay of every message. ``forget_first``: consumers drop each message's first delivery.

    ``scripts``: consumers pop in bulk, and handlers requeue by their script.
    """

    level: Level
    messages_per_zone: int
    consumers_per_zone: int
    timeout_ms: int
    forget_first: bool = False
    scripts: bool = False
    unack_ms: int = 2_000


@dataclass
class Result:
    pushed: list[str] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)
    acked: int = 0
    early_ms: int = 0
    due_ms: dict[str, int] = field(default_factory=dict)
    contents: dict[str, Content] = field(default_factory=dict)


def nothing_left(contents: dict[str, Content]) -> bool:
    """No zone holds anything."""
    return all(held == Content() for held in contents.values())


def served(contents: dict[str, Content]) -> bool:
    """Every shard is empty in the zone that serves it.

    But for leases of what has been acknowledged: a pop that read an id before another took and acknowledged it
    leaves one, finds no payload, and the unack handler drops the lease when it ends.
    """
    return not any(
        zone in held.waiting or held.unacked.get(zone, {}).keys() & held.payloads for zone, held in contents.items()
    )


async def run_load(testbed: Testbed, load: Load) -> Result:
    """Raises ``AssertionError`` if it is not through in a minute."""
    result = Result()
    zones = tuple(testbed.zones)
    total = load.messages_per_zone * len(zones)
    queues = {zone: _queue(testbed, load, zone, zones) for zone in zones}
    for queue in queues.values():
        queue.unack_handler.start()
    runtime = testbed.runtime
    tasks = [runtime.spawn(_produce(queues[zone], zone, load, result), name=f"producer {zone}") for zone in zones]
    for zone in zones:
        for number in range(load.consumers_per_zone):
            consumer = _consume(testbed, queues[zone], zone, load, result, total)
            tasks.append(runtime.spawn(consumer, name=f"consumer {zone} {number}"))
    for task in tasks:
        await task.join()
    for queue in queues.values():
        await queue.unack_handler.close()
    while any(link.in_flight for link in testbed.links.values()):
        await runtime.sleep(MS)
    await runtime.sleep(50 * MS)  # what has left the links is executed well within this time
    for zone in zones:
        result.contents[zone] = await content(testbed.direct(zone), queues[zone].keys, zones)
    return result


def _queue(testbed: Testbed, load: Load, zone: str, zones: tuple[str, ...]) -> DynoQueue:
    return DynoQueue(
        "load",
        runtime=testbed.runtime,
        clock=testbed.clock(zone),
        quorum=testbed.connection(zone, load.level),
        local=testbed.connection(zone, Level.DC_ONE),
        settings=DynoSettings(
            prefix="test",
            shards=zones,
            shard=zone,
            unack_ms=load.unack_ms,
            unack_interval_ms=500,
            poll_interval_ms=5,
            single_ring=load.scripts,
        ),
    )


async def _produce(queue: DynoQueue, zone: str, load: Load, result: Result) -> None:
    for number in range(load.messages_per_zone):
        message = Message(id=f"{zone}{number}", payload="x", timeout_ms=load.timeout_ms, shard=zone)
        (receipt,) = await queue.push([message])
        result.pushed.append(receipt.id)
        result.due_ms[receipt.id] = receipt.due_ms


async def _consume(testbed: Testbed, queue: DynoQueue, zone: str, load: Load, result: Result, total: int) -> None:
    runtime, clock = testbed.runtime, testbed.clock(zone)
    deadline_ns = runtime.now_ns() + PATIENCE_NS
    while result.acked < total:
        assert runtime.now_ns() < deadline_ns, f"only {result.acked} of {total} messages were acknowledged"
        for delivery in await (queue.bulk_pop if load.scripts else queue.pop)(5, wait_ms=20):
            now_ms = clock.now_ms()
            forget = load.forget_first and delivery.message.id not in result.delivered
            result.delivered.append(delivery.message.id)
            result.early_ms = max(result.early_ms, result.due_ms.get(delivery.message.id, 0) - now_ms)
            if not forget:
                acked = await queue.ack(delivery.message.id)
                result.acked += acked
