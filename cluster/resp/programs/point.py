"""Point among the commands of a program at which its port holds it."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from zonelab.cluster.fields import Count, Flag, Positive, Section
from zonelab.cluster.glob import matches
from zonelab.cluster.resp.protocol import wire

HOLD_S = 10.0
"""Seconds for which a program is held unless its point says otherwise."""

_PATTERN_WORDS_MAX = 32


class Moment(StrEnum):
    """The moment of a command at which its program is held."""

    BEFORE = "before"
    """It has arrived; no zone has got it."""
    APPLIED = "applied"
    """Every zone that is up has answered it; the program has no answer."""
    REPLIED = "replied"
    """The program has its answer, and nothing that it sends after that is taken."""


def _some_words(text: str) -> str:
    if not 1 <= len(text.split()) <= _PATTERN_WORDS_MAX:
        raise ValueError(f"got {text!r}; accepted: 1 to {_PATTERN_WORDS_MAX} words, such as LMOVE * *active*")
    return text


CommandPattern = Annotated[str, AfterValidator(_some_words)]
"""The first words of a command, each a glob of the server's kind; the name matches in either case."""


class CommandPoint(Section):
    """The command of a program at which it is held, and when.

    What arrived in one piece, such as a pipeline or MULTI … EXEC, is one point, whichever of its commands is meant: a
    process that dies has written all of it, or nothing.
    """

    at_command: Count = 1
    """Number of the command, from when the program is watched on; with ``at``, of those that match."""
    at: CommandPattern | None = None
    when: Moment = Moment.BEFORE
    cut: Flag = False
    """Cut what arrived in one piece at the command, as the death of a machine can do."""
    nonempty: Flag = False
    """Pass over commands whose answer holds nothing; not with ``when: before``, which knows no answer."""
    hold_s: Positive = Field(default=HOLD_S)
    """Seconds after which the program goes on if nobody says what becomes of it."""

    @model_validator(mode="after")
    def _has_answer(self) -> "CommandPoint":
        if self.nonempty and self.when is Moment.BEFORE:
            raise ValueError("nonempty needs when: applied or replied")
        return self

    def matches(self, command: bytes) -> bool:
        """Return whether ``command``, in wire form, is one of those that the pattern means."""
        if self.at is None:
            return True
        patterns = self.at.encode().split()
        words, count = wire.beginning(command, len(patterns))
        if count < len(patterns) or not matches(patterns[0].upper(), words[0].upper()):
            return False
        return all(map(matches, patterns[1:], words[1:]))
