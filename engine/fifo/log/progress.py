"""Progress of a group in a partition, as a zone keeps it."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Progress:
    """``cursor``: the lowest offset that is not finished. ``above``: those behind it that are, in rising order.

    A group that is in order by partition finishes one offset after the other and has none above its cursor. Both are
    one text, so that they are written at once.
    """

    cursor: int
    above: tuple[int, ...] = ()

    def text(self) -> str:
        """Return the stored form: the cursor, and the offsets above it that are finished, separated by spaces."""
        return " ".join(map(str, (self.cursor, *self.above)))

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        cursor, *above = map(int, raw.split())
        return cls(cursor, tuple(above))
