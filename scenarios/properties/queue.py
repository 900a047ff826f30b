"""What a queue must offer to be driven by ``QueueMachine``, and what a program that uses it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from engine.message import Delivery, Message, Receipt
from engine.ports import Clock, Connection, Runtime


class Queue(Protocol):
    """One instance of a queue, as one program holds it. Errors are those of ``engine.ports``."""

    async def push(self, messages: Sequence[Message], /) -> Sequence[Receipt]: ...
    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        """Up to ``count`` deliveries of what this instance serves."""

    async def ack(self, message_id: str, /) -> bool:
        """False if there is no lease to end."""


@runtime_checkable
class Repairing(Protocol):
    """A queue whose ended leases come back only when it is told to look for them."""

    async def process_unacks(self) -> Any: ...


@runtime_checkable
class Extending(Protocol):
    """A queue whose leases can be given a new end, ``timeout_ms`` from now. False if there is no lease."""

    async def set_unack_timeout(self, message_id: str, /, *, timeout_ms: int) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What one program in ``zone`` sees of the world.

    ``connection`` goes through the zone's coordinator at the machine's level, ``local`` through the same at DC_ONE,
    ``safe`` at DC_SAFE_QUORUM; ``reads`` are for reading one zone alone, by its name.
    """

    zone: str
    zones: tuple[str, ...]
    runtime: Runtime
    clock: Clock
    connection: Connection
    local: Connection
    safe: Connection
    reads: Mapping[str, Connection]
