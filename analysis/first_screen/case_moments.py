"""Every case of a checked run with its moment: the push of a message that is missing, of other cases the event."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.consistency import ANOMALIES_NAME
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.queue.cases import OFFENDERS_NAME
from zonelab.analysis.checkers.verdict import AnyClass, Verdict
from zonelab.analysis.message_classes import IN_DOUBT, MessageClass
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import reading
from zonelab.analysis.runs.order import ORDER, ORDER_NAME
from zonelab.analysis.stories.lines import rows_with

CASES_MAX = 20_000
"""Cases of one class that are grouped; a class may have as many as the run has messages."""

MISSING = (MessageClass.LOST, MessageClass.STUCK, MessageClass.ABANDONED, *IN_DOUBT)
"""Classes that begin with a push; the others have an event of their own."""

_COLUMNS = ("index", "time_ns", "invoke_ns", "zone", "f", "type", "op_id", "message_id")


@dataclass(slots=True)
class Life:
    """The first push of a message, how often it was delivered, and whether an ack was confirmed."""

    push_ns: int | None = None
    zone: str = ""
    deliveries: int = 0
    acked: bool = False
    held: dict[str, set[str]] = field(default_factory=dict)
    """Places at the end, by zone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseMoment:
    """A case; ``at_ns``: its moment in run time, None if nothing tells it. ``life``: of cases with a message."""

    case: Case
    at_ns: int | None
    zone: str
    life: Life | None


def case_moments(run: RunDirectory, verdict: Verdict) -> dict[AnyClass, tuple[CaseMoment, ...]]:
    """Return the cases of each class that has any, at most ``CASES_MAX`` each. Raises ``RunError``."""
    found = _cases(run, verdict)
    times = _Times.of(run, [case for cases in found.values() for case in cases])
    return {name: tuple(times.moment(name, case) for case in cases) for name, cases in found.items() if cases}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Times:
    """Times and zones of all that cases may concern: messages, events and operations by number, events of order."""

    lives: Mapping[str, Life]
    events: Mapping[int, tuple[int, str]]
    operations: Mapping[int, tuple[int, str]]
    order_ns: Mapping[int, int]

    @classmethod
    def of(cls, run: RunDirectory, cases: Sequence[Case]) -> Self:
        wanted = {case.operation_index for case in cases if case.operation_index is not None}
        lives, events = _lives(run, {case.message_id for case in cases if case.message_id}, wanted)
        return cls(
            lives=lives,
            events=events,
            operations=_begins(run, {case.ops[0] for case in cases if case.ops}),
            order_ns=_order_times(run, [case.index for case in cases if case.what and case.index is not None]),
        )

    def moment(self, name: AnyClass, case: Case) -> CaseMoment:
        life = self.lives.get(case.message_id)
        at_ns, zone = self._when(name, case, life)
        return CaseMoment(case=case, at_ns=at_ns, zone=case.zone or zone, life=life)

    def _when(self, name: AnyClass, case: Case, life: Life | None) -> tuple[int | None, str]:
        if name in MISSING and life is not None:
            return life.push_ns, life.zone
        if case.ops:
            return self.operations.get(case.ops[0], (None, ""))
        if case.index is None:
            return None, ""
        return (self.order_ns.get(case.index), "") if case.what else self.events.get(case.index, (None, ""))


def _cases(run: RunDirectory, verdict: Verdict) -> dict[AnyClass, list[Case]]:
    """Return the cases of each class as far as they are on file, else the first ones, in the order of the history."""
    found: dict[AnyClass, list[Case]] = {}
    for name in (*MessageClass, *Property, *Anomaly):
        if any(name in section.classes and section.counts.get(name) for section in verdict.sections.values()):
            found[name] = list(verdict.cases.get(name, ()))
    for file, column in ((OFFENDERS_NAME, "class"), (ANOMALIES_NAME, "anomaly")):
        kinds = {str(name): name for name in found if isinstance(name, MessageClass if column == "class" else Anomaly)}
        if not kinds or not (run.path / file).exists():
            continue
        with reading(run.path / file, pa.ArrowException) as path:
            table = pq.read_table(path)
        for word, name in kinds.items():
            rows = table.filter(pc.equal(table[column], word)).slice(0, CASES_MAX).drop_columns([column]).to_pylist()
            found[name] = sorted(map(_case, rows), key=_place) or found[name]
    return found


def _case(row: Mapping[str, Any]) -> Case:
    return Case(**{**row, "ops": tuple(row["ops"])} if "ops" in row else row)


def _place(case: Case) -> tuple[bool, int, str]:
    index = case.index if case.index is not None else min(case.ops, default=None)
    return index is None, index or 0, case.subject


def _lives(
    run: RunDirectory, ids: Collection[str], wanted: Collection[int]
) -> tuple[dict[str, Life], dict[int, tuple[int, str]]]:
    """Return the life of each message, and time and zone of each of their events that is ``wanted``, by index."""
    lives = {message_id: Life() for message_id in ids}
    events: dict[int, tuple[int, str]] = {}
    for row in rows_with(run.operations(_COLUMNS), "message_id", lives):
        if row["index"] in wanted:
            events[row["index"]] = row["time_ns"], row["zone"]
        if row["type"] == "invoke":
            continue
        life, done = lives[row["message_id"]], row["type"] == "ok"
        if row["f"] == "push" and life.push_ns is None:
            life.push_ns = row["time_ns"] if row["invoke_ns"] is None else row["invoke_ns"]
            life.zone = row["zone"]
        life.deliveries += row["f"] == "pop" and done
        life.acked |= row["f"] == "ack" and done
    for row in rows_with(run.final_state(("zone", "place", "message_id")), "message_id", lives):
        lives[row["message_id"]].held.setdefault(row["zone"], set()).add(row["place"])
    return lives, events


def _begins(run: RunDirectory, ops: Collection[int]) -> dict[int, tuple[int, str]]:
    """Return when each operation began, and in which zone."""
    found: dict[int, tuple[int, str]] = {}
    for row in rows_with(run.operations(("time_ns", "invoke_ns", "zone", "op_id")), "op_id", ops):
        begin_ns = row["time_ns"] if row["invoke_ns"] is None else row["invoke_ns"]
        found.setdefault(row["op_id"], (begin_ns, row["zone"]))
    return found


def _order_times(run: RunDirectory, indexes: Sequence[int]) -> dict[int, int]:
    """Return when each event of the table of order was."""
    batches: Iterable[pa.RecordBatch] = run.batches(ORDER_NAME, ORDER, ("index", "time_ns")) if indexes else ()
    return {row["index"]: row["time_ns"] for row in rows_with(batches, "index", indexes)}
