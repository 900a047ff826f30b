"""Runs queue operations and writes each into the history as what it turned out to be: ok, fail or info."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from zonelab.analysis.runs.history import NO_LEASE, History, MessageColumns, body_sum
from zonelab.cluster.clock import NodeClock
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Indeterminate, PortError, Runtime, ServerError
from zonelab.engine.queue import ExtendableQueue, Queue
from zonelab.scenarios.clients.program_crash import ProgramCrashed
from zonelab.scenarios.clients.true_time import ClockReading
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease

OPERATION_ERRORS = (PortError, ServerError)
"""Errors of a queue operation when the cluster, and not the program, is at fault."""

LATE = "the lease had ended"
CRASHED = "consumer crashed"
PRODUCER_CRASHED = "producer crashed"

Outcome = Literal["ok", "fail", "info"]
Heard = Callable[[str, Outcome, Sequence[MessageColumns]], None]


@dataclass(frozen=True, slots=True)
class OperationActor:
    """The actor of an operation: the process, and the zone whose coordinator it talks to."""

    process: str
    zone: str


@dataclass(frozen=True, slots=True)
class RecordedDelivery:
    """A delivery as the queue gave it, and as the history has it: in true time, with the number of its pop."""

    delivery: Delivery
    touched: MessageColumns


@dataclass(frozen=True, slots=True)
class PopResult:
    """Deliveries of one pop, and the number of its operation."""

    op: int
    delivered: tuple[RecordedDelivery, ...]


class OperationRecorder:
    """Writes the begin and the end of each operation into the history.

    ``counts`` counts by operation and outcome, for progress: messages, or operations that touch none.
    """

    def __init__(self, history: History, runtime: Runtime) -> None:
        self._history = history
        self._runtime = runtime
        self.heard: Heard | None = None
        """Listener that is called with every operation as it ends."""
        self.counts: dict[tuple[str, Outcome], int] = {}

    def _begin(
        self, actor: OperationActor, f: str, messages: Sequence[MessageColumns] = (), intended_ns: int | None = None
    ) -> int:
        return self._history.invoke(
            time_ns=self._runtime.now_ns(),
            process=actor.process,
            zone=actor.zone,
            f=f,
            intended_ns=intended_ns,
            messages=messages,
        )

    def _end(
        self,
        op: int,
        f: str,
        outcome: Outcome,
        messages: Sequence[MessageColumns] | None = None,
        *,
        error: str | None = None,
    ) -> None:
        touched = 1 if messages is None else len(messages)
        self.counts[f, outcome] = self.counts.get((f, outcome), 0) + touched
        self._history.complete(op, time_ns=self._runtime.now_ns(), type=outcome, messages=messages, error=error)
        if self.heard is not None:
            self.heard(f, outcome, messages or ())


class Recorder(OperationRecorder):
    """The one way from the load to the queues.

    ``clock`` is that of a zone. What programs read from a clock that is wrong goes into the history as true time.
    """

    def __init__(self, history: History, runtime: Runtime, *, clock: Callable[[str], NodeClock] | None = None) -> None:
        super().__init__(history, runtime)
        self._clock = clock or _true_clock

    async def push(
        self, queue: Queue, actor: OperationActor, messages: Sequence[Message], *, intended_ns: int
    ) -> tuple[Message, ...]:
        """Push ``messages`` in one call; those that were not confirmed come back.

        Each is an operation of its own, since each has a fate of its own.
        """
        ops = self._begin_pushes(actor, messages, intended_ns)
        reading = ClockReading.of(self._clock(actor.zone))
        try:
            receipts: Sequence[Receipt] = await queue.push(messages)
        except OPERATION_ERRORS as error:
            receipts = getattr(error, "receipts", ())
            unpushed = _unconfirmed(messages, receipts)
            failed_ids = getattr(error, "failed_ids", None) or [messages[index].id for index in unpushed[:1]]
            for index in unpushed:
                # The error speaks of the messages that it stopped at; the others were never tried.
                outcome = outcome_of(error) if messages[index].id in failed_ids else "fail"
                touched = [_doubtful(messages[index], reading)] if outcome == "info" else None
                self._end(ops[index], "push", outcome, touched, error=text_of(error))
        except ProgramCrashed:
            # Whatever was confirmed to it, it can report nothing.
            for op, message in zip(ops, messages, strict=True):
                self._end(op, "push", "info", [_doubtful(message, reading)], error=PRODUCER_CRASHED)
            raise
        by_id: Mapping[str, tuple[int, Message]] = {
            message.id: (op, message) for op, message in zip(ops, messages, strict=True)
        }
        for receipt in receipts:
            op, message = by_id[receipt.id]
            self._end(op, "push", "ok", [_pushed(message, receipt, reading)])
        return tuple(messages[index] for index in _unconfirmed(messages, receipts))

    def refuse(self, actor: OperationActor, messages: Sequence[Message], *, intended_ns: int, error: str) -> None:
        """Record a push that the load generator itself could not begin."""
        for op in self._begin_pushes(actor, messages, intended_ns):
            self._end(op, "push", "fail", error=error)

    async def pop(self, queue: Queue, actor: OperationActor, *, count: int, wait_ms: int) -> PopResult | None:
        """Return what was delivered, or None if the pop failed."""
        op = self._begin(actor, "pop")
        reading = ClockReading.of(self._clock(actor.zone))
        try:
            deliveries = await queue.pop(count, wait_ms=wait_ms)
            delivered = tuple(RecordedDelivery(each, _delivered(each, op, reading)) for each in deliveries)
        except OPERATION_ERRORS as error:
            self._end(op, "pop", outcome_of(error), error=text_of(error))
            return None
        except ProgramCrashed:
            self._end(op, "pop", "info", error=CRASHED)
            raise
        self._end(op, "pop", "ok", [each.touched for each in delivered])
        return PopResult(op, delivered)

    async def ack(self, queue: Queue, actor: OperationActor, delivered: RecordedDelivery) -> None:
        op = self._begin(actor, "ack", [delivered.touched])
        try:
            acknowledged = await acknowledge(queue, delivered.delivery)
        except OPERATION_ERRORS as error:
            self._end(op, "ack", outcome_of(error), error=text_of(error))
        except ProgramCrashed:
            self._end(op, "ack", "info", error=CRASHED)
            raise
        else:
            self._end(op, "ack", "ok" if acknowledged else "fail", error=None if acknowledged else NO_LEASE)

    async def extend(
        self, queue: ExtendableQueue, actor: OperationActor, delivered: RecordedDelivery, *, timeout_ms: int
    ) -> RecordedDelivery | None:
        """Extend a lease by ``timeout_ms`` from now on; the delivery that is to be acknowledged, None if it is refused.

        Whoever is granted a lease that had ended is given the message once more: a delivery like that of a pop. The
        delivery whose lease had ended is over in any case, which a failed extension says.
        """
        reading, lease_end_ms = ClockReading.of(self._clock(actor.zone)), delivered.touched.lease_end_ms
        late = lease_end_ms is not None and reading.true_ms > lease_end_ms
        f = "pop" if late else "extend"
        changed = delivered.touched._replace(lease_end_ms=reading.true_ms + timeout_ms)
        op = self._begin(actor, f, () if late else [changed])
        try:
            granted = await extend_lease(queue, delivered.delivery, timeout_ms=timeout_ms)
        except OPERATION_ERRORS as error:
            self._end(op, f, outcome_of(error), error=text_of(error))
            return delivered
        except ProgramCrashed:
            self._end(op, f, "info", error=CRASHED)
            raise
        if not late:
            self._end(op, f, "ok" if granted else "fail", [changed], error=None if granted else NO_LEASE)
            return RecordedDelivery(delivered.delivery, changed) if granted else None
        leased_ms = ClockReading.of(self._clock(actor.zone)).true_ms
        given = changed._replace(delivery=op, lease_start_ms=reading.true_ms, leased_ms=leased_ms)
        self._end(op, f, "ok", [given] if granted else [], error=LATE if granted else None)
        self._end(self._begin(actor, "extend", [changed]), "extend", "fail", [changed], error=LATE)
        return RecordedDelivery(delivered.delivery, given) if granted else None

    def handed(self, actor: OperationActor, messages: Sequence[tuple[str, str]], *, shard: str) -> int:
        """Record that messages, by id and key, were handed to a listener: as a pop that takes no time."""
        op = self._begin(actor, "pop")
        touched = [MessageColumns(message_id=name, key=key, shard=shard, delivery=op) for name, key in messages]
        self._end(op, "pop", "ok", touched)
        return op

    def committing(self, actor: OperationActor, message_id: str, delivery: int, *, shard: str) -> int:
        """Record that a cursor is to pass a message that was handed out: its ack begins. The number to end it with."""
        return self._begin(actor, "ack", [MessageColumns(message_id=message_id, shard=shard, delivery=delivery)])

    def committed(self, op: int, outcome: Outcome, *, error: str | None) -> None:
        self._end(op, "ack", outcome, error=error)

    def extended(self, actor: OperationActor, message_id: str, *, popped_by: int, lease_end_ms: int) -> None:
        """Record that the queue moved the end of a lease by itself, and just had this confirmed."""
        ahead_ms = ClockReading.of(self._clock(actor.zone)).offset_ms
        touched = [MessageColumns(message_id=message_id, delivery=popped_by, lease_end_ms=lease_end_ms - ahead_ms)]
        op = self._begin(actor, "extend", touched)
        self._end(op, "extend", "ok", touched)

    def _begin_pushes(self, actor: OperationActor, messages: Sequence[Message], intended_ns: int) -> list[int]:
        return [self._begin(actor, "push", [_asked(message)], intended_ns) for message in messages]


def outcome_of(error: Exception) -> Outcome:
    """Return what is known of an operation that ended with one of ``OPERATION_ERRORS``."""
    return "info" if isinstance(error, Indeterminate) else "fail"


def text_of(error: Exception) -> str:
    """The words of the server or the coordinator, without the engine's own around them: reports group by them."""
    cause = error.__cause__ if isinstance(error.__cause__, OPERATION_ERRORS) else error
    return str(cause) or type(cause).__name__


