"""The queue checker: puts every message of a run into the classes of ``MessageClass``.

It works from the run directory alone, in time linear in the history and in bounded memory: rows are divided by a
hash of their message id over temporary files, and one part at a time is judged.

Message ids are unique in a run: one id is one message, even if it is pushed twice.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from zonelab.analysis.checkers.queue import replica
from zonelab.analysis.checkers.queue.cases import Cases, MessageFindings, OffenderFile
from zonelab.analysis.checkers.queue.end_state import EndState
from zonelab.analysis.checkers.queue.events import (
    EVENTS,
    HISTORY_COLUMNS,
    STATE_COLUMNS,
    STATES,
    NameTable,
    PartitionEvents,
    Values,
    event_columns,
    state_columns,
)
from zonelab.analysis.checkers.queue.inversion import SERVED, partition_by_group, passed_over
from zonelab.analysis.checkers.queue.messages import QueueMessages
from zonelab.analysis.checkers.queue.overlap import Overlap, overlaps
from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.checkers.queue.unserved import WAITING, ShardService
from zonelab.analysis.checkers.spill import Spill, partition_by_id
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.directory import ROWS_PER_BATCH, RunDirectory
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.stages import Stage, unheard
from zonelab.analysis.statistics import quantiles
from zonelab.analysis.units import NS_PER_MS

ROWS_PER_PARTITION = 125_000
PARTITIONS_MAX = 128  # open files per table while rows are divided


class RunTables(Protocol):
    """The tables of a run: ``RunDirectory``, or the same in memory. Columns as in ``zonelab.analysis.runs.history``."""

    @property
    def info(self) -> RunInfo: ...
    @property
    def final_state_known(self) -> bool: ...
    def table(self, name: str, schema: pa.Schema) -> pa.Table | None: ...
    def message_rows(
        self, table: Literal["operations", "final_state"], columns: Sequence[str], *, batch_rows: int
    ) -> Iterator[Mapping[str, Values]]:
        """Yield the rows of ``table`` that concern a message, by column, some at a time."""


def _unheard(done: int) -> None:
    """Tell nobody."""


def check_messages(run: RunTables) -> QueueSection:
    """Check a run that fits into memory; nothing is written."""
    with _QueueCheck(run, MessageFindings(not_judged=run.info.not_judged), Path(), partitions=1) as checking:
        checking.read(batch_rows=ROWS_PER_BATCH)
        return checking.section()


def check_message_files(
    directory: RunDirectory,
    *,
    rows_per_partition: int = ROWS_PER_PARTITION,
    batch_rows: int = ROWS_PER_BATCH,
    stage: Stage = unheard,
) -> QueueSection:
    """Check the run in ``directory``; write ``offenders.parquet`` and ``lateness.parquet``. Raises ``RunError``.

    What is found does not depend on ``rows_per_partition`` and ``batch_rows``; they trade memory for speed.
    """
    rows = directory.operation_rows() + directory.final_state_rows()
    partitions = max(1, min(PARTITIONS_MAX, -(-rows // rows_per_partition)))
    with (
        TemporaryDirectory(prefix="zonelab-check-") as spill_to,
        OffenderFile(directory.path, not_judged=directory.info.not_judged) as findings,
        _QueueCheck(directory, findings, Path(spill_to), partitions=partitions) as checking,
    ):
        checking.read(batch_rows=batch_rows, stage=lambda done: stage("history", done, rows))
        pa.default_memory_pool().release_unused()  # what reading needed is not needed for judging
        section = checking.section(stage=lambda done: stage("messages", done, partitions))
        checking.write_lateness(directory.path / "lateness.parquet")
    return section


class _QueueCheck:
    """One check under way: reads and divides the rows, judges the parts, sums up."""

    def __init__(self, run: RunTables, findings: MessageFindings, spill_to: Path, *, partitions: int) -> None:
        self._run = run
        self._findings = findings
        self._partitions = partitions
        self._zones, self._shards, self._programs = NameTable(), NameTable(), NameTable()
        self._overlaps = _Overlaps()
        self._lateness = _Lateness()
        self._events = Spill(spill_to, "events", EVENTS, partitions=partitions)
        self._states = Spill(spill_to, "states", STATES, partitions=partitions)
        self._waiting = Spill(spill_to, "waiting", WAITING, partitions=partitions)
        self._service = ShardService()
        self._served = Spill(spill_to, "served", SERVED, partitions=partitions)

    def __enter__(self) -> "_QueueCheck":
        return self

    def __exit__(self, *_: object) -> None:
        for spill in (self._events, self._states, self._waiting, self._served):
            spill.close()

    def read(self, *, batch_rows: int, stage: Callable[[int], None] = _unheard) -> None:
        done = 0
        for rows in self._run.message_rows("operations", HISTORY_COLUMNS, batch_rows=batch_rows):
            events = event_columns(rows, zones=self._zones, shards=self._shards, programs=self._programs)
            self._events.add(events, partition_by_id(events["message_id"], self._partitions))
            stage(done := done + len(events["message_id"]))
        for rows in self._run.message_rows("final_state", STATE_COLUMNS, batch_rows=batch_rows):
            states = state_columns(rows, zones=self._zones, shards=self._shards)
            self._states.add(states, partition_by_id(states["message_id"], self._partitions))
            stage(done := done + len(states["message_id"]))

    def section(self, *, stage: Callable[[int], None] = _unheard) -> QueueSection:
        info = self._run.info
        end = _end_state(self._run, self._zones, self._shards)
        divergence = replica.DivergenceCounter(zones=len(set(info.zone_names) - set(info.unread_zones)))
        lateness, totals = self._lateness, Totals()
        parts = zip(self._events.partitions(), self._states.partitions(), strict=True)
        for number, (events, states) in enumerate(parts, start=1):
            messages = QueueMessages.of(
                PartitionEvents.of(events, states),
                epoch_ns=info.epoch_ns,
                early_ms_max=info.queue.early_ms_max,
                late_ms=info.late_ms,
                leases=info.queue.leases,
                end=end,
            )
            totals += messages.totals()
            self._report(messages)
            lateness.add(*messages.lateness())
            divergence.add(messages.partition.states)
            served = messages.served()
            self._served.add(served, partition_by_group(served, self._partitions))
            waiting = messages.waiting()
            self._waiting.add(waiting, partition_by_id(waiting["message_id"], self._partitions))
            self._service.add(messages.served_last())
            stage(number)
        self._report_inversions()
        self._report_waiting()
        return QueueSection(
            doubts=(*_doubts(self._run, totals), *self._unserved(), *self._undecided()),
            forbid=tuple(str(name) for name in info.forbid),
            totals=totals,
            counts=self._findings.counts(MessageClass),
            cases=self._findings.first(MessageClass),
            lateness_ms=lateness.quantiles(self._zones),
            overlap_ms=self._overlaps.quantiles() if MessageClass.OVERLAP not in info.not_judged else {},
            divergence=divergence.result(self._shards),
            not_judged=self._findings.not_judged,
        )

    def _unserved(self) -> Iterator[str]:
        """Yield a caution if a longer drain could have delivered what was left."""
        count, drain_ns = (
            self._findings.counts([MessageClass.UNSERVED])[MessageClass.UNSERVED],
            self._run.info.phases.get("drain"),
        )
        if count and drain_ns is not None:
            more_s, took_s = self._service.more_s, (drain_ns[1] - drain_ns[0]) / 1_000 / NS_PER_MS
            yield (
                f"{count:,} unserved: {MessageClass.UNSERVED.summary}; to see whether they come, raise "
                f"drain.bound_s by at least {more_s:,} s (the drain took {took_s:,.1f} s)"
            )

    def _undecided(self) -> Iterator[str]:
        """Yield a caution if messages are unfinished and nobody looked where they are."""
        count = self._findings.counts([MessageClass.UNDECIDED])[MessageClass.UNDECIDED]
        if count and not self._run.info.queue.end_state:
            yield f"{count:,} undecided: {MessageClass.UNDECIDED.summary}"

    def write_lateness(self, path: Path) -> None:
        self._lateness.write(path, self._zones)

    def _report(self, messages: QueueMessages) -> None:
        for name, cases in messages.cases():
            self._findings.add(name, cases)
        if overlapping := list(self._overlapping(messages)):
            self._findings.add(MessageClass.OVERLAP, self._overlaps.add(overlapping))
        ids, zones = messages.partition.ids, list(self._zones.codes)
        pairs = replica.unpaired(messages.partition.states)
        for name, (message, zone) in ((MessageClass.ORPHAN, pairs.orphans), (MessageClass.PHANTOM, pairs.phantoms)):
            if message.size:
                self._findings.add(name, Cases(ids.take(pa.array(message)), zone=[zones[code] for code in zone]))

    def _overlapping(self, messages: QueueMessages) -> Iterator[tuple[str, Overlap]]:
        info, codes = self._run.info, self._programs.codes
        deaths_ns = {codes[name]: at_ns for name, at_ns in info.deaths.items() if name in codes}
        return overlaps(messages.partition, messages.pops, end_ns=info.end_ns, deaths_ns=deaths_ns)

    def _report_waiting(self) -> None:
        """Report messages that wait in every zone as stuck or unserved, once all partitions are read."""
        for rows in self._waiting.partitions():
            unserved = self._service.decide(rows, drained_ms=self._run.info.drain_end_ms or 0)
            cases = Cases(rows["message_id"], rows["index"], detail=rows["detail"].to_pylist())
            for name, chosen in ((MessageClass.STUCK, ~unserved), (MessageClass.UNSERVED, unserved)):
                if chosen.any():
                    self._findings.add(name, cases.take(np.flatnonzero(chosen)))

    def _report_inversions(self) -> None:
        for served in self._served.partitions():
            cases, rows = Cases(served["message_id"], served["index"], served["delivery"]), passed_over(served)
            if rows.size:
                self._findings.add(MessageClass.PRIORITY_INVERSION, cases.take(rows))


LATENESS = pa.schema(
    [
        pa.field("zone", pa.string(), nullable=False),
        pa.field("lateness_ms", pa.int64(), nullable=False),
        pa.field("deliveries", pa.int64(), nullable=False),
    ]
)


@dataclass(slots=True)
class _Lateness:
    """Lateness of first deliveries and the zone of each, gathered over partitions."""

    values_ms: list[NDArray[np.int64]] = field(default_factory=list)
    zones: list[NDArray[np.int16]] = field(default_factory=list)

    def add(self, values_ms: NDArray[np.int64], zones: NDArray[np.int16]) -> None:
        self.values_ms.append(values_ms)
        self.zones.append(zones)

    def write(self, path: Path, names: NameTable) -> None:
        """The whole distribution, exactly: how many first deliveries of each zone were how late."""
        values_ms, zones = np.concatenate(self.values_ms), np.concatenate(self.zones)
        columns: dict[str, list[Any]] = {"zone": [], "lateness_ms": [], "deliveries": []}
        for name, code in sorted(names.codes.items()):
            late_ms, deliveries = np.unique(values_ms[zones == code], return_counts=True)
            columns["zone"] += [name] * late_ms.size
            columns["lateness_ms"] += late_ms.tolist()
            columns["deliveries"] += deliveries.tolist()
        pq.write_table(pa.table(columns, schema=LATENESS), path)

    def quantiles(self, names: NameTable) -> dict[str, dict[str, float]]:
        values_ms, zones = np.concatenate(self.values_ms), np.concatenate(self.zones)
        chosen = {"all": values_ms, **{name: values_ms[zones == code] for name, code in sorted(names.codes.items())}}
        return {name: {"count": sample.size, **quantiles(sample)} for name, sample in chosen.items() if sample.size}


@dataclass(slots=True)
class _Overlaps:
    """For how long two programs worked on a message, gathered over partitions."""

    lasted_ns: list[int] = field(default_factory=list)
    open: int = 0

    def add(self, shown: Sequence[tuple[str, Overlap]]) -> Cases:
        """Count what was found, and return it as cases."""
        overlaps = [one for _, one in shown]
        self.lasted_ns += [one.lasted_ns for one in overlaps]
        self.open += sum(one.open for one in overlaps)
        index, delivery = (np.array([getattr(one.second, name) for one in overlaps]) for name in ("index", "delivery"))
        ids = pa.array([message_id for message_id, _ in shown], pa.string())
        return Cases(ids, index, delivery, detail=[one.detail for one in overlaps])

    def quantiles(self) -> dict[str, float]:
        """Quantiles of how long overlaps lasted, and how many of them were counted to the end of the drain."""
        sample_ms = np.array(self.lasted_ns) / NS_PER_MS
        return {"count": sample_ms.size, "open": self.open, **quantiles(sample_ms)} if sample_ms.size else {}


def _end_state(run: RunTables, zones: NameTable, shards: NameTable) -> EndState:
    info = run.info
    known = run.final_state_known and info.queue.end_state
    unread = set(info.unread_zones) if known else set(info.zone_names)
    return EndState(
        drained=info.status == "complete",
        complete=known and not unread,
        unread_shards=tuple(code for name, code in shards.codes.items() if info.queue.shards.get(name) in unread),
        zones=tuple(zones.codes),
        drained_ms=info.drain_end_ms,
        drained_ns=info.phases["drain"][1] if "drain" in info.phases else None,
        zones_read=0 if unread or not known else len(info.zone_names),
    )


def _doubts(run: RunTables, totals: Totals) -> list[str]:
    info: RunInfo = run.info
    doubts = [f"the end state of zone {zone} could not be read" for zone in info.unread_zones]
    if info.doubt is not None:
        doubts.insert(0, info.doubt)
    if not run.final_state_known:
        doubts.append("no end state was recorded")
    if not totals.pushed:
        doubts.append("nothing was pushed")
    return [*doubts, *info.doubts]
