"""A pipeline on its way to a zone, and what carries it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.connections.wire_size import bytes_of_commands
from zonelab.engine.ports import Command, Reply

Answer = list[Reply] | ZoneFailure
"""The replies to a batch, one a command; or the one failure that stands for all of them."""


class Batch:
    """Commands that travel and are executed together, in order. One batch may go to several zones.

    ``writes``: any of them may change something. ``packed``: the wire form of all of them. Without it, the first real
    connection that needs it fills it in for all zones. ``prepared``: what the first simulated server that executes the
    batch keeps for the others. ``first_replies``: what the first server said that is reached by bytes, as it came and
    cut into replies, so that the same from another one need not be cut once more.
    """

    __slots__ = ("_wire_bytes", "commands", "first_replies", "packed", "prepared", "writes")

    def __init__(self, commands: Sequence[Command], *, writes: bool, packed: bytes | None = None) -> None:
        self.commands = commands
        self.writes = writes
        self.packed = packed
        self.prepared: Any = None
        self.first_replies: tuple[bytes, list[Reply]] | None = None
        self._wire_bytes = 0

    @property
    def wire_bytes(self) -> int:
        """Return how many bytes it has on the wire, counted once for all zones."""
        if not self._wire_bytes:
            self._wire_bytes = bytes_of_commands(self.commands) if self.packed is None else len(self.packed)
        return self._wire_bytes


class Channel(Protocol):
    """Connection from one coordinator to one zone's server. Answers come in the order of submission."""

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        """Send ``batch``; ``done`` is called exactly once, possibly within this call."""

    def reset(self) -> None:
        """Break the connection. Everything in flight fails; another connection is made after the back-off."""

    @property
    def connected(self) -> bool: ...


class Upstream(Protocol):
    """One pipelined connection to one server, as an arm provides it. It neither times out nor reconnects."""

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        """Connect. ``on_open`` is called once connected; ``on_close`` if that fails or the connection breaks."""

    def send(self, batch: Batch, on_replies: Callable[[list[Reply]], None]) -> None:
        """Send on the open connection. ``on_replies`` is called when all replies to ``batch`` are there."""

    def close(self) -> None:
        """Drop the connection or the attempt; no callback is called afterwards."""