def _true_clock(zone: str) -> NodeClock:
    return NodeClock(epoch_ns=0, run_ns=lambda: 0)


def _asked(message: Message) -> MessageColumns:
    return MessageColumns(
        message_id=message.id,
        key=message.key,
        priority=message.priority,
        lease_ms=message.lease_ms,
        body=body_sum(message.payload),
    )


def _pushed(message: Message, receipt: Receipt, reading: ClockReading) -> MessageColumns:
    due_ms = receipt.due_ms - reading.ahead_ms(receipt.due_ms - message.timeout_ms)
    return _asked(message)._replace(shard=receipt.shard, due_ms=due_ms)


def _doubtful(message: Message, reading: ClockReading) -> MessageColumns:
    """If the queue took it, it is not due before this."""
    return _asked(message)._replace(due_ms=reading.true_ms + message.timeout_ms)


def _unconfirmed(messages: Sequence[Message], receipts: Sequence[Receipt]) -> list[int]:
    """The positions of ``messages`` without a receipt."""
    confirmed = frozenset(receipt.id for receipt in receipts)
    return [index for index, message in enumerate(messages) if message.id not in confirmed]


def _delivered(delivery: Delivery, op: int, reading: ClockReading) -> MessageColumns:
    ahead_ms = reading.ahead_ms(delivery.lease_start_ms)
    return MessageColumns(
        message_id=delivery.message.id,
        shard=delivery.shard,
        delivery=op,
        lease_start_ms=delivery.lease_start_ms - ahead_ms,
        leased_ms=delivery.leased_ms - ahead_ms,
        lease_end_ms=delivery.lease_end_ms - ahead_ms,
        priority=delivery.message.priority,
        body=body_sum(delivery.message.payload),
    )
