"""Base of the classes of every checker: a name, and its meaning in two wordings."""

from enum import StrEnum
from typing import Self


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
