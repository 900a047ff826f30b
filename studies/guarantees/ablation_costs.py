"""What a run cost: the measures by which a mechanism shows that is there for more than the classes of violations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.run.trial import QueueTrial
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME

_NS_PER_MS = 1_000_000


class Cost(StrEnum):
    """Each a number of one run, of which less is better."""

    REDELIVERED = "redelivered"
    """Deliveries beyond the first of a message."""
    LATE = "late"
    """How many ms after its due time the latest first delivery was."""
    OVERTAKEN = "overtaken"
    """Messages that waited, due and confirmed, while a less urgent one of their shard went with an earlier pop."""


@dataclass(frozen=True, slots=True)
class _Served:
    """A message that was confirmed and delivered; times in ns of the run."""

    shard: str
    priority: int
    ready_ns: int
    """Confirmed and due."""
    popped_ns: int
    served_ns: int


def costs_of(trial: QueueTrial) -> dict[str, float]:
    """Return the costs of a run that was judged; none of another one."""
    verdict = trial.verdict
    if verdict is None:
        return {}
    rows = trial.tables.tables[OPERATIONS_NAME].rows
    return {
        Cost.REDELIVERED: verdict.totals.deliveries - verdict.totals.delivered,
        Cost.LATE: verdict.lateness_ms.get("all", {}).get("max", 0.0),
        Cost.OVERTAKEN: overtaken(rows, epoch_ns=trial.run.epoch_ns),
    }


def overtaken(rows: Iterable[Sequence[Any]], *, epoch_ns: int) -> int:
    """Return how many messages a less urgent one overtook; ``rows`` as in ``OPERATIONS`` of a history."""
    served = _served(rows, epoch_ns)
    return sum(any(_passed_over(one, by=other) for other in served) for one in served)


def _passed_over(one: _Served, *, by: _Served) -> bool:
    more_urgent = one.shard == by.shard and one.priority < by.priority
    return more_urgent and one.ready_ns < by.popped_ns and by.served_ns < one.popped_ns


def _served(rows: Iterable[Sequence[Any]], epoch_ns: int) -> list[_Served]:
    pushed: dict[str, dict[str, Any]] = {}
    popped: dict[str, dict[str, Any]] = {}
    for values in rows:
        row = dict(zip(OPERATIONS.names, values, strict=True))
        if row["type"] == "ok" and row["f"] in ("push", "pop") and row["message_id"] is not None:
            (pushed if row["f"] == "push" else popped).setdefault(row["message_id"], row)
    return [
        _Served(
            shard=popped[message_id]["shard"],
            priority=push["priority"],
            ready_ns=max(push["time_ns"], push["due_ms"] * _NS_PER_MS - epoch_ns),
            popped_ns=popped[message_id]["invoke_ns"],
            served_ns=popped[message_id]["time_ns"],
        )
        for message_id, push in pushed.items()
        if message_id in popped
    ]
