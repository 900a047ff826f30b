"""One run of an evaluation: a setting, a kind of run and a seed, in simulation, judged in memory and measured."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.objectives import COMMANDS, UNAVAILABLE, TimedOperation
from zonelab.analysis.rates.outcomes import UNCONFIRMED
from zonelab.analysis.rates.year import RunKind
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.info import NANOSECONDS_PER_MS
from zonelab.analysis.summary.queue_summary import NO_LEASE, Outages
from zonelab.scenarios.run.trial import QueueTrial, attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.studies.evaluate.rollout import Rollout

_US_PER_MS = 1000
_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class Evaluating:
    """What every run of an evaluation has."""

    rollout: Rollout

    def __call__(self, which: tuple[int, RunKind, int]) -> Observation:
        """Raises ``RuntimeError`` if there is no verdict."""
        setting, cell, seed = which
        trial = attempt(self.rollout.run(setting, cell, seed))
        if trial.verdict is None:
            raise RuntimeError(trial.run.record.error or "the lab failed")
        return measured(trial)


def measured(trial: QueueTrial) -> Observation:
    completions = list(_completions(rows(trial.tables, OPERATIONS_NAME, OPERATIONS.names)))
    record = trial.run.record
    load_end_ns = record.phases["load"][1]
    levels = (level for one in record.coordinators.values() for level in one.get("levels", {}).values())
    return replace(
        trial.observation(),
        numbers={
            UNAVAILABLE: _unavailable_s(completions, load_end_ns),
            COMMANDS: sum(level["commands"] for level in levels),
        },
        samples=_times_us(completions, trial.run.epoch_ns),
    )


def measured_times(directory: Path) -> Observation:
    """The times of a run that left its directory, and nothing else. Raises ``RunError``."""
    run = RunDirectory.open(directory)
    every = (row for batch in run.operations() for row in batch.to_pylist())
    return Observation(samples=_times_us(list(_completions(every)), run.info.epoch_ns))


def _completions(operations: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (row for row in operations if row["type"] != "invoke")


def _times_us(completions: list[Mapping[str, Any]], epoch_ns: int) -> dict[str, list[int]]:
    """Of pushes and acks an operation each; of leases and lateness a message each."""
    begun: dict[TimedOperation, list[tuple[int, int]]] = defaultdict(list)
    due_ms: dict[str, int] = {}
    first: dict[str, tuple[int, int]] = {}
    last: Any = None
    for row in completions:
        name, works = row["f"], row["type"] == "ok"
        if name in (TimedOperation.PUSH, TimedOperation.ACK) and row["index"] != last:
            answered = works or (name == TimedOperation.ACK and row["error"] == NO_LEASE)
            took_us = (row["time_ns"] - row["invoke_ns"]) // _NS_PER_US if answered else UNCONFIRMED
            begun[TimedOperation(name)].append((row["invoke_ns"], took_us))
        if name == TimedOperation.PUSH and row["due_ms"] is not None:
            due_ms[row["message_id"]] = row["due_ms"]
        if name == "pop" and works and row["message_id"] is not None:
            first.setdefault(row["message_id"], (row["invoke_ns"], (row["time_ns"] + epoch_ns) // NANOSECONDS_PER_MS))
            if row["lease_start_ms"] is not None and row["leased_ms"] is not None:
                lease_us = max(0, row["leased_ms"] - row["lease_start_ms"]) * _US_PER_MS
                begun[TimedOperation.LEASE].append((row["invoke_ns"], lease_us))
        last = row["index"]
    for message, (invoke_ns, at_ms) in first.items():
        if message in due_ms:
            begun[TimedOperation.LATE].append((invoke_ns, max(0, at_ms - due_ms[message]) * _US_PER_MS))
    return {str(name): [took for _, took in sorted(times, key=lambda one: one[0])] for name, times in begun.items()}


def _unavailable_s(completions: list[Mapping[str, Any]], load_end_ns: int) -> float:
    """Without a confirmed push, the mean over the zones that push; as ``Outages`` counts it."""
    by_zone: dict[str, list[tuple[int, int, bool]]] = defaultdict(list)
    last: Any = None
    for row in completions:
        if row["f"] == TimedOperation.PUSH and row["index"] != last:
            by_zone[row["zone"]].append((row["invoke_ns"], row["time_ns"], row["type"] == "ok"))
        last = row["index"]
    seconds = []
    for ended in by_zone.values():
        outages = Outages()
        invoke_ns, time_ns, works = zip(*ended, strict=True)
        outages.add(np.array(invoke_ns), np.array(time_ns), np.array(works))
        seconds.append(outages.total_s(until_ns=load_end_ns))
    return float(np.mean(seconds)) if seconds else 0.0
