"""A Perfetto trace on disk: tracks, slices, instants, counters and flows as packets of its protobuf format.

Numbers of fields are those of ``perfetto_trace.proto``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO

from zonelab.analysis.interchange.protobuf import bytes_field, fixed_field, number_field, text_field

_SEQUENCE = 1
"""One writer, one sequence of packets."""

Arguments = Mapping[str, str | int]


class _Kind(IntEnum):
    """``TrackEvent.Type``."""

    BEGIN = 1
    END = 2
    INSTANT = 3
    COUNTER = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Flows:
    """Ids of the arrows that begin and that end at an event."""

    out: Sequence[int] = ()
    into: Sequence[int] = ()


NO_FLOWS = Flows()


class PerfettoFile:
    """Writes packets to ``file``. Slices of one track nest; times do not fall."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._tracks = 0
        self._pids = 0

    def group(self, name: str) -> int:
        """Return a new track under which others stand: to Perfetto a process."""
        self._pids += 1
        process = number_field(1, self._pids) + text_field(6, name)
        return self._track(bytes_field(3, process))

    def track(self, name: str, *, group: int) -> int:
        """Return a new track for slices and instants."""
        return self._track(text_field(2, name) + number_field(5, group))

    def counter_track(self, name: str, *, group: int) -> int:
        """Return a new track for numbers."""
        return self._track(text_field(2, name) + number_field(5, group) + bytes_field(8, b""))

    def begin(
        self,
        track: int,
        time_ns: int,
        name: str,
        *,
        category: str,
        arguments: Arguments | None = None,
        flows: Flows = NO_FLOWS,
    ) -> None:
        """Begin a slice."""
        self._event(_Kind.BEGIN, track, time_ns, _named(name, category, flows), arguments or {})

    def end(self, track: int, time_ns: int, *, arguments: Arguments | None = None) -> None:
        """End the slice of ``track`` that was begun last."""
        self._event(_Kind.END, track, time_ns, b"", arguments or {})

    def instant(self, track: int, time_ns: int, name: str, *, category: str, flows: Flows = NO_FLOWS) -> None:
        """Mark a moment."""
        self._event(_Kind.INSTANT, track, time_ns, _named(name, category, flows), {})

    def count(self, track: int, time_ns: int, value: int) -> None:
        """Give a counter its value from now on."""
        self._event(_Kind.COUNTER, track, time_ns, number_field(30, value), {})

    def _event(self, kind: _Kind, track: int, time_ns: int, more: bytes, arguments: Arguments) -> None:
        notes = b"".join(bytes_field(4, _annotation(name, value)) for name, value in arguments.items())
        event = number_field(9, kind) + number_field(11, track) + more + notes
        self._packet(number_field(8, time_ns) + bytes_field(11, event))

    def _track(self, what: bytes) -> int:
        self._tracks += 1
        self._packet(bytes_field(60, number_field(1, self._tracks) + what))
        return self._tracks

    def _packet(self, content: bytes) -> None:
        self._file.write(bytes_field(1, content + number_field(10, _SEQUENCE)))


def _named(name: str, category: str, flows: Flows) -> bytes:
    arrows = b"".join(fixed_field(47, one) for one in flows.out) + b"".join(fixed_field(48, one) for one in flows.into)
    return text_field(23, name) + text_field(22, category) + arrows


def _annotation(name: str, value: str | int) -> bytes:
    return text_field(10, name) + (number_field(4, value) if isinstance(value, int) else text_field(6, value))
