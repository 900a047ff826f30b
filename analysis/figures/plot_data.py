"""Data of the figures, read from run directories: completions by operation, depth samples, lateness."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zonelab.analysis.measures import first_rows
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.units import NS_PER_MS, NS_PER_S

Floats = NDArray[np.float64]

TYPES = ("ok", "fail", "info")
TYPE_POSITIONS = {**{name: position for position, name in enumerate(TYPES)}, "invoke": len(TYPES)}
OPERATIONS = ("push", "pop", "ack")
_COLUMNS = ("index", "time_ns", "invoke_ns", "intended_ns", "zone", "f", "type")
_NICE_STEPS = (1, 2, 5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Completions:
    """Completions of one operation in the order of time; ``response_ms`` is NaN where no start was planned.

    ``zone`` and ``type`` are positions in ``zones`` and in ``TYPES``: a run of a million messages has millions of them.
    """

    time_s: Floats
    service_ms: NDArray[np.float32]
    response_ms: NDArray[np.float32]
    zone: NDArray[np.uint8]
    type: NDArray[np.uint8]
    zones: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.time_s)

    def of_type(self, name: str) -> "Completions":
        return self._where(self.type == TYPES.index(name))

    def of_zone(self, name: str) -> "Completions":
        return self._where(self.zone == self.zones.index(name))

    def _where(self, mask: NDArray[np.bool_]) -> "Completions":
        return Completions(**{name: getattr(self, name)[mask] for name in _ARRAYS}, zones=self.zones)


_ARRAYS: Mapping[str, type[np.generic]] = {
    "time_s": np.float64,
    "service_ms": np.float32,
    "response_ms": np.float32,
    "zone": np.uint8,
    "type": np.uint8,
}


def completions(run: RunDirectory) -> Mapping[str, Completions]:
    """Every completion of the run by operation."""
    rows = run.operation_rows()
    columns = {name: np.empty(rows, dtype=of) for name, of in _ARRAYS.items()}
    operation = np.empty(rows, dtype=np.uint8)
    operations: dict[str, int] = {}
    zones: dict[str, int] = {}
    count = 0
    for batch, first in first_rows(run.operations(_COLUMNS)):
        here = _columns(batch, zones)
        ended = first & (here["type"] < len(TYPES))
        found = slice(count, count + int(np.count_nonzero(ended)))
        for name, values in here.items():
            columns[name][found] = values[ended]
        operation[found] = positions(batch["f"], operations)[ended]
        count = found.stop
    which = {f: operation[:count] == code for f, code in operations.items()}
    parts: dict[str, dict[str, NDArray[Any]]] = {f: {} for f in operations}
    for name in _ARRAYS:
        values = columns.pop(name)[:count]  # so that only one column is there twice
        for f, part in parts.items():
            part[name] = values[which[f]]
    return {f: Completions(**part, zones=tuple(zones)) for f, part in parts.items() if len(part["time_s"])}


def operations_shown(data: Iterable[Mapping[str, Completions]]) -> list[str]:
    """The operations that have panels: those of a queue, or whatever else clients did."""
    found = {f for of_run in data for f in of_run}
    return [f for f in OPERATIONS if f in found] or sorted(found)


def _columns(batch: pa.RecordBatch, zones: dict[str, int]) -> dict[str, NDArray[Any]]:
    """The arrays of ``Completions``; zones that are met for the first time get the next position."""
    time_ns = batch["time_ns"].to_numpy()
    return {
        "time_s": time_ns / NS_PER_S,
        # Absent times come out of Arrow as NaN.
        "service_ms": _milliseconds(time_ns - batch["invoke_ns"].to_numpy(zero_copy_only=False)),
        "response_ms": _milliseconds(time_ns - batch["intended_ns"].to_numpy(zero_copy_only=False)),
        "zone": positions(batch["zone"], zones),
        "type": positions(batch["type"], dict(TYPE_POSITIONS)),
    }


def _milliseconds(duration_ns: NDArray[Any]) -> NDArray[np.float32]:
    return (duration_ns / NS_PER_MS).astype(np.float32)


def positions(column: pa.DictionaryArray, known: dict[str, int]) -> NDArray[np.uint8]:
    """Return where each word stands in ``known``, which gets the words that are met for the first time."""
    of_word = np.array([known.setdefault(word, len(known)) for word in column.dictionary.to_pylist()], dtype=np.uint8)
    found: NDArray[np.uint8] = of_word[column.indices.to_numpy()]
    return found


def end_s(run: RunDirectory, data: Mapping[str, Completions]) -> float:
    """When the last phase or operation ended, in seconds of run time."""
    phases = [end / NS_PER_S for _, end in run.info.phases.values()]
    return max([*phases, *(float(part.time_s.max()) for part in data.values() if len(part)), 1e-3])


def window_s(length_s: float, *, windows: int = 60, least_s: float = 0.0) -> float:
    """A round width (1, 2 or 5 times a power of ten, in seconds) of at least ``least_s`` that divides the run into
    about ``windows``, or fewer.
    """
    exact = max(length_s / windows, least_s * (1 - 1e-9))
    power = 10.0 ** np.floor(np.log10(exact))
    return float(next((step * power for step in _NICE_STEPS if step * power >= exact), 10 * power))


def windowed_quantiles(
    time_s: Floats, values: NDArray[np.float32], probabilities: tuple[float, ...], *, width_s: float
) -> tuple[Floats, Floats]:
    """Return the middle of each window from the first to the last with data, and a row of quantiles for each of
    ``probabilities``; NaN in a window without data, so that no line goes through an outage.
    """
    window = np.floor(time_s / width_s).astype(np.int64)
    order = np.argsort(window, kind="stable")
    present, begins = np.unique(window[order], return_index=True)
    if not len(values):
        return np.empty(0), np.empty((len(probabilities), 0))
    places = np.arange(present[0], present[-1] + 1)
    found = np.full((len(probabilities), len(places)), np.nan)
    for place, part in zip(present - present[0], np.split(values[order], begins[1:]), strict=True):
        found[:, place] = np.quantile(part, probabilities)
    return (places + 0.5) * width_s, found


def drawn_points(data: Completions, *, at_most: int) -> tuple[NDArray[np.int64], str]:
    """Which points of a long run are drawn, at most ``at_most``, and how they were chosen, in words; "" for all.

    Half of them are a systematic sample, every n-th of all. The others are the longest and the shortest of each of
    equal parts of the time, so that no extreme is lost.
    """
    if len(data) <= at_most:
        return np.arange(len(data)), ""
    step, parts = -(-len(data) // max(1, at_most // 2)), max(1, at_most // 4)
    part = np.minimum(data.time_s * parts / max(float(data.time_s.max()), 1e-9), parts - 1).astype(np.int64)
    order = np.lexsort((data.service_ms, part))
    edges = np.flatnonzero(np.diff(part[order]))
    extremes = order[np.concatenate([[0], edges, edges + 1, [len(order) - 1]])]
    chosen = np.union1d(np.arange(0, len(data), step), extremes)
    words = f"one in {step} of {len(data):,}, and the longest and the shortest of each of {parts:,} parts of the time"
    return chosen, words
