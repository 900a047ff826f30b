"""Producers: what they promise of order depends on when they send the next message, and on what they send again."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.fifo.events import NullObserver, Observer
from zonelab.engine.fifo.log.due_order import DueOrder
from zonelab.engine.fifo.log.partition_log import AppendResult, EndedWithout, PartitionLogs, Sealed
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.routing.selectors import Selector
from zonelab.engine.fifo.topics.followed import FollowedRoute
from zonelab.engine.message import Message
from zonelab.engine.ports import Clock, Indeterminate, Runtime, ServerError
from zonelab.engine.units import NS_PER_MS

ASYNCHRONOUS_ATTEMPTS = 3
"""RocketMQ's: one and two retries."""

GIVEN_UP_MAX = 10_000
"""Records of unknown fate that are kept, the latest ones: a message that is sent again gets the same record."""


class SendMode(StrEnum):
    """A producer's way of sending.

    ``ordered``: one message in flight a partition, each tried once, as RocketMQ sends with a selector. ``retrying``:
    the same, by an application that sends again what failed. ``asynchronous``: any number in flight, each tried up to
    three times. ``idempotent``: as ``retrying``, and the log knows what it has.
    """

    ORDERED = "ordered"
    RETRYING = "retrying"
    ASYNCHRONOUS = "asynchronous"
    IDEMPOTENT = "idempotent"


@dataclass(frozen=True, slots=True)
class SendResult:
    """``offset``: None for a message that is not due yet. ``due_ms``: from when it may be delivered, if it is delayed;
    of one that is sent again, as it was at first.
    """

    partition: Partition
    offset: int | None
    due_ms: int | None = None


