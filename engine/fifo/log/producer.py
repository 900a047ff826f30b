"""Producers: what they promise of order depends on when they send the next message, and on what they send again."""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum

from engine.common.failures import COMMAND_FAILURES
from engine.common.mutex import Mutex
from engine.fifo.events import Observer, Unobserved
from engine.fifo.log.partition_log import Appended, PartitionLogs
from engine.fifo.log.record import Record
from engine.fifo.partition import Partition
from engine.fifo.routing.selectors import Selector
from engine.message import Message
from engine.ports import Indeterminate, Runtime, ServerError

ASYNCHRONOUS_ATTEMPTS = 3
"""RocketMQ's: one and two retries."""


class Sending(StrEnum):
    """How a producer sends.

    ``ordered``: one message in flight a partition, each tried once, as RocketMQ sends with a selector. ``retrying``:
    the same, by an application that sends again what failed. ``asynchronous``: any number in flight, each tried up to
    three times. ``idempotent``: as ``retrying``, and the log knows what it has.
    """

    ORDERED = "ordered"
    RETRYING = "retrying"
    ASYNCHRONOUS = "asynchronous"
    IDEMPOTENT = "idempotent"


@dataclass(frozen=True, slots=True)
class Placed:
    partition: Partition
    offset: int


class Producer:
    """One program that appends, called ``name``, which no other program may be called.

    ``attempts``: how often it sends a message before it gives up, if it sends again at all; ``pause_ms`` between them.
    """

    def __init__(
        self,
        name: str,
        *,
        partitions: list[Partition],
        select: Selector,
        sending: Sending,
        logs: PartitionLogs,
        runtime: Runtime,
        observer: Observer | None = None,
        attempts: int = 3,
        pause_ms: int = 100,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {attempts}")
        self._name, self._partitions, self._select, self._sending = name, partitions, select, sending
        self._logs, self._runtime, self._pause_ns = logs, runtime, pause_ms * 1_000_000
        self._observer = observer or Unobserved()
        again = {Sending.ORDERED: 1, Sending.ASYNCHRONOUS: ASYNCHRONOUS_ATTEMPTS}
        self._attempts = again.get(sending, attempts)
        self._turns: dict[Partition, Mutex] = defaultdict(lambda: Mutex(runtime))
        self._sequences: dict[Partition, int] = defaultdict(int)
        self._lives: dict[Partition, int] = defaultdict(int)

    async def send(self, message: Message) -> Placed:
        """Append ``message`` to the partition of its key, or of its id if it has none.

        Raises what the last attempt raised; ``Indeterminate`` if any of several may have put it in.
        """
        partition = self._partitions[self._select(message.key or message.id, len(self._partitions))]
        if self._sending is Sending.ASYNCHRONOUS:
            return await self._append(partition, message)
        async with self._turns[partition]:
            return await self._append(partition, message)

    async def _append(self, partition: Partition, message: Message) -> Placed:
        self._sequences[partition] += 1
        record = Record(
            id=message.id,
            key=message.key or message.id,
            body=message.payload,
            producer=self._writer(partition),
            sequence=self._sequences[partition],
        )
        told = {"message_id": record.id, "key": record.key, "producer": record.producer, "sequence": record.sequence}
        call = self._observer.begin("produce", **told)
        try:
            appended = await self._tried(partition, record)
        except COMMAND_FAILURES as error:
            outcome = "info" if isinstance(error, Indeterminate) else "fail"
            self._observer.end(call, outcome=outcome, status=type(error).__name__)
            if self._sending is Sending.IDEMPOTENT:
                # The log may have it or not, and would ask for the next number or for this one: go on as another.
                self._lives[partition] += 1
                self._sequences[partition] = 0
            raise
        where = {"partition": partition.name, "offset": appended.offset, "epoch": 0}
        self._observer.end(call, outcome="ok", **where, status="duplicate" if appended.duplicate else None)
        return Placed(partition, appended.offset)

    def _writer(self, partition: Partition) -> str:
        life = self._lives[partition]
        return f"{self._name}.{life}" if life else self._name

    async def _tried(self, partition: Partition, record: Record) -> Appended:
        idempotent = self._sending is Sending.IDEMPOTENT
        attempt, maybe_there = 1, False
        while True:
            try:
                return await self._logs.append(partition, record, idempotent=idempotent)
            except COMMAND_FAILURES as error:
                maybe_there = maybe_there or isinstance(error, Indeterminate)
                last = attempt == self._attempts or isinstance(error, ServerError)
                if last and maybe_there:
                    raise Indeterminate(f"attempts: {attempt}; the last one: {error}") from error
                if last:
                    raise
            attempt += 1
            await self._runtime.sleep(self._pause_ns)
