"""Logs of events, read from any number of files and put into the order of time."""

import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from zonelab.analysis.events.format import (
    FIELDS,
    LINE_BYTES_MAX,
    NUMBERS,
    OPS,
    TEXTS,
    EventError,
    LogHeader,
    event_in,
    header_of,
    program_in,
)

Ints = NDArray[np.int64]

ABSENT = -1
"""Stands for a number that an event does not have."""

_SCHEMA = pa.schema([(name, pa.string() if name in TEXTS else pa.int64()) for name in FIELDS])


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFile:
    """A file with a log of events: its name, for whoever looks for a line of it, and what is in it."""

    name: str
    data: bytes

    @property
    def program(self) -> str:
        """The name of a program that does not say its own."""
        return PurePath(self.name.removesuffix(".gz")).stem or self.name

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that have anything in them, each with its number, from 1."""
        for number, line in enumerate(io.BytesIO(self.data), start=1):
            if stripped := line.strip():
                yield number, stripped

    def line(self, row: int) -> tuple[int, bytes]:
        """Return line ``row``, counted from 0 among those that have anything in them, with its number."""
        return next(itertools.islice(self.lines(), row, None))


@dataclass(frozen=True, kw_only=True, slots=True)
class EventLog:
    """Events in the order of time; of one time in that of their lines.

    Arrays have an entry an event. ``op``: its number in ``OPS``. ``time_ns``: since 1970. ``id``, ``program``,
    ``zone``: numbers of ``ids``, ``programs`` and ``zones``. Others are ``ABSENT`` where an event does not say them.
    ``timed``: every event says its time. ``drained``: all logs were kept until the queue was empty.
    """

    files: Sequence[LogFile]
    ids: pa.StringArray
    programs: Sequence[str]
    zones: Sequence[str]
    op: Ints
    id: Ints
    time_ns: Ints
    program: Ints
    zone: Ints
    delay_ms: Ints
    lease_ms: Ints
    attempt: Ints
    file: Ints
    row: Ints
    timed: bool
    drained: bool

    def __len__(self) -> int:
        return len(self.op)

    def place(self, event: int) -> str:
        """Return file, line and program of an event, in words."""
        file = self.files[int(self.file[event])]
        number, _ = file.line(int(self.row[event]))
        return f"{file.name}: line {number:,} (program {self.programs[int(self.program[event])]})"


NO_ZONE = "log"
"""Zone of programs that name none."""


def read_events(files: Sequence[LogFile], *, drained: bool = False) -> EventLog:
    """Read the logs in ``files`` as one.

    Args:
        files: the logs; those of several programs may be in one file or in several.
        drained: the logs were kept until the queue was empty, whatever their first lines say.

    Raises:
        EventError: if a line is no event, or there is none.
    """
    parts = [_read(number, file) for number, file in enumerate(files)]
    table = pa.concat_tables([table for table, _ in parts])
    if not len(table):
        raise EventError(f"{files[0].name}: got no event; accepted: a line of JSON an event")
    time_ns, timed = _times(table["t_ns"])
    order = np.argsort(time_ns, kind="stable")
    ids, id_codes = _coded(table["id"])
    programs, program_codes = _coded(table["program"])
    zones, zone_codes = _coded(pc.fill_null(table["zone"], NO_ZONE))
    numbers = {name: _numbers(table[name])[order] for name in ("delay_ms", "lease_ms", "attempt", "file", "row")}
    return EventLog(
        files=files,
        ids=ids,
        programs=programs.to_pylist(),
        zones=zones.to_pylist(),
        op=pc.index_in(table["op"], value_set=pa.array(OPS)).to_numpy().astype(np.int64)[order],
        id=id_codes[order],
        time_ns=time_ns[order],
        program=program_codes[order],
        zone=zone_codes[order],
        timed=timed,
        drained=drained or all(header.drained for events, header in parts if len(events)),
        **numbers,
    )


def _read(number: int, file: LogFile) -> tuple[pa.Table, LogHeader]:
    """Return the events of a file, those without a program under its name, and what its first line says."""
    first = next(file.lines(), None)
    header: LogHeader | None = None
    if first is not None:
        try:
            header = header_of(first[1])
        except ValueError as error:
            raise EventError(f"{file.name}: line {first[0]:,}: {error}") from error
    skipped = 0 if header is None else 1
    table = _table(file, skipped)
    table = table.set_column(
        table.schema.get_field_index("program"), "program", pc.fill_null(table["program"], file.program)
    )
    rows = pa.array(np.arange(len(table), dtype=np.int64) + skipped)
    table = table.append_column("file", pa.array(np.full(len(table), number, dtype=np.int64)))
    return table.append_column("row", rows), header or LogHeader()


def _table(file: LogFile, skipped: int) -> pa.Table:
    """Read all lines at once; if anything is wrong with any, one by one, to name the first of them."""
    try:
        if not file.data.isascii():
            file.data.decode()
        table = _at_once(file.data).slice(skipped)
    except (pa.ArrowException, UnicodeDecodeError):
        return _one_by_one(file, skipped)
    usable = _all_usable(table) and _longest_line(file.data) <= LINE_BYTES_MAX
    return table if usable else _one_by_one(file, skipped)


def _longest_line(data: bytes) -> int:
    """Return the length of the longest line: of fields that are ignored the table says nothing."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return int(np.diff(ends, prepend=-1, append=len(data)).max()) - 1


def _at_once(data: bytes) -> pa.Table:
    if not data or data.isspace():
        return _SCHEMA.empty_table()
    return pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(block_size=LINE_BYTES_MAX),
        parse_options=pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"),
    ).select(_SCHEMA.names)


def _all_usable(table: pa.Table) -> bool:
    usable = [pc.all(pc.is_in(table["op"], value_set=pa.array(OPS)))]
    for name in TEXTS:
        lengths = pc.utf8_length(table[name])
        usable += [pc.all(pc.and_(pc.greater(lengths, 0), pc.less_equal(lengths, FIELDS[name].most)))]
        usable += [pa.scalar(not FIELDS[name].required or not table[name].null_count)]
    for name in NUMBERS:
        usable += [pc.all(pc.and_(pc.greater_equal(table[name], 0), pc.less_equal(table[name], FIELDS[name].most)))]
    return all(one.as_py() is not False for one in usable)


def _one_by_one(file: LogFile, skipped: int) -> pa.Table:
    events: list[dict[str, Any]] = []
    for number, line in itertools.islice(file.lines(), skipped, None):
        event = event_in(line)
        if isinstance(event, str):
            raise EventError(f"{file.name}: line {number:,} (program {program_in(line) or file.program}): {event}")
        events.append(event)
    return pa.Table.from_pylist(events, schema=_SCHEMA)


def _times(column: pa.ChunkedArray) -> tuple[Ints, bool]:
    """Return the time of each event: its own, or that of the last before it that has one; and if all have their own."""
    times = _numbers(column)
    known = times != ABSENT
    if known.all():
        return times, True
    if not known.any():
        return np.arange(len(times), dtype=np.int64) * 1_000, False
    latest = np.maximum.accumulate(np.where(known, np.arange(len(times)), -1))
    return times[np.where(latest < 0, int(np.argmax(known)), latest)], False


def _coded(column: pa.ChunkedArray) -> tuple[pa.StringArray, Ints]:
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)


def _numbers(column: pa.ChunkedArray) -> Ints:
    numbers: Ints = pc.fill_null(column, ABSENT).to_numpy().astype(np.int64)
    return numbers
