"""History of a queue that a user's programs use, recorded as that of a run."""

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from typing import Any

from zonelab.analysis.checkers.check import check_recorded
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.history import FAULTS, FINAL_STATE, OPERATIONS, History
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderHistory
from zonelab.cluster.testbed import Testbed
from zonelab.engine.fifo.events import Observer
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import PortError
from zonelab.engine.queue import ExtendableQueue, Queue
from zonelab.scenarios.clients.listening import PopRecorder
from zonelab.scenarios.clients.recorder import OPERATION_ERRORS, OperationActor, RecordedDelivery, Recorder
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease
from zonelab.scenarios.queues.end_state import with_text
from zonelab.scenarios.queues.under_test import OrderedQueueUnderTest, QueueUnderTest
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.run_files.run_json import identity
from zonelab.scenarios.run_files.tables import FAULTS_NAME, FINAL_STATE_NAME, OPERATIONS_NAME, MemoryRun, MemoryTables
from zonelab.scenarios.spec.scenario import Scenario


class ProgramRecording:
    """History of one queue: ``recorder`` writes its programs' operations; ``verdict`` reads the zones and judges."""

    def __init__(self, testbed: Testbed, scenario: Scenario, adapter: QueueUnderTest) -> None:
        self._testbed, self._scenario, self._adapter = testbed, scenario, adapter
        self.tables = MemoryTables()
        self._history = History(self.tables(OPERATIONS_NAME, OPERATIONS))
        self.faults = self.tables(FAULTS_NAME, FAULTS)
        self.recorder = Recorder(self._history, testbed.runtime, clock=testbed.clock)
        self.deliveries: dict[Delivery, RecordedDelivery] = {}
        """The deliveries as the history has them: one may be acknowledged through another program."""
        if isinstance(adapter, OrderedQueueUnderTest):
            adapter.record(OrderHistory(self.tables(ORDER_NAME, ORDER)))
        self._begin_ns = testbed.runtime.now_ns()

    def now_ns(self) -> int:
        return self._testbed.runtime.now_ns()

    def of(self, queue: Queue, process: str, zone: str) -> "RecordedQueue":
        """Return ``queue`` for the program named ``process``, with every operation recorded."""
        return RecordedQueue(queue, self, OperationActor(process, zone))

    def acknowledging(self, observer: Observer, process: str, zone: str, *, counts: bool) -> PopRecorder:
        """Return the observer of a member of a consumer group: see ``PopRecorder``."""
        return PopRecorder(observer, self.recorder, OperationActor(process, zone), counts=counts)

    async def verdict(self, *, drained: bool, drain_begin_ns: int) -> Verdict:
        """Return the verdict on all messages so far. Nothing may use the queue, and no fault be in force."""
        record = RunRecord(shards=dict(self._adapter.shards), drained=drained)
        now_ns = self._testbed.runtime.now_ns()
        record.phases = {"load": (self._begin_ns, drain_begin_ns), "drain": (drain_begin_ns, now_ns)}
        record.coordinators = {name: one.statistics.as_dict() for name, one in self._testbed.coordinators.items()}
        tables = MemoryTables(dict(self.tables.tables))
        await self._read_end_state(record, tables)
        facts = identity(self._scenario, record, epoch_ns=self._testbed.epoch_ns)
        started = f"{datetime.fromtimestamp(self._testbed.epoch_ns / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}"
        info = RunInfo(zonelab_version="", started_utc=started, arm=self._scenario.arm, **facts)
        return check_recorded(MemoryRun(info, tables))

    async def _read_end_state(self, record: RunRecord, tables: MemoryTables) -> None:
        for name in (FINAL_STATE_NAME, FINAL_ORDER_NAME):
            tables.tables.pop(name, None)
        state = tables(FINAL_STATE_NAME, FINAL_STATE)
        for zone in self._scenario.zones:
            try:
                async for row in self._adapter.final_state(zone):
                    state.append(with_text(row))
                if isinstance(self._adapter, OrderedQueueUnderTest):
                    order = tables(FINAL_ORDER_NAME, FINAL_ORDER)
                    async for row in self._adapter.final_order(zone):
                        order.append(row)
            except PortError:
                record.unread_zones.append(zone)


class RecordedQueue:
    """Queue of one program whose operations are recorded; the caller gets results and errors unchanged."""

    def __init__(self, queue: Queue, recording: ProgramRecording, actor: OperationActor) -> None:
        self._queue, self._recording, self._actor = queue, recording, actor

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        kept = _KeptResult(self._queue)
        now_ns = self._recording.now_ns()
        await self._recording.recorder.push(kept, self._actor, messages, intended_ns=now_ns)
        return list(kept.result())

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        """Pop from the queue, and record the operation."""
        kept = _KeptResult(self._queue)
        popped = await self._recording.recorder.pop(kept, self._actor, count=count, wait_ms=wait_ms)
        for delivered in popped.delivered if popped is not None else ():
            self._recording.deliveries[delivered.delivery] = delivered
        return list(kept.result())

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge a delivery, and record the operation."""
        known = self._recording.deliveries.get(delivery)
        if known is None:
            return await acknowledge(self._queue, delivery)
        kept = _KeptResult(self._queue)
        await self._recording.recorder.ack(kept, self._actor, known)
        return bool(kept.result())

    async def extend(self, delivery: Delivery, *, timeout_ms: int) -> bool:
        """Extend a lease, and record the operation."""
        assert isinstance(self._queue, ExtendableQueue)
        known = self._recording.deliveries.get(delivery)
        if known is None:
            return await extend_lease(self._queue, delivery, timeout_ms=timeout_ms)
        kept = _KeptResult(self._queue)
        changed = await self._recording.recorder.extend(kept, self._actor, known, timeout_ms=timeout_ms)
        if changed is not None:
            self._recording.deliveries[delivery] = changed
        return bool(kept.result())


class _KeptResult:
    """Operation of ``queue`` that keeps its result or error for the program: the recorder keeps neither."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._result: Any = None
        self._error: Exception | None = None

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def push(self, messages: Sequence[Message], /) -> Sequence[Receipt]:
        receipts: Sequence[Receipt] = await self._keep(self._queue.push(messages))
        return receipts

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        deliveries: Sequence[Delivery] = await self._keep(self._queue.pop(count, wait_ms=wait_ms))
        return deliveries

    async def ack(self, delivery: Delivery, /) -> bool:
        return bool(await self._keep(acknowledge(self._queue, delivery)))

    async def set_unack_timeout(self, delivery: Any, /, *, timeout_ms: int) -> bool:
        assert isinstance(self._queue, ExtendableQueue)
        return bool(await self._keep(extend_lease(self._queue, delivery, timeout_ms=timeout_ms)))

    async def _keep(self, operation: Awaitable[Any]) -> Any:
        try:
            self._result = await operation
        except OPERATION_ERRORS as error:
            self._error = error
            raise
        return self._result

    def result(self) -> Any:
        """Return what the operation returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result
