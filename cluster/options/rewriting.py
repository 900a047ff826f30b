"""A coordinator that sends other commands to the zones than clients gave: what its options have in common."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from zonelab.cluster.commands.routes import upper
from zonelab.cluster.connections.batch import Channel
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.options.codec import CommandCodec, PlainCodec
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.votes.pipeline import Done, Outcome, translated
from zonelab.cluster.votes.rules import Rule
from zonelab.cluster.votes.shared_batch import Member
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import Command, Reply, Runtime, ServerError

_IN_SCRIPT = re.compile(r" script: (?:[0-9a-f]{40}, )?on @user_script:\d+\.$")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """One command of a pipeline as the zones are sent it, and the rule by which their answers are voted on.

    ``value``: what the client gets of the answer of that vote; without it, the answer as it is.
    """

    command: Command
    rule: Rule
    value: Callable[[Any], Any] | None = None


class RewritingCoordinator(PlainCoordinator):
    """Commands that a subclass does not understand, or has nothing to do with, go their way as ever.

    ``codec`` reads commands and replies.
    """

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        codec: CommandCodec | None = None,
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
        """``given`` is what is to be done, ``commands`` states by which rules and in which form it is answered."""
        rules, tally = self._levels[level]
        rewritten, done = self._rewritten(given, list(map(rules.of, commands)), done)

        def first(begin: int, answers: Sequence[Reply]) -> list[Reply]:
            its = zip(given[begin:], rewritten[begin:], answers, strict=False)
            return [self._told(command, one, answer, commands) for command, one, answer in its]

        def outcome(begin: int, sent: Outcome) -> Outcome:
            return first(begin, sent) if isinstance(sent, list) else sent.with_answers(first(begin, sent.answers))

        answered = translated(done, outcome, first)
        asked = self.codec.like([its.command for its in rewritten], commands)
        self._send_mixed([its.rule for its in rewritten], given, tally, answered, None, asked=asked)

    def _told(self, command: Command, its: Rewritten, answer: Any, model: Sequence[Command]) -> Reply:
        """Return the client's answer; an error of a command inside a script as if it had been sent by itself."""
        if type(answer) is ServerError and its.command is not command:
            return ServerError(_IN_SCRIPT.sub("", str(answer)))
        if its.value is None or isinstance(answer, ServerError):
            return cast(Reply, answer)
        return self.codec.encoded(upper(command[0]), its.value(answer), model)

    def _rewritten(
        self, given: Sequence[Command], rules: Sequence[Rule], done: Done
    ) -> tuple[Sequence[Rewritten], Done]:
        """Return the commands that replace ``given`` for the zones, and the callback that replaces ``done``."""
        raise NotImplementedError
