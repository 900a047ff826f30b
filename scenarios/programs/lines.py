"""Lines out of what a program writes, each at most so long."""

from collections.abc import Iterator
from dataclasses import dataclass

from zonelab.analysis.events.format import LINE_BYTES_MAX


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """A line without its end. ``cut``: so many bytes of it were left out; ``whole``: its end was there."""

    number: int
    text: bytes
    cut: int = 0
    whole: bool = True


class LineSplitter:
    """Splits what is fed into lines. Memory is bounded: of a longer line the begin stays."""

    def __init__(self, *, most: int = LINE_BYTES_MAX) -> None:
        self._most = most
        self._open = bytearray()
        self._cut = 0
        self._number = 1

    def feed(self, data: bytes) -> Iterator[WrittenLine]:
        """Yield the lines that end in ``data``."""
        *ended, rest = data.split(b"\n")
        for part in ended:
            self._keep(part)
            yield self._closed(whole=True)
        self._keep(rest)

    def last(self) -> Iterator[WrittenLine]:
        """Yield what is left without an end, if anything is."""
        if self._open:
            yield self._closed(whole=False)

    def _keep(self, part: bytes) -> None:
        free = self._most - len(self._open)
        self._open += part[:free]
        self._cut += max(0, len(part) - free)

    def _closed(self, *, whole: bool) -> WrittenLine:
        line = WrittenLine(self._number, bytes(self._open), self._cut, whole)
        self._open.clear()
        self._cut = 0
        self._number += 1
        return line
