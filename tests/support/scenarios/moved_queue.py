"""A small queue with a service: ``mover`` takes what is due from a sorted set and appends it to the list of its zone.

It removes an id before it appends it, so a death between the two commands loses a message; its own stop order does not.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import ServerError
from zonelab.scenarios.queues.end_state import sizes_of, state_row
from zonelab.scenarios.queues.under_test import Depth, Site, Wrap, site_of
from zonelab.scenarios.spec.scenario import Scenario

FACTORY = "support.scenarios.moved_queue:MovedQueue"
MOVE_MS = 20


class Mover(Startable):
    def __init__(self, site: Site) -> None:
        self._site = site
        self._delayed, self._ready = keys(site.zone)
        self._moving = Mutex(site.runtime)
        self._timer = Periodic(self._move, interval_ms=MOVE_MS, runtime=site.runtime, name=f"mover-{site.zone}")

    async def start(self) -> None:
        self._timer.start()

    async def close(self) -> None:
        async with self._moving:
            pass
        await self._timer.close()

    async def _move(self) -> None:
        async with self._moving:
            connection, now_ms = self._site.connection, self._site.clock.now_ms()
            (due,) = await connection.execute(("ZRANGEBYSCORE", self._delayed, "-inf", now_ms))
            assert isinstance(due, list)
            for message_id in due:
                await connection.execute(("ZREM", self._delayed, message_id))  # type: ignore[arg-type]
                await connection.execute(("RPUSH", self._ready, message_id))  # type: ignore[arg-type]


@dataclass
class Client:
    site: Site

    async def push(self, messages: Sequence[Message]) -> Sequence[Receipt]:
        delayed, _ = keys(self.site.zone)
        receipts = []
        for message in messages:
            due_ms = self.site.clock.now_ms() + message.timeout_ms
            (reply,) = await self.site.connection.execute(("ZADD", delayed, due_ms, message.id))
            assert not isinstance(reply, ServerError)
            receipts.append(Receipt(id=message.id, shard=self.site.zone, due_ms=due_ms))
        return receipts

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        _, ready = keys(self.site.zone)
        (raw,) = await self.site.connection.execute(("LPOP", ready))
        if not isinstance(raw, bytes):
            await self.site.runtime.sleep(wait_ms * 100_000)
            return []
        now_ms, message = self.site.clock.now_ms(), Message(id=raw.decode())
        return [
            Delivery(
                message=message, shard=self.site.zone, lease_start_ms=now_ms, leased_ms=now_ms, lease_end_ms=now_ms
            )
        ]

    async def ack(self, delivery: Delivery, /) -> bool:
        return True

    async def close(self) -> None:
        """Nothing runs in the background."""


class MovedQueue:
    """The queue of every zone by itself, with a mover in every zone."""

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self.shards = {zone: zone for zone in scenario.zones}

    @staticmethod
    def services(scenario: Scenario) -> list[tuple[str, str]]:
        return [("mover", zone) for zone in scenario.zones]

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        return Mover(self._site(zone, wrap))

    async def producer(self, zone: str, wrap: Wrap) -> Client:
        return Client(self._site(zone, wrap))

    consumer = producer

    async def depth(self, shard: str) -> Depth:
        delayed, ready = keys(shard)
        return Depth(sum(await sizes_of(self._testbed.direct(shard), [("ZCARD", delayed), ("LLEN", ready)])), 0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for shard in self.shards:
            delayed, ready = keys(shard)
            commands = (("ZRANGE", delayed, 0, -1), ("LRANGE", ready, 0, -1))
            for listed in await self._testbed.direct(zone).execute(*commands):
                assert isinstance(listed, list)
                for raw in listed:
                    assert isinstance(raw, bytes)
                    yield state_row(zone, "queue", raw.decode(), shard=shard, score=0.0, serving=zone == shard)

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)


def keys(zone: str) -> tuple[str, str]:
    return f"{{moved}}.delayed.{zone}", f"{{moved}}.ready.{zone}"
