"""One run of an evaluation: a setting, a kind of run and a seed, in simulation, judged in memory and measured."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.checkers.verdict import observed
from zonelab.analysis.measures import (
    EndToEnd,
    Lateness,
    Outages,
    chosen,
    delivers,
    events,
    first_rows,
    having,
    latency_ns,
    present,
    works,
)
from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.activity_parts import WAITED_S
from zonelab.analysis.rates.objectives import BYTES, COMMANDS, UNAVAILABLE, TimedOperation
from zonelab.analysis.rates.outcomes import UNCONFIRMED
from zonelab.analysis.rates.year import RunKind
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.engine.units import NS_PER_MS, NS_PER_S
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME
from zonelab.studies.evaluate.rollout import Rollout

PROCESSOR_S = "processor_s"
"""Measure of a run: the processor time that it took."""

_US_PER_MS = 1000
_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class EvaluationMeasure:
    """Settings that every run of an evaluation has."""

    rollout: Rollout

    def __call__(self, which: tuple[int, RunKind, int]) -> Observation:
        """Raises ``RuntimeError`` if there is no verdict."""
        setting, cell, seed = which
        begin_s = time.process_time()
        found = measured(attempt(self.rollout.run(setting, cell, seed)))
        scale = self.rollout.scale(setting, cell).numbers()
        took_s = time.process_time() - begin_s
        return replace(found, numbers={**found.numbers, **scale, PROCESSOR_S: took_s})


def measured(trial: Trial) -> Observation:
    """Return what the run showed, the times of its operations and what they cost.

    Raises ``RuntimeError`` if there is no verdict.
    """
    record = trial.run.record
    if trial.verdict is None:
        raise RuntimeError(record.error or "the lab failed")
    return _with_figures(
        trial.observation(),
        trial.tables(OPERATIONS_NAME, OPERATIONS).batch(),
        load_end_ns=record.phases["load"][1],
        coordinators=record.coordinators,
        epoch_ns=trial.run.epoch_ns,
    )


def measured_run(directory: Path) -> Observation:
    """Return the same of a run that left its directory. Raises ``RunError``, also if it was broken off."""
    run = RunDirectory.open(directory)
    if run.info.status != "complete":
        raise RunError(f"{directory}: {run.info.status}; nothing is known of what came after")
    table = run.table(OPERATIONS_NAME, OPERATIONS)
    assert table is not None
    return _with_figures(
        observed(load_verdict(run), directory=directory),
        table.combine_chunks().to_batches(max_chunksize=max(1, table.num_rows))[0],
        load_end_ns=run.info.phases["load"][1],
        coordinators=run.info.coordinators,
        epoch_ns=run.info.epoch_ns,
    )


def _with_figures(
    judged: Observation,
    operations: pa.RecordBatch,
    *,
    load_end_ns: int,
    coordinators: Mapping[str, Mapping[str, Any]],
    epoch_ns: int,
) -> Observation:
    levels = (level for one in coordinators.values() for level in one.get("levels", {}).values())
    return replace(
        judged,
        numbers={
            UNAVAILABLE: _unavailable_s(operations, load_end_ns),
            COMMANDS: sum(level["commands"] for level in levels),
            BYTES: sum(sum(one.get("sent_bytes", {}).values()) for one in coordinators.values()),
            WAITED_S: _waited_s(operations),
        },
        samples=_times_us([operations], epoch_ns),
    )


def measured_times(directory: Path) -> Observation:
    """Return the times of a run that left its directory, and nothing else. Raises ``RunError``."""
    run = RunDirectory.open(directory)
    return Observation(samples=_times_us(run.operations(), run.info.epoch_ns))


def _times_us(batches: Iterable[pa.RecordBatch], epoch_ns: int) -> dict[str, list[int]]:
    """Return times in the order of the begins: of pushes and acks an operation each, of others a message each.

    Lateness is in whole ms, as the checker has it.
    """
    begun: dict[TimedOperation, list[NDArray[np.int64]]] = defaultdict(list)
    lateness, whole = Lateness(), EndToEnd()
    for batch, first in first_rows(batches):
        lateness.add(batch)
        whole.add(batch)
        for name in (TimedOperation.PUSH, TimedOperation.ACK):
            ended = chosen(batch, first & having(batch, "f", name) & ~having(batch, "type", "invoke"))
            took_us = np.where(works(ended), latency_ns(ended) // _NS_PER_US, UNCONFIRMED)
            begun[name].append(np.array([ended["invoke_ns"], took_us]))
        leased = chosen(batch, delivers(batch) & present(batch, "lease_start_ms") & present(batch, "leased_ms"))
        lease_ms = pc.subtract(leased["leased_ms"], leased["lease_start_ms"]).to_numpy()
        begun[TimedOperation.LEASE].append(np.array([leased["invoke_ns"], np.maximum(0, lease_ms) * _US_PER_MS]))
    late = [
        (begin_ns, max(0, (end_ns + epoch_ns) // NS_PER_MS - (due_ns + epoch_ns) // NS_PER_MS))
        for due_ns, begin_ns, end_ns in lateness.of_messages(epoch_ns=epoch_ns)
    ]
    begun[TimedOperation.LATE].append(np.array(late, dtype=np.int64).reshape(-1, 2).T * np.array([[1], [_US_PER_MS]]))
    ends = [
        (begin_ns, UNCONFIRMED if end_ns is None else (end_ns - begin_ns) // _NS_PER_US)
        for begin_ns, end_ns in whole.of_messages()
    ]
    begun[TimedOperation.END_TO_END].append(np.array(ends, dtype=np.int64).reshape(-1, 2).T)
    found = {name: np.concatenate(times, axis=1) for name, times in begun.items()}
    return {
        str(name): took_us[np.argsort(begin_ns, kind="stable")].tolist()
        for name, (begin_ns, took_us) in found.items()
        if len(begin_ns)
    }


def _waited_s(batch: pa.RecordBatch) -> float:
    """Return the seconds of all pops together: from asking for a message to having one, or none."""
    (rows,) = events([batch])
    return float(latency_ns(chosen(rows, having(rows, "f", "pop") & ~having(rows, "type", "invoke"))).sum() / NS_PER_S)


def _unavailable_s(batch: pa.RecordBatch, load_end_ns: int) -> float:
    """Return the seconds of ``Outages`` of pushes, the mean over the zones that push."""
    (rows,) = events([batch])
    ended = chosen(rows, having(rows, "f", TimedOperation.PUSH) & ~having(rows, "type", "invoke"))
    seconds = []
    for zone in ended["zone"].dictionary_decode().unique().to_pylist():
        outages = Outages()
        outages.add(chosen(ended, having(ended, "zone", zone)))
        seconds.append(outages.total_s(until_ns=load_end_ns))
    return float(np.mean(seconds)) if seconds else 0.0
