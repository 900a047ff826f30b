"""Ordered messages (``zonelab.engine.fifo``) as the queue under test: partitions, and a group that every consumer is
in.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from zonelab.analysis.runs.order import OrderHistory
from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.context import MemberContext, Zones
from zonelab.engine.fifo.consumer.listener import Listener
from zonelab.engine.fifo.events import NullObserver, Observer
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import DelayedRecord, LogEntry
from zonelab.engine.fifo.member import Member
from zonelab.engine.fifo.partition import Partition, partitions_of
from zonelab.engine.fifo.producer import Producer
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.fifo.settings import Begin, ConsumerSettings, MessageModel
from zonelab.engine.fifo.topics.followed import FollowedRoute
from zonelab.engine.fifo.topics.resize import TopicResize
from zonelab.engine.fifo.topics.route import TopicRoute
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.engine.message import Message, Receipt
from zonelab.engine.queue import Queue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.queues.end_state import answer_of, sorted_set, state_row
from zonelab.scenarios.queues.ordered.fifo_resizing import ResizeProgram
from zonelab.scenarios.queues.ordered.order_observer import OrderObserver
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Site, Wrap, site_of
from zonelab.scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from zonelab.scenarios.spec.ordered.resizes import all_partitions
from zonelab.scenarios.spec.scenario import Scenario

PREFIX = "fifo"
TOPIC = "orders"


class FifoUnderTest:
    """Shards are partitions; each has a zone as its home, as a queue of RocketMQ has a broker."""

    def __init__(self, testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN) -> None:
        self._testbed, self._scenario = testbed, scenario
        self._topic, self._prefix, self._program = naming.name or TOPIC, naming.prefix or PREFIX, naming.program
        self._settings = scenario.queue.of(FifoQueueSettings)
        self._group = self._settings.consumer_settings(batch=scenario.consumers.batch)
        self._keys = FifoKeys(prefix=self._prefix)
        self._partitions = partitions_of(self._topic, self._settings.partition_count, scenario.zones)
        every = all_partitions(self._topic, len(self._partitions), self._settings.resizes, scenario.zones)
        self._by_name = {each.name: each for each in every}
        self._keepers = self._all_keepers()
        self._rooms: dict[str, str] = {}
        self._lives: dict[str, int] = {}
        self._history: OrderHistory | None = None
        self.shards: Mapping[str, str] = {each.name: each.home for each in every}

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """The program that resizes, if anything is resized."""
        return [("resize", scenario.zones[0])] if scenario.queue.of(FifoQueueSettings).resizes else []

    async def service(self, name: str, zone: str, wrap: Wrap) -> ResizeProgram:
        site, observer = self._site(zone, wrap), self.observer(zone)
        routes, logs = self._topic_of(site, f"{self._program}{name}")
        return ResizeProgram(
            routes,
            TopicResize(routes, logs=logs, runtime=site.runtime, observer=observer),
            resizes=self._settings.resizes,
            partitions=len(self._partitions),
            select=self._settings.selector,
            runtime=site.runtime,
            observer=observer,
            where=self._partitions[0].name,
        )

    @property
    def commit_every(self) -> int | None:
        return self._settings.commit_every

    def acknowledges(self, name: str) -> bool:
        return self._keeper_of(name) == self._keepers[0]

    def record(self, history: OrderHistory) -> None:
        self._history = history

    def observer(self, zone: str) -> Observer:
        if self._history is None:
            return NullObserver()
        lease_ns = self._group.times_ms.lease * NS_PER_MS
        return OrderObserver(self._history, self._testbed.runtime, zone=zone, lease_ns=lease_ns)

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        site = self._site(zone, wrap)
        life = self._lives[zone] = self._lives.get(zone, 0) + 1
        producer = Producer(
            f"{self._program}producer-{zone}.{life}",
            partitions=self._partitions,
            select=selector(self._settings.selector, random=site.runtime.random(f"selector {zone} {life}")),
            sending=self._settings.sending,
            logs=self._logs(site, f"{self._program}producer-{zone}.{life}"),
            runtime=site.runtime,
            clock=site.clock,
            route=await self._route(site),
            observer=self.observer(zone),
        )
        return _Sender(producer, site)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        raise NotImplementedError("ordered messages are not popped: see member")

    async def member(self, zone: str, wrap: Wrap, *, name: str, listener: Listener, observer: Observer) -> Member:
        site, settings = self._site(zone, wrap), self._settings_of(name)
        member = _place(name) if settings.sharing is MessageModel.BROADCASTING else name
        self._rooms[member] = zone
        session = self._session_of(name)
        context = MemberContext(
            name=member,
            session=session,
            settings=settings,
            runtime=site.runtime,
            clock=site.clock,
            zones=self._zones(site, session, settings, member),
            listener=listener,
            observer=observer,
        )
        return Member(context, partitions=self._partitions, room_of=self._room_of, route=await self._route(site))

    def _room_of(self, member: str) -> str:
        """Return the zone of a program; in a program of another process its name has it."""
        return self._rooms.get(member) or _place(member).partition("consumer-")[2].rpartition("-")[0]

    @property
    def partitions(self) -> list[Partition]:
        return self._partitions

    def logs(self, zone: str, session: str, wrap: Wrap) -> PartitionLogs:
        """Return the logs for a program of ``zone`` without a producer; ``session`` is its unique name."""
        return self._logs(self._site(zone, wrap), session)

    def _logs(self, site: Site, _session: str) -> PartitionLogs:
        """Return the logs to which a producer appends."""
        return PartitionLogs(level=site.connection, reads=site.connection, keys=self._keys)

    def _zones(self, site: Site, _session: str, settings: ConsumerSettings, _member: str) -> Zones:
        """Return a member's access to the zones."""
        return Zones.of(settings, level=site.connection, reads=site.connection, near=site.local, keys=self._keys)

    def _session_of(self, name: str) -> str:
        return name

    async def gone(self, name: str, zone: str) -> None:
        """The coordinator of a member's zone notices that its connections are closed, and removes it."""
        setting = self._scenario.setting
        connection = self._testbed.connection(zone, setting)
        with suppress(*COMMAND_FAILURES):  # then it is removed when it was silent for long enough
            settings = self._settings_of(name)
            zones = Zones.of(settings, level=connection, reads=connection, near=connection, keys=self._keys)
            await zones.members.leave(name)

    async def depth(self, shard: str) -> Depth:
        """Return the largest depth over the zones: a message is settled only when no zone has it in front of
        the group.
        """
        waiting = [await self._waiting(zone, shard) for zone in self._scenario.zones]
        return Depth(max(waiting), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for name, partition in self._by_name.items():
            cursor = await self._cursor(zone, name, self._keepers[0]) or 0
            async for entry in self._entries(zone, name):
                if entry.offset >= cursor:
                    yield state_row(
                        zone, "queue", entry.record.id, shard=name, score=entry.offset, serving=partition.home == zone
                    )
            async for member, due_ms in sorted_set(self._testbed.direct(zone), self._keys.delayed(partition)):
                waits = DelayedRecord.parse(member.encode(), str(due_ms).encode()).record.id
                yield state_row(zone, "queue", waits, shard=name, score=due_ms, serving=partition.home == zone)
        async for dead in self._dead(zone, self._settings.group):
            yield state_row(zone, "dead", dead["message_id"], shard=dead["partition"], score=dead["offset"])

    async def final_order(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``zonelab.analysis.runs.order.FINAL_ORDER`` as the server of ``zone`` has them. Raises
        ``PortError``.
        """
        for name in self._by_name:
            async for entry in self._entries(zone, name):
                yield log_row(zone, name, entry)
            for keeper in self._keepers:
                cursor = await self._cursor(zone, name, keeper)
                if cursor is not None:
                    yield cursor_row(zone, keeper, name, cursor)
        for group in self._settings.groups:
            async for dead in self._dead(zone, group):
                yield dead

    async def _entries(self, zone: str, name: str) -> AsyncIterator[LogEntry]:
        async for member, _ in sorted_set(self._testbed.direct(zone), self._keys.log(self._by_name[name])):
            yield LogEntry.parse(member.encode())

    async def _dead(self, zone: str, group: str) -> AsyncIterator[dict[str, Any]]:
        async for member, _ in sorted_set(self._testbed.direct(zone), self._keys.dead_letters(group)):
            yield dead_row(zone, group, member)

    async def _cursor(self, zone: str, name: str, keeper: str) -> int | None:
        key = self._keys.cursors(self._by_name[name])
        (raw,) = await self._testbed.direct(zone).execute(("HGET", key, keeper))
        value = answer_of(raw)
        return None if value is None else Progress.parse(value).cursor

    async def _waiting(self, zone: str, name: str) -> int:
        partition = self._by_name[name]
        replies = await self._testbed.direct(zone).execute(
            ("HGET", self._keys.meta(partition), "next"),
            ("HMGET", self._keys.cursors(partition), *self._keepers),
            ("ZCARD", self._keys.delayed(partition)),
        )
        next_offset, cursors, delayed = (answer_of(reply) for reply in replies)
        end = int(next_offset or 0)
        begin = end if self._group.begins is Begin.LAST else 0
        slowest = min(begin if cursor is None else Progress.parse(cursor).cursor for cursor in cursors)
        return int(delayed) + max(0, end - slowest)

    def _settings_of(self, name: str) -> ConsumerSettings:
        return replace(self._group, group=self._settings.group_of(_number(name)))

    def _keeper_of(self, name: str) -> str:
        """Return the keeper of the offsets that the program ``name`` moves: its group, or itself."""
        return self._settings_of(name).keeper(_place(name))

    def _all_keepers(self) -> list[str]:
        per_zone = self._scenario.consumers.per_zone
        names = [f"consumer-{zone}-{number}" for zone in self._scenario.zones for number in range(per_zone)]
        return list(dict.fromkeys(map(self._keeper_of, names))) or [self._settings.group]

    async def _route(self, site: Site) -> FollowedRoute | None:
        """Return what a program that starts now knows; None if it never changes."""
        if not self._settings.resizes:
            return None
        count = len(self._partitions)
        routes, logs = self._topic_of(site, f"{self._program}route")
        route = FollowedRoute(
            TopicRoute(topic=self._topic, zones=self._scenario.zones, write=count, read=count),
            routes=routes,
            logs=logs,
            runtime=site.runtime,
            refresh_ms=self._group.times_ms.route,
        )
        with suppress(*COMMAND_FAILURES):  # then it begins with what the topic had at first
            await route.refresh()
        return route

    def _topic_of(self, site: Site, name: str) -> tuple[Routes, PartitionLogs]:
        """Return the routes and the logs of the topic, as the program ``name`` reads them."""
        routes = Routes(self._topic, zones=self._scenario.zones, level=site.connection, keys=self._keys)
        return routes, self._logs(site, name)

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)


def _place(name: str) -> str:
    """A consumer, without the number of its life: whoever takes its place goes on with its offsets."""
    return name.partition(".")[0]


def _number(name: str) -> int:
    return int(_place(name).rpartition("-")[2])


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
            now_ms = self._clock.now_ms()
            try:
                placed = await self._producer.send(message)
            except COMMAND_FAILURES as error:
                vars(error).update(receipts=tuple(receipts), failed_ids=[message.id])
                raise
            due_ms = now_ms if placed.due_ms is None else placed.due_ms
            receipts.append(Receipt(id=message.id, shard=placed.partition.name, due_ms=due_ms))
        return receipts

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Any]:
        raise NotImplementedError("ordered messages are handed to listeners")

    async def ack(self, delivery: object, /) -> bool:
        raise NotImplementedError("ordered messages are handed to listeners")

    async def close(self) -> None:
        """Close; what is in the logs stays there."""


def log_row(zone: str, partition: str, entry: LogEntry) -> dict[str, Any]:
    record = entry.record
    return {
        "place": "log",
        "zone": zone,
        "partition": partition,
        "offset": entry.offset,
        "key": record.key,
        "message_id": record.id,
        "producer": record.producer,
        "sequence": record.sequence,
    }


def cursor_row(zone: str, group: str, partition: str, cursor: int) -> dict[str, Any]:
    return {"place": "cursor", "zone": zone, "group": group, "partition": partition, "offset": cursor}


def dead_row(zone: str, group: str, member: str) -> dict[str, Any]:
    """``member``: as ``zonelab.engine.fifo.zones.dead_letters`` writes it."""
    message_id, partition, offset, _ = json.loads(member.partition(" ")[2])
    columns = {"group": group, "partition": partition, "offset": offset, "message_id": message_id}
    return {"place": "dead", "zone": zone, **columns}