class Producer:
    """One program that appends, called ``name``, which no other program may be called.

    ``partitions``: to which; with ``route`` to those that it knows of at the time. ``attempts``: how often it sends a
    message before it gives up, if it sends again at all; ``pause_ms`` between them, and between two looks at the route
    while a partition is sealed, for ``sealed_ms`` at most. ``clock``: a message is due by it; without one it cannot be
    delayed.
    """

    def __init__(
        self,
        name: str,
        *,
        partitions: list[Partition],
        select: Selector,
        sending: SendMode,
        logs: PartitionLogs,
        runtime: Runtime,
        clock: Clock | None = None,
        route: FollowedRoute | None = None,
        observer: Observer | None = None,
        attempts: int = 3,
        pause_ms: int = 100,
        sealed_ms: int = 30_000,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {attempts}")
        if " " in name:
            raise ValueError(f"producer must have a name without spaces, got {name!r}")
        self._clock = clock
        self._name, self._partitions, self._select, self._sending = name, partitions, select, sending
        self._logs, self._runtime, self._pause_ns = logs, runtime, pause_ms * NS_PER_MS
        self._route, self._sealed_ns = route, sealed_ms * NS_PER_MS
        self._observer = observer or NullObserver()
        again = {SendMode.ORDERED: 1, SendMode.ASYNCHRONOUS: ASYNCHRONOUS_ATTEMPTS}
        self._attempts = again.get(sending, attempts)
        self._keys: dict[str, Mutex] = {}
        self._turns: dict[Partition, Mutex] = defaultdict(lambda: Mutex(runtime))
        self._sequences: dict[tuple[Partition, str], int] = defaultdict(int)
        self._orders: dict[tuple[Partition, str], DueOrder] = {}
        self._lives: dict[Partition, int] = defaultdict(int)
        self._given_up: dict[tuple[str, Partition, int], PartitionRecord] = {}

    async def send(self, message: Message) -> SendResult:
        """Append ``message`` to the partition of its key, or of its id if it has none.

        Raises what the last attempt raised; ``Indeterminate`` if any of several may have put it in.
        """
        if message.timeout_ms and self._clock is None:
            raise ValueError(f"timeout_ms must be 0 for a producer without a clock, got {message.timeout_ms}")
        key = message.key or message.id
        if self._sending is SendMode.ASYNCHRONOUS:
            return await self._sent(message, key)
        # One message of a key at a time, too: the next may already go to another partition.
        turn = self._keys.setdefault(key, Mutex(self._runtime))
        try:
            async with turn:
                return await self._sent(message, key)
        finally:
            if turn.idle:
                self._keys.pop(key, None)

    async def _sent(self, message: Message, key: str) -> SendResult:
        gives_up_ns = self._runtime.now_ns() + self._sealed_ns
        while True:
            partition, epoch = await self._choice(key)
            try:
                if self._sending is SendMode.ASYNCHRONOUS:
                    return await self._append(partition, message, key, epoch)
                async with self._turns[partition]:
                    return await self._append(partition, message, key, epoch)
            except Sealed:
                if self._route is None or self._runtime.now_ns() >= gives_up_ns:
                    raise
            await self._runtime.sleep(self._pause_ns)
            with suppress(*COMMAND_FAILURES):
                await self._route.refresh()

    async def _choice(self, key: str) -> tuple[Partition, int]:
        if self._route is None:
            partitions, epoch = self._partitions, 0
        else:
            route = await self._route.current()
            partitions, epoch = route.written, route.epoch
        return partitions[self._select(key, len(partitions))], epoch

    async def _append(self, partition: Partition, message: Message, key: str, epoch: int) -> SendResult:
        before = await self._placed_before(message.id, key, epoch)
        if before is not None:
            return before
        now_ms = 0 if self._clock is None else self._clock.now_ms()
        sent_before = self._given_up.pop((message.id, partition, epoch), None)
        record = sent_before or self._next(partition, message, key, epoch, now_ms=now_ms)
        due_ms = record.due_ms if message.timeout_ms else None
        due_ns = None if due_ms is None else self._runtime.now_ns() + (due_ms - now_ms) * NS_PER_MS
        named = {"message_id": record.id, "key": key, "producer": record.producer, "sequence": record.sequence}
        call = self._observer.begin("produce", partition=partition.name, epoch=epoch, **named)
        try:
            appended = await self._tried(partition, record, due_ms)
        except COMMAND_FAILURES as error:
            outcome = "info" if isinstance(error, Indeterminate) else "fail"
            status = "sealed" if isinstance(error, Sealed) else type(error).__name__
            self._observer.end(call, outcome=outcome, status=status)
            if self._sending is SendMode.IDEMPOTENT and not isinstance(error, EndedWithout):
                # The log may have it or not, and would ask for the next number or for this one: go on as another. It is
                # the last under its name, so whoever sends the message again sends the same record.
                self._lives[partition] += 1
                self._given_up[message.id, partition, epoch] = record
                if len(self._given_up) > GIVEN_UP_MAX:
                    self._given_up.pop(next(iter(self._given_up)))
            raise
        columns = {"offset": appended.offset, "until_ns": due_ns, "status": "duplicate" if appended.duplicate else None}
        self._observer.end(call, outcome="ok", **columns)
        return SendResult(partition, appended.offset, due_ms)

    async def _placed_before(self, message_id: str, key: str, epoch: int) -> SendResult | None:
        """Return the place of a message that was given up before the topic was resized, if the log that ended has it.

        Raises ``Indeterminate`` while nobody knows.
        """
        for known in [one for one in self._given_up if epoch and one[0] == message_id and one[2] < epoch]:
            _, partition, earlier = known
            record = self._given_up[known]
            held = await self._logs.holds(partition, record)
            if held is None:
                raise Indeterminate(f"{partition.name} may have message {message_id}, and its log has not ended yet")
            del self._given_up[known]
            if held:
                named = {"message_id": record.id, "key": key, "producer": record.producer, "sequence": record.sequence}
                call = self._observer.begin("produce", partition=partition.name, epoch=earlier, **named)
                self._observer.end(call, outcome="ok", status="duplicate")
                return SendResult(partition, None, record.due_ms or None)
        return None

    def _next(self, partition: Partition, message: Message, key: str, epoch: int, *, now_ms: int) -> PartitionRecord:
        """In each epoch, and after it gave up on a record, the producer numbers under another name.

        A key may come from another partition, where it was numbered otherwise. From its first delayed record on those
        under a name tell when they are due.
        """
        epochs, life = f"@{epoch}" if epoch else "", self._lives[partition]
        writer = f"{self._name}{epochs}.{life}" if life else f"{self._name}{epochs}"
        self._sequences[partition, writer] += 1
        number = self._sequences[partition, writer]
        record = PartitionRecord(
            id=message.id, key=key, body=message.payload, producer=writer, sequence=number, epoch=epoch
        )
        order = self._orders.get((partition, writer))
        if order is None and not message.timeout_ms:
            return record
        order = order or self._orders.setdefault((partition, writer), DueOrder(number - 1))
        due_ms, front = order.place(number, now_ms=now_ms, delay_ms=message.timeout_ms)
        return replace(record, due_ms=due_ms, front=front)

    async def _tried(self, partition: Partition, record: PartitionRecord, due_ms: int | None) -> AppendResult:
        idempotent = self._sending is SendMode.IDEMPOTENT
        attempt, maybe_there = 1, False
        while True:
            try:
                now_ms = None if self._clock is None else self._clock.now_ms()
                return await self._logs.append(partition, record, idempotent=idempotent, now_ms=now_ms, due_ms=due_ms)
            except EndedWithout:
                raise
            except COMMAND_FAILURES as error:
                maybe_there = maybe_there or isinstance(error, Indeterminate)
                last = attempt == self._attempts or isinstance(error, ServerError)
                if last and maybe_there:
                    raise Indeterminate(f"attempts: {attempt}; the last one: {error}") from error
                if last:
                    raise
            attempt += 1
            await self._runtime.sleep(self._pause_ns)
