"""Samples for a comparison of two runs: series of latencies and lateness of the load phase, in the order of time.

Memory is bounded whatever the length of the run: a series that outgrows its limit keeps every second value, then
every fourth, and so on; messages are sampled in the same way by a hash of their id.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.measures import (
    Lateness,
    Mask,
    chosen,
    confirmed,
    delivers,
    first_rows,
    having,
    latency_ns,
    present,
)
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.units import NS_PER_MS

Floats = NDArray[np.float64]

LIMIT = 1 << 15
_COLUMNS = (
    *("index", "time_ns", "invoke_ns", "f", "type", "message_id", "due_ms"),
    *("lease_start_ms", "leased_ms"),
)
ZONES_DIFFER = 1.5
"""Zones differ in a metric from this ratio of their medians on."""
_ENOUGH = 10
_DITHER_SEED = 1


class Metric(StrEnum):
    PUSH = "push"
    POP = "pop"
    LEASE_STEP = "lease_step"
    ACK = "ack"
    LATENESS = "lateness"


DESCRIPTIONS: Mapping[Metric, str] = {
    Metric.PUSH: "latency of confirmed pushes, from invocation to confirmation",
    Metric.POP: "latency of pops that delivered something, with their wait for messages to become due",
    Metric.LEASE_STEP: "time that writing a delivered message's lease took within its pop, without any wait",
    Metric.ACK: "latency of confirmed acks, from invocation to confirmation",
    Metric.LATENESS: "time from due until the end of the pop that delivered the message first",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Values of one metric in the order of time (ms): of ``count`` there were, every ``every``-th on average."""

    values_ms: Floats
    count: int
    every: int


@dataclass(slots=True)
class ThinnedValues:
    """The first of every ``stride`` values, with a stride that doubles whenever more than ``limit`` are kept."""

    limit: int = LIMIT
    count: int = 0
    stride: int = 1
    _kept: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, values: Floats) -> None:
        """Keep one of every ``stride`` of ``values``; keep half as many whenever there are more than ``limit``."""
        chosen = values[-self.count % self.stride :: self.stride]
        self.count += values.size
        self._kept = np.concatenate([self._kept, chosen])
        while self._kept.size > self.limit:
            self._kept = self._kept[::2]
            self.stride *= 2

    def series(self) -> Series:
        return Series(values_ms=self._kept, count=self.count, every=self.stride)


def _series(lateness: Lateness, *, epoch_ns: int, load_ns: tuple[float, float]) -> Series:
    """Return the lateness of the messages that were due within ``load_ns``, whenever they were delivered.

    Leaving out those that came in the drain would leave out the latest.
    """
    times_ns = lateness.of_messages(epoch_ns=epoch_ns)
    late_ns = [end_ns - due_ns for due_ns, _, end_ns in times_ns if load_ns[0] <= due_ns < load_ns[1]]
    values_ms = np.array(late_ns, dtype=np.float64) / NS_PER_MS
    return Series(values_ms=values_ms, count=values_ms.size * lateness.every, every=lateness.every)


def read_series(run: RunDirectory, *, limit: int = LIMIT) -> dict[Metric, Series]:
    """Every metric of the run's load phase; of the whole run if it has none. Raises ``RunError``.

    An operation belongs to the phase in which it was invoked, a lateness to that in which the message was due. One of
    which only a moment is known has no latency.
    """
    load_ns = run.info.phases.get("load", (-np.inf, np.inf))
    operations = {metric: ThinnedValues(limit) for metric in Metric if metric is not Metric.LATENESS}
    lateness = Lateness(limit)
    for batch, first_row in first_rows(run.operations(_COLUMNS)):
        wanted = _masks(batch, first_row, load_ns, run.info.queue.instants)
        for metric, series in operations.items():
            rows = chosen(batch, wanted[metric])
            series.add(_lease_step_ms(rows) if metric is Metric.LEASE_STEP else _latency_ms(rows))
        lateness.add(batch)
    found = {metric: series.series() for metric, series in operations.items()}
    lease = found[Metric.LEASE_STEP]
    found[Metric.LEASE_STEP] = Series(values_ms=dithered(lease.values_ms), count=lease.count, every=lease.every)
    return found | {Metric.LATENESS: _series(lateness, epoch_ns=run.info.epoch_ns, load_ns=load_ns)}


def read_zone_medians(run: RunDirectory) -> dict[Metric, dict[str, float]]:
    """Medians (ms) by zone of latencies in the load phase, of zones with ten values or more. Raises ``RunError``."""
    load_ns = run.info.phases.get("load", (-np.inf, np.inf))
    found: dict[Metric, dict[str, ThinnedValues]] = {metric: {} for metric in (Metric.PUSH, Metric.POP, Metric.ACK)}
    for batch, first_row in first_rows(run.operations((*_COLUMNS, "zone"))):
        wanted = _masks(batch, first_row, load_ns, run.info.queue.instants)
        for zone in batch["zone"].unique().to_pylist():
            of_zone = having(batch, "zone", zone)
            for metric, zones in found.items():
                rows = chosen(batch, wanted[metric] & of_zone)
                zones.setdefault(zone, ThinnedValues()).add(_latency_ms(rows))
    return {
        metric: {
            zone: float(np.median(one.series().values_ms))
            for zone, one in sorted(zones.items())
            if one.count >= _ENOUGH
        }
        for metric, zones in found.items()
    }


def zones_differ(medians_ms: Mapping[str, float]) -> bool:
    return len(medians_ms) > 1 and max(medians_ms.values()) >= ZONES_DIFFER * min(medians_ms.values())


def _masks(
    batch: pa.RecordBatch, first_row: Mask, load_ns: tuple[float, float], instants: Collection[str]
) -> dict[Metric, Mask]:
    """Return the rows of each metric: none of one whose operations took no time that is known."""
    invoke_ns = batch["invoke_ns"].to_numpy(zero_copy_only=False)  # null becomes NaN, which is in no phase
    in_load = (invoke_ns >= load_ns[0]) & (invoke_ns < load_ns[1]) & confirmed(batch)
    timed = {f: in_load & (f not in instants) for f in ("push", "pop", "ack")}
    pop = timed["pop"] & delivers(batch)
    return {
        Metric.PUSH: timed["push"] & having(batch, "f", "push") & first_row,
        Metric.POP: pop & first_row,
        Metric.LEASE_STEP: pop & present(batch, "lease_start_ms") & present(batch, "leased_ms"),
        Metric.ACK: timed["ack"] & having(batch, "f", "ack") & first_row,
    }


def _latency_ms(rows: pa.RecordBatch) -> Floats:
    return latency_ns(rows) / NS_PER_MS


def _lease_step_ms(rows: pa.RecordBatch) -> Floats:
    found: Floats = pc.subtract(rows["leased_ms"], rows["lease_start_ms"]).to_numpy().astype(np.float64)
    return found


def dithered(values_ms: Floats) -> Floats:
    """Differences of two clocks in whole milliseconds, spread evenly within half a millisecond of each.

    Such a difference is its true value rounded up or down at random, right on average (the clocks' phases are
    independent of the lag). Spread out, its distribution has no steps that two runs could share or miss by chance.
    """
    return values_ms + np.random.default_rng(_DITHER_SEED).uniform(-0.5, 0.5, values_ms.size)
