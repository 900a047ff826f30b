"""Doors, which may stand between a coordinator and its clients."""

from collections.abc import Sequence
from typing import Protocol

from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.votes.pipeline import Done
from zonelab.cluster.votes.shared_batch import Member
from zonelab.engine.ports import Command


class Send(Protocol):
    """Carries out one pipeline, as ``Coordinator.submit`` does without a door."""

    def __call__(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None, /) -> None: ...


class Door(Protocol):
    """Gets everything that clients submit to a coordinator, and sends on what is to be carried out."""

    def refusal(self, command: Command, level: Setting) -> str | None:
        """The error in place of carrying out ``command``, given with its arguments; None if it may be carried out."""

    def take(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None, send: Send) -> None:
        """Treat ``commands`` and pass them on to ``send``; the arguments are those of ``Coordinator.submit``."""

    def take_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes, send: Send
    ) -> None:
        """Treat a transaction's commands; the arguments are those of ``Coordinator.submit_together``."""
