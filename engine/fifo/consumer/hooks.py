"""Programs that watch a member's batches, and what a member counts of them by itself.

Source: RocketMQ's ConsumeMessageHook, and its statistics of OK, FAIL and the time that listeners take.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from zonelab.engine.common.timings import Stat
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.fifo.partition import Partition

TIME_OUT_MS = 15 * 60_000
"""RocketMQ's: who takes longer is only called that. Nothing is interrupted."""


class ConsumeReturnType(StrEnum):
    """The way in which a listener returned, in RocketMQ's words."""

    SUCCESS = "success"
    TIME_OUT = "time out"
    EXCEPTION = "exception"
    RETURNED_NULL = "returned null"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class HandledBatch:
    """``said``: the listener's answer; None: it gave none. ``duration_ms``: how long it took."""

    partition: Partition
    messages: Sequence[BatchMessage]
    said: ConsumeStatus | None
    returned: ConsumeReturnType
    duration_ms: float

    @property
    def success(self) -> bool:
        return self.said in (ConsumeStatus.SUCCESS, ConsumeStatus.COMMIT)


class Hook(Protocol):
    """Called before and after each batch. What it raises is lost: it cannot disturb the listener's work."""

    def before(self, partition: Partition, messages: Sequence[BatchMessage], /) -> None: ...
    def after(self, handled: HandledBatch, /) -> None: ...


@dataclass(slots=True)
class Statistics:
    """Counts of one member. ``ok``, ``failed``: messages; ``consumed_ms``: time of the listener, a batch.

    As in RocketMQ a ``rollback``, and a ``commit`` by hand, count as neither.
    """

    ok: int = 0
    failed: int = 0
    consumed_ms: Stat = field(default_factory=Stat)

    def count(self, handled: HandledBatch, handling: BatchContext) -> None:
        """Count a batch that was handled: how long it took, and whether it is done or comes again."""
        number = len(handled.messages)
        self.consumed_ms.record(handled.duration_ms)
        if handled.said in (None, ConsumeStatus.SUSPEND):
            self.failed += number
        elif handled.said is ConsumeStatus.SUCCESS or handling.commits_itself:
            self.ok += number


def how(said: ConsumeStatus | None, *, raised: bool, duration_ms: float) -> ConsumeReturnType:
    """In RocketMQ's order of cases."""
    if said is None:
        return ConsumeReturnType.EXCEPTION if raised else ConsumeReturnType.RETURNED_NULL
    if duration_ms >= TIME_OUT_MS:
        return ConsumeReturnType.TIME_OUT
    return ConsumeReturnType.FAILED if said is ConsumeStatus.SUSPEND else ConsumeReturnType.SUCCESS


class Watchers:
    """The hooks and the statistics of one member."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = tuple(hooks)
        self.statistics = Statistics()

    def before(self, partition: Partition, messages: Sequence[BatchMessage]) -> None:
        for hook in self._hooks:
            with suppress(Exception):
                hook.before(partition, messages)

    def after(self, handled: HandledBatch, handling: BatchContext) -> None:
        """Tell every hook that a batch was handled. What a hook raises is dropped."""
        self.statistics.count(handled, handling)
        for hook in self._hooks:
            with suppress(Exception):
                hook.after(handled)
