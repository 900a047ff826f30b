"""Consumers of ordered messages: programs that are members of a group, with a listener that works and has effects."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.fifo.events import Observer
from zonelab.engine.ports import Promise, Runtime
from zonelab.scenarios.clients.consumers import WorkOf
from zonelab.scenarios.clients.program_crash import CrashSwitch
from zonelab.scenarios.clients.recorder import OperationActor, Recorder
from zonelab.scenarios.clients.recorder import Outcome as Fate
from zonelab.scenarios.clients.sinks import FENCED, Effect, Sink
from zonelab.scenarios.queues.under_test import OrderedQueueUnderTest
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.spec.ordered.keys import state_of


class ListeningProgram:
    """One member, from its start to its stop or crash.

    ``sink``: what its messages have their effects on, each at the end of the work on it. ``failing``: message → so many
    attempts at it fail.
    """

    def __init__(
        self,
        actor: OperationActor,
        *,
        settings: spec.ConsumerSection,
        poison: Collection[str],
        queue: OrderedQueueUnderTest,
        sink: Sink | None,
        recorder: Recorder,
        runtime: Runtime,
        work_of: WorkOf | None = None,
        failing: Mapping[str, int] | None = None,
    ) -> None:
        self.switch = CrashSwitch(actor.process)
        self.poisoned = False
        self._actor, self._poison, self._queue, self._sink = actor, poison, queue, sink
        self._failing = failing or {}
        self._recorder, self._runtime = recorder, self.switch.view.runtime_of(runtime)
        self._draw_work_ns = parse_lag(settings.processing).sampler(runtime.random(f"work {actor.process}"))
        self._work = work_of(actor) if work_of is not None else self._sleep
        self._ended: Promise[None] = runtime.promise()
        inner, counts = queue.observer(actor.zone), queue.acknowledges(actor.process)
        self._observer = PopRecorder(inner, recorder, actor, counts=counts)
        self._commit_every = queue.commit_every
        self._uncommitted: dict[str, int] = {}

    async def run(self) -> None:
        """Be a member of the group, with a listener that works, until it is stopped or crashes."""
        actor, queue = self._actor, self._queue
        member = await queue.member(
            actor.zone, self.switch.wrap, name=actor.process, listener=self._listen, observer=self._observer
        )

        def crashed() -> None:
            member.kill()
            self.stop()

        self.switch.when_crashed(crashed)
        await member.start()
        if self.switch.crashed:
            member.kill()
        else:
            await self._ended
        if self.switch.crashed:
            self._observer.note("member", member=actor.process, session=actor.process, status="crashed")
            await queue.gone(actor.process, actor.zone)
        else:
            await member.close()

    def stop(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def _listen(self, batch: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus:
        self._observer.delivered(handling.partition.name, batch)
        for delivered in batch:
            if delivered.record.id in self._poison:
                self.switch.check()  # whom a fault has ended by now, nothing kills
                self.poisoned = True
                self.switch.crash()
            self.switch.check()
            await self._work(delivered.record.id)
            self.switch.check()
            fails = delivered.attempt <= self._failing.get(delivered.record.id, 0)
            if fails or not self._affect(delivered, handling):
                return ConsumeStatus.SUSPEND
        return self._committed(handling, len(batch))

    def _committed(self, handling: BatchContext, number: int) -> ConsumeStatus:
        if self._commit_every is None:
            return ConsumeStatus.SUCCESS
        handling.commits_itself = False
        waiting = self._uncommitted.get(handling.partition.name, 0) + number
        commits = waiting >= self._commit_every
        self._uncommitted[handling.partition.name] = 0 if commits else waiting
        return ConsumeStatus.COMMIT if commits else ConsumeStatus.SUCCESS

    async def _sleep(self, message_id: str) -> None:
        await self._runtime.sleep(round(self._draw_work_ns() * self.switch.view.work_factor))

    def _affect(self, delivered: BatchMessage, handling: BatchContext) -> bool:
        """Return whether the message is done: not if the sink knows a newer token than that of this delivery."""
        if self._sink is None:
            return True
        record, columns = delivered.record, self._observer.columns_of(delivered.op_id)
        recorded = {**columns, "op_id": delivered.op_id}
        call = self._observer.begin("sink", **recorded)
        answer = self._sink.take(
            Effect(
                group=columns["group"],
                partition=handling.partition.name,
                place=(record.epoch, delivered.offset),
                ballot=(columns.get("generation") or 0, columns.get("token") or 0),
                key=record.key,
                message_id=record.id,
                state=state_of(record.body),
            )
        )
        if answer.refused is None:
            self._observer.end(call, outcome="ok", position=answer.position)
        else:
            self._observer.end(call, outcome="fail", status=answer.refused)
        return answer.refused != FENCED


@dataclass(slots=True)
class _DeliveredMessage:
    """A message that was handed out and is not committed."""

    offset: int
    op: int
    message_id: str


@dataclass(slots=True)
class PopRecorder:
    """An observer that hands everything on to ``inner``; and the history of operations hears of deliveries as pops.

    A message is acknowledged when a cursor behind it is committed, or the message among those finished above it.
    ``counts``: otherwise that history hears nothing.
    """

    inner: Observer
    recorder: Recorder
    actor: OperationActor
    counts: bool = True
    _handed: dict[str, list[_DeliveredMessage]] = field(default_factory=dict)
    _acks: dict[int, list[int]] = field(default_factory=dict)
    _started: dict[int, dict[str, Any]] = field(default_factory=dict)

    def delivered(self, partition: str, batch: Sequence[BatchMessage]) -> None:
        """Record that ``batch`` is handed to the listener, which is about to be called."""
        if not self.counts:
            return
        op = self.recorder.handed(self.actor, [(each.record.id, each.record.key) for each in batch], shard=partition)
        handed = self._handed.setdefault(partition, [])
        handed += [_DeliveredMessage(each.offset, op, each.record.id) for each in batch]

    def columns_of(self, op_id: int) -> dict[str, Any]:
        """Return the columns of the delivery ``op_id`` that its effect has, too, such as member and message."""
        return {name: self._started[op_id][name] for name in _OF_EFFECT if name in self._started[op_id]}

    def begin(self, kind: str, /, **columns: Any) -> int:
        call = self.inner.begin(kind, **columns)
        if kind == "commit":
            partition, cursor, above = columns["partition"], columns["cursor"], columns.get("above", ())
            handed = self._handed.get(partition, [])
            done = [each for each in handed if each.offset < cursor or each.offset in above]
            self._handed[partition] = [each for each in handed if each not in done]
            self._acks[call] = [
                self.recorder.committing(self.actor, each.message_id, each.op, shard=partition) for each in done
            ]
        return call

    def end(self, call: int, /, *, outcome: str, **columns: Any) -> None:
        self.inner.end(call, outcome=outcome, **columns)
        for op in self._acks.pop(call, ()):
            self.recorder.committed(op, cast(Fate, outcome), error=columns.get("status"))

    def start(self, **columns: Any) -> int:
        op_id = self.inner.start(**columns)
        self._started[op_id] = columns
        return op_id

    def note(self, kind: str, /, **columns: Any) -> None:
        self.inner.note(kind, **columns)
        if kind == "end":
            self._started.pop(columns["op_id"], None)


_WHO = ("group", "partition", "session", "member", "generation", "token")
_OF_EFFECT = (*_WHO, "offset", "epoch", "key", "message_id")
