"""Costs of a run: the measures by which a mechanism shows that is there for more than the classes of violations."""

from enum import StrEnum
from typing import Any

import pyarrow as pa

from zonelab.analysis.measures import chosen, confirmed, delivers, having, present, ready_ns
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.run.trial import Trial
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME


class Cost(StrEnum):
    """Each a number of one run, of which less is better."""

    REDELIVERED = "redelivered"
    """Deliveries beyond the first of a message."""
    LATE = "late"
    """Lateness in ms of the latest first delivery."""
    OVERTAKEN = "overtaken"
    """Messages that waited, due and confirmed, while a less urgent one of their shard went with an earlier pop."""


def costs_of(trial: Trial) -> dict[str, float]:
    """Return the costs of a run that was judged; none of another one."""
    verdict = trial.verdict
    if verdict is None:
        return {}
    batch = trial.tables(OPERATIONS_NAME, OPERATIONS).batch()
    return {
        Cost.REDELIVERED: verdict.totals.deliveries - verdict.totals.delivered,
        Cost.LATE: verdict.queue.lateness_ms.get("all", {}).get("max", 0.0),
        Cost.OVERTAKEN: overtaken(batch, epoch_ns=trial.run.epoch_ns),
    }


def overtaken(batch: pa.RecordBatch, *, epoch_ns: int) -> int:
    """Return how many messages a less urgent one overtook; ``batch``: all operations of a history."""
    pushes = chosen(batch, having(batch, "f", "push") & confirmed(batch) & present(batch, "message_id"))
    pushed: dict[str, tuple[int, int]] = {}
    for row, at_ns in zip(pushes.to_pylist(), ready_ns(pushes, epoch_ns=epoch_ns).tolist(), strict=True):
        pushed.setdefault(row["message_id"], (row["priority"], at_ns))
    popped: dict[str, dict[str, Any]] = {}
    for row in chosen(batch, delivers(batch)).to_pylist():
        popped.setdefault(row["message_id"], row)
    served = [(*pushed[message_id], pop) for message_id, pop in popped.items() if message_id in pushed]
    return sum(
        any(
            pop["shard"] == before["shard"]
            and priority < less_urgent
            and ready < before["invoke_ns"]
            and before["time_ns"] < pop["invoke_ns"]
            for less_urgent, _, before in served
        )
        for priority, ready, pop in served
    )
