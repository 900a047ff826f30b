"""Base of the classes of every checker: a name, and its meaning in two wordings."""

from enum import StrEnum
from typing import Self

_OF_ONE = {
    "1 times": "Once",
    "1 messages": "1 message",
    "1 deliveries": "1 delivery",
    "1 copies": "1 copy",
    "1 entries": "1 entry",
    " were ": " was ",
    " are gone": " is gone",
    " they are ": " it is ",
    " their ": " its ",
    " them": " it",
}
"""Words of a sentence about several cases, as they are in one about a single case."""


class CaseClass(StrEnum):
    """A class of cases that a checker counts.

    ``summary``: when a case counts, for engineers. ``plain``: a sentence about the cases of one run, for somebody who
    does not know the classes; ``{count}`` stands for their number, ``{of_accepted}`` for their share of the messages.
    """

    summary: str
    plain: str

    def __new__(cls, value: str, *_: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        return member

    def __init__(self, _: str, summary: str = "", plain: str = "") -> None:
        self.summary, self.plain = summary, plain or f"{{count}} × {summary}"

    @property
    def words(self) -> str:
        """Return the name as it stands in a sentence."""
        return self.value.replace("_", " ")

    def told(self, count: int, *, of_accepted: str = "") -> str:
        """Return the plain sentence about ``count`` cases. ``of_accepted``: their share of the messages, in words."""
        words = self.plain.format(count=f"{count:,}", of_accepted=of_accepted)
        for several, one in _OF_ONE.items() if count == 1 else ():
            words = words.replace(several, one)
        return words
