"""Timeline of each client beside the faults: the data of the report's timeline, bounded whatever the run's length.

Up to ``MARKS_MAX`` operations are marks of their own. Of more, the time of each process is cut into equal parts, and of
each part and outcome the longest operation is the mark, at its true place, which says how many others it stands for: an
operation that failed is never hidden by those that did not, nor a long one by short ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.figures.plot_data import TYPE_POSITIONS, TYPES, positions, window_s
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.units import NS_PER_S

MARKS_MAX = 6_000
ROWS_MAX = 60
FAULT_ROWS_MAX = 20
FAULTS_MAX = 500
"""The longest of them."""

TEXT_CHARACTERS_MAX = 80
_PARTS_MIN = 20
_TICKS = 5
_COLUMNS = ("index", "time_ns", "invoke_ns", "process", "zone", "f", "type")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """An operation; ``others`` of the same process and outcome, and no longer, are not drawn near it."""

    f: str
    type: str
    begin_s: float
    took_s: float
    others: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessRow:
    name: str
    zone: str
    operations: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultRow:
    """All faults of one kind on one target; ``spans``: begin and end in seconds."""

    name: str
    colour: str
    spans: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """``left_out``: processes, and faults, that are not shown. ``parts``: of a process's time; 0: all is drawn."""

    end_s: float
    load_end_s: float | None
    faults: tuple[FaultRow, ...]
    processes: tuple[ProcessRow, ...]
    left_out: tuple[int, int]
    parts: int

    @property
    def ticks_s(self) -> list[float]:
        step = window_s(self.end_s, windows=_TICKS)
        return [number * step for number in range(int(self.end_s / step) + 1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Operations:
    """Completed operations, an array a column; ``process``, ``f`` and ``type`` are positions in names."""

    index: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    process: NDArray[np.int32]
    f: NDArray[np.uint8]
    type: NDArray[np.uint8]

    def where(self, chosen: NDArray[Any]) -> "_Operations":
        return _Operations(**{name: getattr(self, name)[chosen] for name in self.__slots__})

    def followed_by(self, others: "_Operations") -> "_Operations":
        columns = {name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in self.__slots__}
        return _Operations(**columns)

    def __len__(self) -> int:
        return len(self.index)


def timeline(run: RunDirectory) -> Timeline:
    """Return the timeline of ``run``. Raises ``RunError``."""
    processes: dict[tuple[str, str], int] = {}
    operations: dict[str, int] = {}
    ended_ns, counts, bad = _totals(run, processes, operations)
    last_ns = max([ended_ns, *(end for _, end in run.info.phases.values()), 1_000_000])
    rows = _rows(counts, bad, processes)
    has_row = np.isin(np.arange(len(processes)), [processes[row] for row in rows])
    parts = 0 if counts[has_row].sum() <= MARKS_MAX else max(_PARTS_MIN, MARKS_MAX // max(1, len(rows)))
    marked, others = _marks(
        (done.where(has_row[done.process]) for done in _completed(run, processes, operations)), parts, last_ns
    )
    texts = _texts(run, marked.index)
    names = list(operations)
    marks: dict[int, list[Mark]] = {}
    for place in range(len(marked)):
        kind = TYPES[marked.type[place]]
        mark = Mark(
            f=names[marked.f[place]],
            type=kind,
            begin_s=int(marked.begin_ns[place]) / NS_PER_S,
            took_s=int(marked.end_ns[place] - marked.begin_ns[place]) / NS_PER_S,
            others=int(others[place]),
            text=texts.get(int(marked.index[place]), ""),
        )
        marks.setdefault(int(marked.process[place]), []).append(mark)
    bands = run.faults()
    faults = _fault_rows(bands, last_ns)
    load_ns = run.info.phases.get("load")
    return Timeline(
        end_s=last_ns / NS_PER_S,
        load_end_s=None if load_ns is None else load_ns[1] / NS_PER_S,
        faults=tuple(faults),
        processes=tuple(
            ProcessRow(
                name=name,
                zone=zone,
                operations=int(counts[processes[name, zone]]),
                marks=tuple(marks.get(processes[name, zone], ())),
            )
            for name, zone in rows
        ),
        left_out=(len(processes) - len(rows), len(bands) - sum(len(row.spans) for row in faults)),
        parts=parts,
    )


def _completed(
    run: RunDirectory, processes: dict[tuple[str, str], int], operations: dict[str, int]
) -> Iterator[_Operations]:
    """Some at a time. Whoever is met for the first time gets the next position in ``processes`` or ``operations``."""
    last_index = -1
    for batch in run.operations(_COLUMNS):
        index = batch["index"].to_numpy()
        first = np.diff(index, prepend=last_index) != 0
        last_index = int(index[-1])
        ended = batch.filter(pa.array(first & (positions(batch["type"], dict(TYPE_POSITIONS)) < len(TYPES))))
        yield _Operations(
            index=ended["index"].to_numpy(),
            begin_ns=pc.coalesce(ended["invoke_ns"], ended["time_ns"]).to_numpy(zero_copy_only=False),
            end_ns=ended["time_ns"].to_numpy(),
            process=_pairs(ended["process"], ended["zone"], processes),
            f=positions(ended["f"], operations),
            type=positions(ended["type"], dict(TYPE_POSITIONS)),
        )


def _totals(
    run: RunDirectory, processes: dict[tuple[str, str], int], operations: dict[str, int]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """When the last operation ended, and of each process how many ended and how many of them were not ok."""
    last_ns, counts, bad = 0, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for done in _completed(run, processes, operations):
        last_ns = max(last_ns, int(done.end_ns.max(initial=0)))
        counts = _added(counts, np.bincount(done.process, minlength=len(processes)))
        bad = _added(bad, np.bincount(done.process[done.type != 0], minlength=len(processes)))
    return last_ns, counts, bad


def _added(before: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums for as many processes as are known by now."""
    more[: len(before)] += before
    return more


def _pairs(
    process: pa.DictionaryArray, zone: pa.DictionaryArray, known: dict[tuple[str, str], int]
) -> NDArray[np.int32]:
    """A process has one zone, so few pairs occur."""
    zones = zone.dictionary.to_pylist()
    both = process.indices.to_numpy().astype(np.int64) * max(1, len(zones)) + zone.indices.to_numpy()
    found, positions = np.unique(both, return_inverse=True)
    names = process.dictionary.to_pylist()
    pairs = [(names[one // len(zones)], zones[one % len(zones)]) for one in found.tolist()]
    of_pair = np.array([known.setdefault(pair, len(known)) for pair in pairs], dtype=np.int32)
    codes: NDArray[np.int32] = of_pair[positions] if len(pairs) else np.empty(0, dtype=np.int32)
    return codes


def _rows(
    counts: NDArray[np.int64], bad: NDArray[np.int64], processes: Mapping[tuple[str, str], int]
) -> list[tuple[str, str]]:
    """The processes that get a row, by zone and name; if they are too many, those with the most that was not ok."""
    first = sorted(processes, key=lambda one: (-bad[processes[one]], -counts[processes[one]], one))[:ROWS_MAX]
    return sorted(first, key=lambda one: (_counting(one[1]), _counting(one[0])))


def _counting(name: str) -> list[str | int]:
    """Return a key that sorts ``consumer-a-2`` before ``consumer-a-10``."""
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+)", name))]


def _marks(operations: Iterator[_Operations], parts: int, last_ns: int) -> tuple[_Operations, NDArray[np.int64]]:
    """The operations that are marks, and how many others each stands for."""
    times, codes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8)
    none = np.empty(0, dtype=np.int32)
    marks = _Operations(index=times, begin_ns=times, end_ns=times, process=none, f=codes, type=codes)
    counts = times
    for done in operations:
        marks, counts = marks.followed_by(done), np.append(counts, np.ones(len(done), dtype=np.int64))
        if parts and len(marks):
            marks, counts = _longest(marks, counts, parts, last_ns)
    return marks, counts - 1


def _longest(
    marks: _Operations, counts: NDArray[np.int64], parts: int, last_ns: int
) -> tuple[_Operations, NDArray[np.int64]]:
    """Return the longest mark of each process, part of the time and outcome, with the sum of their ``counts``."""
    part = np.minimum(marks.begin_ns * parts // (last_ns + 1), parts - 1)
    group = (marks.process.astype(np.int64) * parts + part) * len(TYPES) + marks.type
    order = np.lexsort((marks.end_ns - marks.begin_ns, group))
    last = np.flatnonzero(np.diff(group[order], append=-1))
    return marks.where(order[last]), np.diff(np.cumsum(counts[order])[last], prepend=0)


def _texts(run: RunDirectory, indexes: NDArray[np.int64]) -> dict[int, str]:
    """Return the label of each event by its index: its message or messages, and its error."""
    found: dict[int, list[Any]] = {}
    wanted = pa.array(indexes)
    for batch in run.operations(("index", "message_id", "error")) if len(indexes) else ():
        for row in batch.filter(pc.is_in(batch["index"], value_set=wanted)).to_pylist():
            parts = found.setdefault(row["index"], [row["message_id"], 0, row["error"]])
            parts[1] += row["message_id"] is not None
    return {index: _text(*parts) for index, parts in found.items()}


def _text(message_id: str | None, messages: int, error: str | None) -> str:
    named = (message_id or "") + (f" and {messages - 1} more" if messages > 1 else "")
    text = " · ".join(part for part in (named, error) if part)
    return text if len(text) <= TEXT_CHARACTERS_MAX else text[: TEXT_CHARACTERS_MAX - 1] + "…"


def _fault_rows(bands: Sequence[FaultBand], last_ns: int) -> list[FaultRow]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    longest = sorted(bands, key=lambda band: (band.begin_ns - (band.end_ns or last_ns), band.begin_ns))[:FAULTS_MAX]
    for band in sorted(longest, key=lambda band: band.begin_ns):
        end_ns = last_ns if band.end_ns is None else min(band.end_ns, last_ns)
        span = min(band.begin_ns, last_ns) / NS_PER_S, end_ns / NS_PER_S
        found.setdefault((f"{band.kind} {band.target}".strip(), band.colour), []).append(span)
    rows = [FaultRow(name=name, colour=colour, spans=tuple(spans)) for (name, colour), spans in found.items()]
    return rows[:FAULT_ROWS_MAX]
