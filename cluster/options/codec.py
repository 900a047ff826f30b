"""Forms of commands and replies for the users of a coordinator that has to understand them."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

from zonelab.engine.ports import Command, Reply


class CommandCodec(Protocol):
    """``model`` is what the user of the coordinator has given it as commands."""

    def commands(self, commands: Sequence[Command], packed: bytes | None) -> Sequence[Command] | None:
        """The commands with their arguments; None if they cannot be separated and have to be sent as they are."""

    def inside(self, commands: Sequence[Command], packed: bytes | None) -> Sequence[Command] | None:
        """Return what stands between MULTI and EXEC, if the commands are a transaction; None if they are not."""

    def like(self, commands: Sequence[Command], model: Sequence[Command]) -> Sequence[Command]:
        """``commands`` for zones whose replies are to be of the form that ``model`` asks for."""

    def packed(self, commands: Sequence[Command]) -> bytes | None:
        """``commands``, which have their arguments, in wire form; None if nobody needs it."""

    def decoded(self, reply: Reply) -> Any:
        """Return what a zone's reply says."""

    def encoded(self, name: str, value: Any, model: Sequence[Command]) -> Reply:
        """``value`` as a reply to the command ``name``, of the form that ``model`` asks for."""


class PlainCodec:
    """Commands and replies are what they say."""

    def commands(self, commands: Sequence[Command], packed: bytes | None) -> Sequence[Command]:
        return commands

    def inside(self, commands: Sequence[Command], packed: bytes | None) -> None:
        return None

    def like(self, commands: Sequence[Command], model: Sequence[Command]) -> Sequence[Command]:
        return commands

    def packed(self, commands: Sequence[Command]) -> None:
        return None

    def decoded(self, reply: Reply) -> Any:
        return reply

    def encoded(self, name: str, value: Any, model: Sequence[Command]) -> Reply:
        return cast(Reply, value)
