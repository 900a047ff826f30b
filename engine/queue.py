"""Operations that queues offer to programs, whatever their engine.

Errors are those of ``zonelab.engine.ports``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from zonelab.engine.message import Delivery, Message, Receipt


@dataclass(frozen=True, kw_only=True, slots=True)
class Features:
    """Promises of an engine for every message, by which engines are judged and compared.

    ``time_unit_ms``: the step in which it counts delays and leases. ``early_ms_max``: how long before a message
    is due it may serve it, by its own clock. ``leases``: what a consumer did not finish is delivered again.
    ``priorities``: of what falls due within one unit of time, the smaller number comes first. ``delays``: a message may
    be due later than its push. ``unique_ids``: a push of an id that is waiting is refused, by ``ServerError``; others
    take it for the same message, or put it in twice.

    ``order``: messages of a partition, or with ``keys`` of a key, come out one at a time in the order in which they
    were put in. Such a queue hands them to listeners, members of ``groups`` that each get every message; a listener may
    ``suspend`` (try again later), and ``rollback`` and ``commit`` by hand.
    """

    time_unit_ms: int = 1
    early_ms_max: int = 0
    leases: bool = True
    priorities: bool = True
    delays: bool = True
    unique_ids: bool = False
    order: bool = False
    keys: bool = False
    groups: bool = False
    suspend: bool = False
    rollback: bool = False
    commit: bool = False


class Queue(Protocol):
    """One instance of a queue, as one program holds it. A program that only pushes calls no more than that."""

    async def start(self) -> None:
        """Begin what works in the background, which whoever pops needs."""

    async def push(self, messages: Sequence[Message], /) -> Sequence[Receipt]:
        """Put ``messages`` in; a receipt for each that is confirmed."""

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        """Return up to ``count`` deliveries from the shards that this instance serves."""

    async def ack(self, delivery: Delivery, /) -> bool:
        """The work on ``delivery`` is done. False if there is no lease to end."""

    async def close(self) -> None:
        """Stop what works in the background; messages and leases stay as they are."""


@runtime_checkable
class RepairableQueue(Protocol):
    """A queue whose ended leases come back only when ``process_unacks`` looks for them."""

    async def process_unacks(self) -> Any: ...


@runtime_checkable
class ExtendableQueue(Protocol):
    """Queue whose leases can be set to end ``timeout_ms`` from now; False if there is no such lease."""

    async def set_unack_timeout(self, message_id: str, /, *, timeout_ms: int) -> bool: ...


@runtime_checkable
class ExtendsLeases(Protocol):
    """A queue that moves the ends of its leases while work goes on."""

    def tell_extensions(self, heard: Callable[[str, int], None]) -> None:
        """``heard`` is called for every confirmed one: message id and new end of its lease, in ms of the
        node's clock.
        """


@runtime_checkable
class ReleasableQueue(Protocol):
    """A queue whose leases can be ended without the work being done, so that somebody else can have the message now."""

    async def give_back(self, delivery: Delivery, /) -> None: ...


@runtime_checkable
class PeekableQueue(Protocol):
    """A queue that shows what is due, up to ``count`` messages in order, without leasing it."""

    async def peek(self, count: int, /) -> Sequence[Message]: ...


@runtime_checkable
class SearchableQueue(Protocol):
    """A queue that shows a message, waiting or leased, by its id. None if there is none."""

    async def get(self, message_id: str, /) -> Message | None: ...


@runtime_checkable
class RemovableQueue(Protocol):
    """A queue that gives up a message, waiting or leased, by its id. False if there was none."""

    async def remove(self, message_id: str, /) -> bool: ...


@runtime_checkable
class SizedQueue(Protocol):
    """A queue that counts its messages, waiting and delayed; leased ones are not counted."""

    async def size(self) -> int: ...


OPTIONAL: Mapping[str, type] = {
    "repair": RepairableQueue,
    "extend": ExtendableQueue,
    "give back": ReleasableQueue,
    "peek": PeekableQueue,
    "get": SearchableQueue,
    "remove": RemovableQueue,
    "size": SizedQueue,
}
"""Operations that some queues offer besides ``Queue``, by their name in tables."""


def offered(queue: object) -> tuple[str, ...]:
    """The names of what ``queue``, an instance or its class, offers of ``OPTIONAL``."""
    kind = queue if isinstance(queue, type) else type(queue)
    return tuple(name for name, part in OPTIONAL.items() if issubclass(kind, part))
