"""Progress of each group in each partition of a run with ordered messages, and the reasons for standstills.

It works from what is on disk, so a run that goes on, or whose lab was killed, can be asked as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.checkers.order.section import Standstill
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind

_OWNS = (OrderKind.GRANT, OrderKind.RENEW)
_MOVES = (OrderKind.GRANT, OrderKind.COMMIT, OrderKind.DEAD_LETTER, OrderKind.PARK, OrderKind.SKIP)
_TOLD = pc.field("outcome") == "ok"


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionState:
    """``owner``: the member of the last grant that nobody gave back; None if there is none. ``lease_end_ns``: run time.

    ``token``: of that grant, as (generation, number). ``cursor``: the first offset that the group has not finished, as
    far as it was confirmed; ``log_end``: the first that nobody has seen used. ``standstills``: the longest first.
    """

    group: str
    partition: str
    owner: str | None
    lease_end_ns: int | None
    token: tuple[int, int] | None
    cursor: int | None
    log_end: int
    standstills: tuple[Standstill, ...]

    @property
    def lag(self) -> int:
        """Messages between the cursor and the end of the log."""
        return self.log_end - (self.cursor or 0)


@dataclass(slots=True)
class _NewestEvents:
    """The newest event of each kind that one group reported of one partition."""

    owner: str | None = None
    lease_end_ns: int | None = None
    token: tuple[int, int] | None = None
    cursor: int | None = None


@dataclass(slots=True)
class _Partitions:
    groups: dict[tuple[str, str], _NewestEvents] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)

    def hear(self, row: Mapping[str, Any]) -> None:
        """An event that took effect, or a start."""
        partition, kind = row["partition"], OrderKind(row["kind"])
        used = row["cursor"] if row["offset"] is None or kind is OrderKind.COMMIT else row["offset"] + 1
        self.ends[partition] = max(self.ends.get(partition, 0), used or 0)
        if row["group"] is None:
            return
        seen = self.groups.setdefault((row["group"], partition), _NewestEvents())
        if kind in _OWNS:
            seen.owner, seen.lease_end_ns = row["member"], row["until_ns"]
        if kind is OrderKind.GRANT and row["token"] is not None:
            seen.token = (row["generation"] or 0, row["token"])
        if kind is OrderKind.RELEASE and row["member"] == seen.owner:
            seen.owner = seen.lease_end_ns = None
        if kind in _MOVES and row["cursor"] is not None:
            seen.cursor = row["cursor"]

    def held(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Logs as zones have them at rest."""
        for row in rows:
            self.ends[row["partition"]] = max(self.ends.get(row["partition"], 0), row["offset"] + 1)


def partition_states(directory: RunDirectory) -> tuple[PartitionState, ...]:
    """By group and partition. Raises ``RunError`` if the run has no ordered messages."""
    if not directory.rows(ORDER_NAME, ORDER):
        raise RunError(f"{directory.path} has no ordered messages; accepted: a run whose queue.engine is fifo")
    partitions = _Partitions()
    wanted = pc.field("partition").is_valid() & (_TOLD | (pc.field("kind") == str(OrderKind.START)))
    for batch in directory.batches(ORDER_NAME, ORDER):
        for row in batch.filter(wanted).to_pylist():
            partitions.hear(row)
    if (directory.path / f"{FINAL_ORDER_NAME}.parquet").exists():
        for batch in directory.batches(FINAL_ORDER_NAME, FINAL_ORDER):
            partitions.held(batch.filter(pc.field("place") == "log").to_pylist())
    blocked = check_order(OrderRun.of(directory)).blocked
    return tuple(
        PartitionState(
            group=group,
            partition=partition,
            owner=seen.owner,
            lease_end_ns=seen.lease_end_ns,
            token=seen.token,
            cursor=seen.cursor,
            log_end=partitions.ends[partition],
            standstills=tuple(one for one in blocked if (one.group, one.partition) == (group, partition)),
        )
        for (group, partition), seen in sorted(partitions.groups.items())
    )
