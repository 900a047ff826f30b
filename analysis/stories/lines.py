"""The parts of every story: lines in the order of time, of faults and of clients, and a bound on how many are shown."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.runs.program_commands import SentByProgram

STORIES_MAX = 3
"""Cases of one class that are shown at most; all of them are in ``offenders.parquet`` or ``anomalies.parquet``."""

ROWS_MAX = 40
"""Events that are shown of the begin and the end of a case, beside those that ``MIDDLE_MAX`` bounds."""

MIDDLE_MAX = 200
"""Deliveries, acks and events of the violation that are shown between the first and the last events of a case."""

_NEVER_LEFT_OUT = ("pop", "ack")

FAULTS_MAX = 10
"""Faults that a story tells: those that end last before it ends, or are then still in force."""

_OUTCOMES = {"ok": "done", "fail": "failed", "info": "nobody knows"}


FAULT = "FAULT"
CLOCK = "CLOCK"


class StorySource(Protocol):
    """A run whose stories can be made: a ``RunDirectory``, or the same in memory."""

    @property
    def info(self) -> RunInfo: ...
    def operations(
        self, columns: Sequence[str] | None = None, *, messages: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]: ...
    def final_state(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...
    def table(self, name: str, schema: pa.Schema) -> pa.Table | None: ...
    def faults(self) -> list[FaultBand]: ...
    def program_commands(self, process: str) -> Iterator[SentByProgram]:
        """Yield what a process of the user's own programs sent, if that was recorded."""


class Line(NamedTuple):
    """``time_ns``: run time. ``telling``: this event shows the violation. ``kept``: it is never left out."""

    time_ns: int
    who: str
    what: str
    telling: bool = False
    kept: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Story of one message or key. ``left_out``: number of events that were left out between the first and the last."""

    subject: str
    detail: str
    lines: tuple[Line, ...]
    left_out: int = 0
    at_rest: tuple[str, ...] = ()

    @property
    def span_s(self) -> tuple[float, float]:
        """A little more than the time from the first to the last line; faults may have begun long before."""
        own = [line.time_ns for line in self.lines if line.who != FAULT]
        begin_s, end_s = min(own) / 1e9, max(own) / 1e9
        margin_s = max(0.001, 0.05 * (end_s - begin_s))
        return max(0.0, begin_s - margin_s), end_s + margin_s

    @property
    def moments_s(self) -> tuple[float, ...]:
        """The times of what clients did, each once."""
        return tuple(
            dict.fromkeys(round(line.time_ns / 1e9, 6) for line in self.lines if line.who not in (FAULT, CLOCK))
        )


@dataclass(slots=True)
class CaseRows:
    """The rows of one case: all while there are few, then the first and the last.

    Always those of ``telling``, deliveries and acks.
    """

    telling: frozenset[int]
    head: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    tail: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=ROWS_MAX // 2))
    seen: int = 0

    def add(self, row: dict[str, Any]) -> None:
        """Rows come in the order of the history."""
        self.seen += 1
        if len(self.head) < ROWS_MAX // 2:
            self.head.append(row)
        elif (row["index"] in self.telling or row.get("f") in _NEVER_LEFT_OUT) and len(self.told) < MIDDLE_MAX:
            self.told.append(row)
        else:
            self.tail.append(row)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """In the order of the history."""
        return sorted([*self.head, *self.told, *self.tail], key=lambda row: row["index"])

    @property
    def left_out(self) -> int:
        return self.seen - len(self.head) - len(self.told) - len(self.tail)


def rows_with(batches: Iterable[pa.RecordBatch], column: str, values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows that have one of ``values`` in ``column``; nothing is read if there are no values."""
    wanted = pa.array(list(values))
    for batch in batches if len(wanted) else ():
        found = batch[column]
        text = found.dictionary_decode() if pa.types.is_dictionary(found.type) else found
        yield from batch.filter(pc.is_in(text, value_set=wanted)).to_pylist()


def table_rows(run: StorySource, name: str, schema: pa.Schema) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; none if the run has no such table."""
    table = run.table(name, schema)
    yield from () if table is None else table.to_pylist()


def held_in(held: Mapping[tuple[str, str], Sequence[str]], subject: str, zone: str) -> str:
    """Return what ``zone`` holds of a message or key; ``held`` is by both."""
    return ", ".join(held.get((subject, zone), ["nothing"]))


def places_of(run: StorySource, held: Mapping[tuple[str, str], Sequence[str]], subject: str) -> Iterator[str]:
    """Yield a sentence for each zone: what it holds of a message or key."""
    for zone in run.info.zone_names:
        if zone in run.info.unread_zones:
            yield f"zone {zone} could not be read"
        else:
            yield f"zone {zone} holds {held_in(held, subject, zone)}"


def outcome_words(row: Mapping[str, Any]) -> str:
    """Return what an operation's last event says of it; ``row`` is of the history."""
    return _OUTCOMES[row["type"]] + (f" ({row['error']})" if row["error"] else "")


def fault_lines(bands: Iterable[FaultBand]) -> Iterator[Line]:
    for band in bands:
        yield Line(band.begin_ns, FAULT, f"{band.fault} begins")
        if band.end_ns is not None:
            yield Line(band.end_ns, FAULT, f"{band.fault} ends")


def with_faults(lines: Iterable[Line], faults: Iterable[FaultBand]) -> tuple[Line, ...]:
    """``lines`` in the order of time, with the faults that were in force between the first and the last of them."""
    ordered = sorted(lines, key=lambda line: line.time_ns)
    if not ordered:
        return ()
    first_ns, last_ns = ordered[0].time_ns, ordered[-1].time_ns
    ends = {band: last_ns + 1 if band.end_ns is None else band.end_ns for band in faults}
    near = [band for band, end_ns in ends.items() if band.begin_ns <= last_ns and end_ns >= first_ns]
    shown = sorted(near, key=lambda band: (ends[band], band.begin_ns))[-FAULTS_MAX:]
    return tuple(sorted([*ordered, *fault_lines(shown)], key=lambda line: line.time_ns))
