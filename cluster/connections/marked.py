"""Commands of one client that depend on what its connection has carried before: transactions and watched keys."""

from collections.abc import Iterable, Sequence
from typing import Any

from zonelab.engine.ports import Command


class MarkedCommands(tuple[Command, ...]):
    """Commands with marks, for the connections that carry them.

    ``replies``: how many replies make one answer, the last of them counts; more than 1 only if there is one command.
    ``watches``: the first, second, … WATCH of a client, as (client's lease, number). ``watched``: the last of them;
    if a connection has not carried all of them, because it is a new one or was cut meanwhile, nothing is executed and
    the answer is nil. ``queued``: what stands between MULTI and EXEC, or the command with its arguments, for what does
    not read bytes.
    """

    replies: int = 1
    watches: tuple[int, int] | None = None
    watched: tuple[int, int] | None = None
    queued: Sequence[Command] = ()
    plain: bool = True
    """Neither ``replies`` nor ``watches`` nor ``watched`` is given."""

    def __new__(cls, commands: Iterable[Command], **marks: Any) -> "MarkedCommands":
        made = super().__new__(cls, commands)
        made.__dict__.update(marks)
        if not marks.keys().isdisjoint(("replies", "watches", "watched")):
            made.plain = False
        return made


class CarriedWatches:
    """The WATCH that one connection has carried last, without a gap, of the client that has it."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def carry(self, commands: MarkedCommands) -> bool:
        """Take note of ``commands``; False if they must not be executed, as some WATCH before them was not carried."""
        if commands.watches is not None:
            lease, number = commands.watches
            if number == 1 or self._last == (lease, number - 1):
                self._last = commands.watches
        return commands.watched is None or commands.watched == self._last
