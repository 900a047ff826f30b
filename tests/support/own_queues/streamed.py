"""A queue on a stream with a consumer group, for one Redis: sound, and with a planted bug.

An entry that its consumer has had for longer than the lease is claimed by whoever looks next. It knows no delays.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from zonelab.cluster.testbed import Testbed
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.scenarios.queues.end_state import state_row
from zonelab.scenarios.queues.under_test import Depth, Site, Wrap, site_of
from zonelab.scenarios.spec.scenario import Scenario

HERE = "support.own_queues.streamed"
ZONE, KEY, GROUP = "a", "jobs", "workers"


class StreamQueue:
    """The queue of one program."""

    claimed_at: ClassVar[float] = 1.0
    """Part of the lease after which another consumer may have the message."""

    def __init__(self, site: Site, *, name: str, lease_ms: int) -> None:
        self._site, self._ask, self._name, self._lease_ms = site, site.connection.execute, name, lease_ms
        self._entries: dict[Delivery, bytes] = {}

    async def start(self) -> None:
        await self._ask(("XGROUP", "CREATE", KEY, GROUP, 0, "MKSTREAM"))

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        await self._ask(*(("XADD", KEY, "*", "id", message.id) for message in messages))
        return [Receipt(id=message.id, shard=ZONE, due_ms=self._site.clock.now_ms()) for message in messages]

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Delivery]:
        start_ms, idle_ms = self._site.clock.now_ms(), round(self._lease_ms * self.claimed_at)
        who = (GROUP, self._name)
        (claimed,) = await self._ask(("XAUTOCLAIM", KEY, *who, idle_ms, 0, "COUNT", count))
        entries: Any = claimed[1]  # type: ignore[index]
        if not entries:
            (read,) = await self._ask(("XREADGROUP", "GROUP", *who, "COUNT", count, "STREAMS", KEY, ">"))
            entries = read[0][1] if read else []  # type: ignore[index]
        if not entries:
            await self._site.runtime.sleep(wait_ms * 1_000_000)
        return [self._delivery(*entry, start_ms) for entry in entries]

    def _delivery(self, entry: bytes, fields: list[bytes], start_ms: int) -> Delivery:
        times = {"leased_ms": self._site.clock.now_ms(), "lease_end_ms": start_ms + self._lease_ms}
        delivery = Delivery(message=Message(id=fields[1].decode()), shard=ZONE, lease_start_ms=start_ms, **times)
        self._entries[delivery] = entry
        return delivery

    async def ack(self, delivery: Delivery, /) -> bool:
        entry = self._entries[delivery]
        acknowledged, _ = await self._ask(("XACK", KEY, GROUP, entry), ("XDEL", KEY, entry))
        return acknowledged == 1

    async def close(self) -> None:
        """Nothing works in the background."""


class ClaimsTooEarly(StreamQueue):
    claimed_at = 0.5


class StreamQueueUnderTest:
    """The queue in a run."""

    queue_class: ClassVar[type[StreamQueue]] = StreamQueue

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario, self._made = testbed, scenario, 0
        self.shards = {ZONE: ZONE}

    async def producer(self, zone: str, wrap: Wrap) -> StreamQueue:
        site = site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)
        self._made += 1
        return self.queue_class(site, name=f"{zone}{self._made}", lease_ms=self._scenario.queue.unack_ms)

    async def consumer(self, zone: str, wrap: Wrap) -> StreamQueue:
        queue = await self.producer(zone, wrap)
        await queue.start()
        return queue

    async def depth(self, shard: str) -> Depth:
        commands = ("XLEN", KEY), ("XINFO", "GROUPS", KEY)
        held, groups = await self._testbed.direct(ZONE).execute(*commands)
        leased = sum(group[5] for group in groups) if isinstance(groups, list) else 0
        assert isinstance(held, int)
        return Depth(held - leased, leased)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        (entries,) = await self._testbed.direct(zone).execute(("XRANGE", KEY, "-", "+"))
        for entry, (_, name) in entries or ():  # type: ignore[union-attr]
            due_ms = float(entry.partition(b"-")[0])
            yield state_row(zone, "queue", name.decode(), shard=ZONE, score=due_ms, serving=True)


class ClaimsTooEarlyUnderTest(StreamQueueUnderTest):
    queue_class = ClaimsTooEarly
