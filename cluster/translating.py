"""A coordinator that sends other commands to the zones than clients gave: what its options have in common."""

from collections.abc import Mapping, Sequence

from cluster.connections.batch import Channel
from cluster.convoy import Member
from cluster.coordinator import Coordinator
from cluster.options.codec import Codec, PlainCodec
from cluster.votes.pipeline import Done
from cluster.votes.statistics import CoordinatorStatistics
from cluster.votes.vote import Setting
from engine.ports import Command, Runtime


class TranslatingCoordinator(Coordinator):
    """Commands that a subclass does not understand, or has nothing to do with, go their way as ever.

    ``codec`` reads commands and replies.
    """

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        codec: Codec | None = None,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        super().__init__(zone=zone, channels=channels, runtime=runtime, statistics=statistics)
        self.codec = codec or PlainCodec()

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        given = self._understood(level, commands, packed)
        if given is None:
            super()._send(level, commands, done, packed)
        else:
            self._send_given(level, commands, given, done)

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        given = self._understood(level, commands, packed)
        if given is None:
            super()._send_together(level, members, commands, packed)
            return
        begin = 0
        for its_commands, done in members:
            end = begin + len(its_commands)
            self._send_given(level, its_commands, given[begin:end], done)
            begin = end

    def _understood(
        self, level: Setting, commands: Sequence[Command], packed: bytes | None
    ) -> Sequence[Command] | None:
        """The commands with their arguments, if there is anything to do with them."""
        raise NotImplementedError

    def _send_given(self, level: Setting, commands: Sequence[Command], given: Sequence[Command], done: Done) -> None:
        """``given`` is what is to be done, ``commands`` tells by which rules and in which form it is answered."""
        raise NotImplementedError
