"""The setting ``notify-keyspace-events`` of a server: which events of keys it publishes, and on which channels."""

from dataclasses import dataclass
from typing import Self

KEYSPACE, KEYEVENT, ALL = "K", "E", "A"
CLASSES = {
    "g": "commands on keys of any type",
    "$": "strings",
    "l": "lists",
    "s": "sets",
    "h": "hashes",
    "z": "sorted sets",
    "x": "keys that expired",
    "e": "keys that were evicted",
    "t": "streams",
    "d": "types of modules",
}
"""Classes of events by letter; ``A`` stands for all of them."""

NEW = "n"
"""Keys that are new, which ``A`` does not include."""

MISSES = "m"
"""Reads of keys that are not there."""

ACCEPTED = f"{KEYSPACE}, {KEYEVENT}, {ALL}, {', '.join(CLASSES)} and {NEW}"


@dataclass(frozen=True, slots=True)
class EventFlags:
    """``channels``: K, E or both; ``classes``: letters of ``CLASSES`` and ``n``."""

    channels: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the flags that ``text`` names; raise ``ValueError`` for a letter that is none, or not modelled."""
        for letter in text:
            if letter == MISSES:
                raise ValueError(f"got {text!r}; accepted: {ACCEPTED}, as misses (m) are not modelled in simulation")
            if letter not in (KEYSPACE, KEYEVENT, ALL, NEW, *CLASSES):
                raise ValueError(f"got {text!r}; accepted: nothing, or letters of {ACCEPTED}")
        classes = frozenset(text) & {*CLASSES, NEW} | (frozenset(CLASSES) if ALL in text else frozenset())
        return cls(frozenset(text) & {KEYSPACE, KEYEVENT}, classes)

    @property
    def letters(self) -> str:
        """Return the letters one by one: what a server is given."""
        order = (*CLASSES, NEW, KEYSPACE, KEYEVENT)
        return "".join(each for each in order if each in self.classes or each in self.channels)

    def __str__(self) -> str:
        """Return the letters in the server's order, which leaves ``n`` out beside ``A``."""
        classes = ALL if self.classes >= CLASSES.keys() else "".join(each for each in CLASSES if each in self.classes)
        new = NEW if NEW in self.classes and classes != ALL else ""
        return classes + new + "".join(each for each in (KEYSPACE, KEYEVENT) if each in self.channels)
