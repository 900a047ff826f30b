"""Ordered messages (``engine.fifo``) as the queue under test: partitions, and a group that every consumer is in."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from analysis.runs.order import OrderHistory
from cluster.testbed import Testbed
from engine.common.failures import COMMAND_FAILURES
from engine.fifo.consumer.context import NS_PER_MS, MemberContext, Zones
from engine.fifo.consumer.listener import Listener
from engine.fifo.consumer.member import Member
from engine.fifo.events import Observer, Unobserved
from engine.fifo.keys import FifoKeys
from engine.fifo.log.partition_log import PartitionLogs
from engine.fifo.log.producer import Producer
from engine.fifo.log.progress import Progress
from engine.fifo.log.record import Delayed, Entry
from engine.fifo.partition import partitions_of
from engine.fifo.routing.selectors import selector
from engine.fifo.settings import Begin
from engine.message import Message, Receipt
from engine.queue import Queue
from scenarios.queues.end_state import answer_of, sorted_set, state_row
from scenarios.queues.ordered.fifo_state import cursor_row, dead_row, log_row
from scenarios.queues.ordered.order_observer import OrderObserver
from scenarios.queues.under_test import Depth, Site, Wrap, site_of
from scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from scenarios.spec.scenario import Scenario

TOPIC = "orders"


class FifoUnderTest:
    """Shards are partitions; each has a zone as its home, as a queue of RocketMQ has a broker."""

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario = testbed, scenario
        self._settings = scenario.queue.of(FifoQueueSettings)
        self._group = self._settings.consumer_settings(batch=scenario.consumers.batch)
        self._keys = FifoKeys()
        self._partitions = partitions_of(TOPIC, self._settings.partition_count, scenario.zones)
        self._by_name = {each.name: each for each in self._partitions}
        self._rooms: dict[str, str] = {}
        self._lives: dict[str, int] = {}
        self._history: OrderHistory | None = None
        self.shards: Mapping[str, str] = {each.name: each.home for each in self._partitions}

    def record(self, history: OrderHistory) -> None:
        self._history = history

    def observer(self, zone: str) -> Observer:
        if self._history is None:
            return Unobserved()
        lease_ns = self._group.times_ms.lease * NS_PER_MS
        return OrderObserver(self._history, self._testbed.runtime, zone=zone, lease_ns=lease_ns)

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        site = self._site(zone, wrap)
        life = self._lives[zone] = self._lives.get(zone, 0) + 1
        producer = Producer(
            f"producer-{zone}.{life}",
            partitions=self._partitions,
            select=selector(self._settings.selector, random=site.runtime.random(f"selector {zone} {life}")),
            sending=self._settings.sending,
            logs=self._logs(site, f"producer-{zone}.{life}"),
            runtime=site.runtime,
            clock=site.clock,
            observer=self.observer(zone),
        )
        return _Sender(producer, site)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        raise NotImplementedError("ordered messages are not popped: see member")

    async def member(self, zone: str, wrap: Wrap, *, name: str, listener: Listener, observer: Observer) -> Member:
        site = self._site(zone, wrap)
        self._rooms[name] = zone
        session = self._session_of(name)
        context = MemberContext(
            name=name,
            session=session,
            settings=self._group,
            runtime=site.runtime,
            clock=site.clock,
            zones=self._zones(site, session),
            listener=listener,
            observer=observer,
        )
        return Member(context, partitions=self._partitions, room_of=self._rooms.__getitem__)

    def _logs(self, site: Site, _session: str) -> PartitionLogs:
        """How a producer appends."""
        return PartitionLogs(level=site.connection, reads=site.connection, keys=self._keys)

    def _zones(self, site: Site, _session: str) -> Zones:
        """What a member asks of the zones."""
        return Zones.of(self._group, level=site.connection, reads=site.connection, near=site.local, keys=self._keys)

    def _session_of(self, name: str) -> str:
        return name

    async def gone(self, name: str, zone: str) -> None:
        """The coordinator of a member's zone notices that its connections are closed, and removes it."""
        setting = self._scenario.setting
        connection = self._testbed.connection(zone, setting)
        with suppress(*COMMAND_FAILURES):  # then it is removed when it was silent for long enough
            zones = Zones.of(self._group, level=connection, reads=connection, near=connection, keys=self._keys)
            await zones.members.leave(name)

    async def depth(self, shard: str) -> Depth:
        """Of the zone that has most in front of it, since what any zone still has is not settled yet."""
        waiting = [await self._waiting(zone, shard) for zone in self._scenario.zones]
        return Depth(max(waiting), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for name, partition in self._by_name.items():
            cursor = await self._cursor(zone, name) or 0
            async for entry in self._entries(zone, name):
                if entry.offset >= cursor:
                    yield state_row(
                        zone, "queue", entry.record.id, shard=name, score=entry.offset, serving=partition.home == zone
                    )
            async for member, due_ms in sorted_set(self._testbed.direct(zone), self._keys.delayed(partition)):
                waits = Delayed.parse(member.encode(), str(due_ms).encode()).record.id
                yield state_row(zone, "queue", waits, shard=name, score=due_ms, serving=partition.home == zone)
        async for dead in self._dead(zone):
            yield state_row(zone, "dead", dead["message_id"], shard=dead["partition"], score=dead["offset"])

    async def final_order(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``analysis.runs.order.FINAL_ORDER`` as the server of ``zone`` has them. Raises ``PortError``."""
        for name in self._by_name:
            async for entry in self._entries(zone, name):
                yield log_row(zone, name, entry)
            cursor = await self._cursor(zone, name)
            if cursor is not None:
                yield cursor_row(zone, self._group.group, name, cursor)
        async for dead in self._dead(zone):
            yield dead

    async def _entries(self, zone: str, name: str) -> AsyncIterator[Entry]:
        async for member, _ in sorted_set(self._testbed.direct(zone), self._keys.log(self._by_name[name])):
            yield Entry.parse(member.encode())

    async def _dead(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        async for member, _ in sorted_set(self._testbed.direct(zone), self._keys.dead_letters(self._group.group)):
            yield dead_row(zone, self._group.group, member)

    async def _cursor(self, zone: str, name: str) -> int | None:
        key = self._keys.cursors(self._by_name[name])
        (raw,) = await self._testbed.direct(zone).execute(("HGET", key, self._group.group))
        value = answer_of(raw)
        return None if value is None else Progress.parse(value).cursor

    async def _waiting(self, zone: str, name: str) -> int:
        partition = self._by_name[name]
        replies = await self._testbed.direct(zone).execute(
            ("HGET", self._keys.meta(partition), "next"),
            ("HGET", self._keys.cursors(partition), self._group.group),
            ("ZCARD", self._keys.delayed(partition)),
        )
        next_offset, cursor, delayed = (answer_of(reply) for reply in replies)
        end = int(next_offset or 0)
        begin = end if self._group.begins is Begin.LAST else 0
        reached = begin if cursor is None else Progress.parse(cursor).cursor
        return int(delayed) + max(0, end - reached)

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)


class _Sender:
    """The producer of one program, as a queue that is only pushed to."""

    def __init__(self, producer: Producer, site: Site) -> None:
        self._producer, self._clock = producer, site.clock

    async def start(self) -> None:
        """Nothing works in the background of a producer."""

    async def push(self, messages: Sequence[Message], /) -> list[Receipt]:
        """One message after the other; an error has the receipts so far, and the id of the message that failed."""
        receipts: list[Receipt] = []
        for message in messages:
            due_ms = self._clock.now_ms() + message.timeout_ms
            try:
                placed = await self._producer.send(message)
            except COMMAND_FAILURES as error:
                vars(error).update(receipts=tuple(receipts), failed_ids=[message.id])
                raise
            receipts.append(Receipt(id=message.id, shard=placed.partition.name, due_ms=due_ms))
        return receipts

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Any]:
        raise NotImplementedError("ordered messages are handed to listeners")

    async def ack(self, delivery: object, /) -> bool:
        raise NotImplementedError("ordered messages are handed to listeners")

    async def close(self) -> None:
        """What is in the logs stays there."""
