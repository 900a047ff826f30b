"""What a program gives a member to do with messages."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zonelab.engine.fifo.log.record import Record
from zonelab.engine.fifo.partition import Partition


class Outcome(StrEnum):
    """What a listener says of a batch. An exception, or None, counts as ``suspend``.

    ``success``: it is done. ``suspend``: try it again, in a while. ``rollback`` and ``commit``, by hand: all since the
    last commit is to be tried again, or is done; where commits are automatic both count as ``success``.
    """

    SUCCESS = "success"
    SUSPEND = "suspend"
    ROLLBACK = "rollback"
    COMMIT = "commit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """``attempt``: from 1, as this member counts; another member begins anew. ``op_id``: of this delivery."""

    record: Record
    offset: int
    attempt: int
    op_id: int


@dataclass(kw_only=True, slots=True)
class Handling:
    """What a listener may set while it handles a batch.

    ``commits_itself``: what succeeds is done; otherwise ``Outcome.COMMIT`` says so. ``suspend_ms``: the pause before
    the next try instead of the group's; None: that. ``fence``: generation and token of the grant under which it works,
    for whoever takes the effect and has to refuse older ones; (0, 0) where grants have none.
    """

    partition: Partition
    fence: tuple[int, int] = (0, 0)
    commits_itself: bool = True
    suspend_ms: int | None = None


Listener = Callable[[Sequence[Delivered], Handling], Awaitable[Outcome | None]]
