"""Carries out the operations of programs, and reports the outcome of each to the ledger."""

from collections.abc import Callable
from dataclasses import replace

from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Indeterminate, Runtime
from zonelab.engine.queue import ExtendableQueue, RepairableQueue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.clients.recorder import OPERATION_ERRORS
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease
from zonelab.studies.properties.gated_program import GatedProgram
from zonelab.studies.properties.ledger import Ledger, PushRecord


class Operations:
    """``now_ms``: true wall-clock time. An operation that returns to a program which has died was never answered."""

    def __init__(self, *, ledger: Ledger, runtime: Runtime, now_ms: Callable[[], int]) -> None:
        self._ledger = ledger
        self._runtime = runtime
        self._now_ms = now_ms

    async def push(self, program: GatedProgram, message: Message) -> None:
        ledger, message_id = self._ledger, message.id
        ledger.push_begun(message, now_ms=self._now_ms())
        self._tell(program, message_id, "push begins")
        outcome, shard, due_ms = PushRecord.INFO, None, None
        try:
            (receipt,) = await program.queue.push([message])
            if not program.gate.crashed:
                outcome, shard, due_ms = PushRecord.OK, receipt.shard, receipt.due_ms
        except OPERATION_ERRORS as error:
            outcome = PushRecord.INFO if isinstance(error, Indeterminate) else PushRecord.FAIL
            ledger.disturb()
        finally:
            ledger.push_ended(message_id, outcome, shard=shard, due_ms=due_ms)
            self._tell(program, message_id, f"push is {outcome}" + (f", into {shard}" if shard else ""))

    async def pop(self, program: GatedProgram, count: int, wait_ms: int) -> None:
        program.popped = 0
        try:
            deliveries = await program.queue.pop(count, wait_ms=wait_ms)
        except OPERATION_ERRORS:
            self._ledger.disturb()
            return
        if program.gate.crashed:
            return
        for delivery in deliveries:
            if delivery.message.id in self._ledger.fates:
                self._tell(program, delivery.message.id, f"delivered, lease until {delivery.lease_end_ms}")
        program.hold(self._ledger.popped(deliveries, now_ms=self._now_ms()), deliveries)

    async def ack(self, program: GatedProgram, delivery: Delivery, number: int) -> None:
        ledger, message_id, invoke_ms = self._ledger, delivery.message.id, self._now_ms()
        was_clear = ledger.ack_begun(message_id)
        self._tell(program, message_id, "ack begins")
        try:
            acknowledged = await acknowledge(program.queue, delivery)
        except OPERATION_ERRORS as error:
            ledger.disturb()
            if not isinstance(error, Indeterminate):
                ledger.ack_settled(message_id, was_clear=was_clear)
            self._tell(program, message_id, f"ack: {type(error).__name__}")
            return
        if program.gate.crashed:
            return
        self._tell(program, message_id, "ack is ok" if acknowledged else "ack: no lease")
        if acknowledged:
            ledger.acked(message_id, number, invoke_ms=invoke_ms, now_ms=self._now_ms())
        ledger.ack_settled(message_id, was_clear=was_clear)

    async def extend(self, program: GatedProgram, delivery: Delivery, number: int, timeout_ms: int) -> None:
        """Extend a lease and report to the ledger until when it may last; one that had ended counts as a new
        delivery.
        """
        assert isinstance(program.queue, ExtendableQueue)
        message_id, invoke_ms, ok_ms = delivery.message.id, self._now_ms(), None
        late = invoke_ms > self._ledger.held_until_ms(message_id, number)
        applied = True
        ended = ", which has ended," if late else ""
        self._tell(program, message_id, f"extension of the lease{ended} to {timeout_ms} ms begins")
        try:
            applied = await extend_lease(program.queue, delivery, timeout_ms=timeout_ms)
            ok_ms = None if program.gate.crashed else self._now_ms()
        except OPERATION_ERRORS as error:
            self._ledger.disturb()
            applied = isinstance(error, Indeterminate)
        finally:
            if applied and not late:
                end_ms = invoke_ms + timeout_ms
                self._ledger.extended(message_id, number, invoke_ms=invoke_ms, ok_ms=ok_ms, end_ms=end_ms)
        if ok_ms is not None:
            self._tell(program, message_id, "extension is granted" if applied else "extension: no lease")
        if late and applied and ok_ms is not None:
            end_ms = invoke_ms + timeout_ms
            granted = replace(delivery, lease_start_ms=invoke_ms, leased_ms=ok_ms, lease_end_ms=end_ms)
            program.held.remove((number, delivery))
            program.held.append((self._ledger.popped([granted], now_ms=ok_ms), granted))

    async def process_unacks(self, program: GatedProgram) -> None:
        """Run the handler of ended leases once; an error only disturbs the ledger."""
        assert isinstance(program.queue, RepairableQueue)
        program.repairing = True
        try:
            await program.queue.process_unacks()
        except OPERATION_ERRORS:
            self._ledger.disturb()
        finally:
            program.repairing = False

    def _tell(self, program: GatedProgram, message_id: str, text: str) -> None:
        self._ledger.note(message_id, f"{self._runtime.now_ns() / NS_PER_MS:12.3f} ms  {program.name}  {text}")
