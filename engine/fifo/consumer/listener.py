"""Listeners: the function that a program gives a member, its arguments and its answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition


class ConsumeStatus(StrEnum):
    """A listener's answer for a batch. An exception, or None, counts as ``suspend``.

    ``success``: it is done. ``suspend``: try it again, in a while. With manual commits ``rollback`` tries all
    since the last commit again, and ``commit`` ends it; with automatic ones both count as ``success``.

    Example::

        from collections.abc import Sequence

        def handle(delivered: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus:
            print(delivered[0].record.body, delivered[0].attempt)
            handling.suspend_ms = 100
            return ConsumeStatus.SUSPEND if delivered[0].attempt == 1 else ConsumeStatus.SUCCESS

        with cluster("sim") as lab, queues.open_ordered("orders", lab) as orders:
            orders.push(Message(id="1", key="order-1", payload="hello"))
            with orders.listen(handle):
                orders.wait_empty(timeout_s=10)
    """

    SUCCESS = "success"
    SUSPEND = "suspend"
    ROLLBACK = "rollback"
    COMMIT = "commit"


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchMessage:
    """One message of a batch that a listener is handed.

    ``record``: the message, with ``id``, ``key``, ``body`` and ``due_ms``. ``offset``: its place in the partition,
    from 0. ``attempt``: from 1, as this member counts; another member begins anew. ``op_id``: of this delivery.
    """

    record: PartitionRecord
    offset: int
    attempt: int
    op_id: int


@dataclass(kw_only=True, slots=True)
class BatchContext:
    """Context of one batch, whose fields a listener may set.

    ``commits_itself``: what succeeds is done; otherwise ``ConsumeStatus.COMMIT`` says so. ``suspend_ms``: the pause
    before the next try instead of the group's; None: that. ``fence``: generation and token of the grant under which it
    works, to be sent to the system that takes the effects, which refuses older ones; (0, 0) where grants have none.
    ``partition``: that of the batch, with ``topic`` and ``name``.
    """

    partition: Partition
    fence: tuple[int, int] = (0, 0)
    commits_itself: bool = True
    suspend_ms: int | None = None


Listener = Callable[[Sequence[BatchMessage], BatchContext], Awaitable[ConsumeStatus | None]]
