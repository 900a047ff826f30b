"""The checker of ordered messages. It works from the run directory alone, in O(n log n).

Rows are divided twice over temporary files: by partition for what concerns logs, cursors, owners and attempts, by key
for what concerns a key in all partitions. So memory holds the rows of the largest partition, or of one part's keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zonelab.analysis.checkers.order.at_rest import FINAL_EVENTS, AtRest, cursor_by_place, encode_final
from zonelab.analysis.checkers.order.exclusion import check_exclusion, check_owners, count_takeovers
from zonelab.analysis.checkers.order.fencing import check_cursors, check_redelivery, check_tokens
from zonelab.analysis.checkers.order.findings import OrderFindings
from zonelab.analysis.checkers.order.log import check_due_in_order, check_log, check_produced_in_order, placed
from zonelab.analysis.checkers.order.messages import NEVER, PUT_ASIDE, OrderMessages, messages_of
from zonelab.analysis.checkers.order.properties import FORBIDDEN, Property
from zonelab.analysis.checkers.order.retries import check_retries
from zonelab.analysis.checkers.order.rows import EVENTS, KINDS, OK, TEXTS, Books, Ints, Rows, StringNumbers, places_in
from zonelab.analysis.checkers.order.section import OrderDivergence, OrderSection, Standstill
from zonelab.analysis.checkers.order.sequence import (
    check_duplicates,
    check_finished_in_order,
    check_gaps,
    check_strict_order,
)
from zonelab.analysis.checkers.order.sinks import check_sinks
from zonelab.analysis.checkers.order.waiting import check_waiting, standstills
from zonelab.analysis.checkers.spill import Columns, Spill, columns_of, partition_by_id
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand, fault_bands
from zonelab.analysis.runs.history import FAULTS
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.runs.order_rules import OrderRules

ROWS_PER_PART = 250_000
PARTS_MAX = 64

FAULTS_NAME = "faults"

_HELD = pa.array(["log", "sink"])
"""Places at rest of a key."""

_KEYED = [KINDS[one] for one in (OrderKind.PRODUCE, OrderKind.START, OrderKind.END, OrderKind.SINK, *PUT_ASIDE)]


class OrderTables(Protocol):
    """A run whose tables are at hand as wholes."""

    @property
    def info(self) -> RunInfo: ...
    def table(self, name: str, schema: pa.Schema) -> pa.Table | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderRun:
    """A finished run as batches of the tables of ``zonelab.analysis.runs.order``.

    ``at_rest``: None if logs and cursors were not read. ``end_ns``: run time of its end.
    """

    info: RunInfo
    rules: OrderRules
    rows: int
    events: Iterator[pa.RecordBatch]
    at_rest: Iterator[pa.RecordBatch] | None
    faults: Sequence[FaultBand]
    end_ns: int

    @classmethod
    def of(cls, directory: RunDirectory) -> "OrderRun":
        """Raises ``RunError``."""
        final = (directory.path / f"{FINAL_ORDER_NAME}.parquet").exists()
        return cls._of(
            directory.info,
            rows=directory.rows(ORDER_NAME, ORDER),
            events=directory.batches(ORDER_NAME, ORDER),
            at_rest=directory.batches(FINAL_ORDER_NAME, FINAL_ORDER) if final else None,
            faults=directory.faults(),
        )

    @classmethod
    def in_memory(cls, run: OrderTables) -> "OrderRun":
        """The tables of a run that was not written to disk, as what the checker reads."""
        events, at_rest = run.table(ORDER_NAME, ORDER), run.table(FINAL_ORDER_NAME, FINAL_ORDER)
        events = ORDER.empty_table() if events is None else events
        faults = run.table(FAULTS_NAME, FAULTS)
        return cls._of(
            run.info,
            rows=events.num_rows,
            events=iter(events.to_batches()),
            at_rest=None if at_rest is None else iter(at_rest.to_batches()),
            faults=fault_bands(() if faults is None else faults.to_pylist()),
        )

    @classmethod
    def _of(cls, info: RunInfo, **read: Any) -> "OrderRun":
        end_ns = max((end for _, end in info.phases.values()), default=0)
        return cls(info=info, rules=info.order or OrderRules(), end_ns=end_ns, **read)


def check_order(run: OrderRun) -> OrderSection:
    """Check every ordering property of ``run``. Its rows are divided into parts on disk, to bound the memory used."""
    check = _OrderCheck(run)
    parts = min(PARTS_MAX, 1 + run.rows // ROWS_PER_PART)
    with TemporaryDirectory(prefix="zonelab-order-") as directory, ExitStack() as spills:
        made = [
            spills.enter_context(Spill(Path(directory), name, schema, partitions=parts))
            for name, schema in (("places", EVENTS), ("keys", EVENTS), ("rest", FINAL_EVENTS), ("held", FINAL_EVENTS))
        ]
        check.divide(*made, parts=parts)
        places, keys, rest, held = made
        for events, final in zip(places.partitions(), rest.partitions(), strict=True):
            check.judge_partitions(events, final)
        for events, final in zip(keys.partitions(), held.partitions(), strict=True):
            check.judge_keys(events, final)
    return check.section()


class _OrderCheck:
    """State of the check of a run while its parts are judged one after the other."""

    def __init__(self, run: OrderRun) -> None:
        self._run, self._rules = run, run.rules
        self._by_key = run.rules.unit == "key"
        self._books, self._zones = Books(), StringNumbers()
        self._findings = OrderFindings(self._books)
        self._members: list[pa.RecordBatch] = []
        self._first: dict[tuple[int, int], int] = {}
        self._blocked: list[Standstill] = []
        self._divergence: list[OrderDivergence] = []
        self._last_ns = 0
        self._watched = False
        self._places: Ints = np.zeros(0, dtype=np.int64)
        self._number_of_zones = max(len(run.info.zone_names), 1)

    def divide(self, places: Spill, keys: Spill, rest: Spill, held: Spill, *, parts: int) -> None:
        for batch in self._run.events:
            coded = self._books.encode(batch)
            self._last_ns = max(self._last_ns, *coded["time_ns"].to_pylist()[-1:], 0)
            self._places = np.union1d(self._places, places_in(coded))
            partitioned = pc.is_valid(batch["partition"])
            kinds = coded["kind"].to_numpy()
            self._members.append(coded.filter(pa.array(kinds == KINDS[OrderKind.MEMBER])))
            self._watched |= bool((kinds == KINDS[OrderKind.SINK]).any())
            _add(places, coded.filter(partitioned), batch["partition"].filter(partitioned), parts)
            keyed = pc.and_(pc.is_valid(batch["key"]), pa.array(np.isin(kinds, _KEYED)))
            _add(keys, coded.filter(keyed), batch["key"].filter(keyed), parts)
        for batch in self._run.at_rest or ():
            coded = encode_final(batch, self._books, self._zones)
            _add(rest, coded, batch["partition"], parts)
            keyed = pc.and_(pc.is_valid(batch["key"]), pc.is_in(batch["place"].cast(pa.string()), _HELD))
            _add(held, coded.filter(keyed), batch["key"].filter(keyed), parts)

    def judge_partitions(self, events: Columns, final: Columns) -> None:
        texts = {name: StringNumbers() for name in TEXTS}
        rest = AtRest.of(final, texts, zones=self._number_of_zones)
        rows = placed(Rows.of(events, texts, self._places), rest.log, self._books)
        self._findings.judging(texts["message_id"])
        known, idempotent = self._run.at_rest is not None, self._rules.idempotent
        check_log(rows, rest.log, rest.waiting, self._findings, idempotent=idempotent, log_known=known)
        messages = messages_of(rows, rest.log, self._places, self._books, by_key=self._by_key)
        self._note_first(rows)
        first = self._first_of(messages)
        check_gaps(messages, first, self._cursors(rows, rest, messages), self._findings)
        count_takeovers(rows, self._gone(), self._findings)
        if not self._by_key:
            self._exclusion_and_order(rows, messages, first)
        check_redelivery(rows, self._findings, by_key=self._by_key)
        check_tokens(rows, self._findings)
        check_cursors(rows, rest if known else None, self._findings)
        check_owners(rows, self._findings)
        check_retries(rows, self._rules, self._findings)
        check_duplicates(rows, self._rules.replay_max, self._findings)
        self._waiting(rows, messages)
        for partition, (offsets, divergent) in rest.divergence.items():
            name = self._books.text("partition", partition)
            self._divergence.append(OrderDivergence(partition=name, offsets=offsets, divergent=divergent))

    def judge_keys(self, events: Columns, final: Columns) -> None:
        texts = {name: StringNumbers() for name in TEXTS}
        rest = AtRest.of(final, texts, zones=self._number_of_zones)
        rows, held = placed(Rows.of(events, texts, self._places), rest.log, self._books), rest.sinks
        self._findings.judging(texts["message_id"])
        check_produced_in_order(rows, self._findings)
        check_due_in_order(rows, self._findings)
        check_finished_in_order(rows, self._findings)
        check_sinks(rows, held, self._findings)
        if self._by_key:
            nothing = rows.where(np.zeros(len(rows), dtype=np.bool_))
            messages = messages_of(rows, nothing, self._places, self._books, by_key=True)
            self._exclusion_and_order(rows, messages, self._first_of(messages))

    def section(self) -> OrderSection:
        doubts = [self._run.info.doubt] if self._run.info.doubt else []
        if self._run.at_rest is None:
            doubts.append("logs and cursors were not read at rest")
        sorts: dict[str, dict[str, int]] = {str(name): {} for name in Property}
        for (name, what), count in sorted(self._findings.sorts.items()):
            sorts[name][what] = count
        return OrderSection(
            forbid=self._rules.forbid or tuple(map(str, FORBIDDEN)),
            counts=self._findings.counts(Property),
            cases=self._findings.first(Property),
            doubts=tuple(doubts),
            sorts=sorts,
            opportunities={str(name): self._findings.opportunities[name] for name in Property},
            blocked=tuple(sorted(self._blocked, key=lambda one: (-one.lasted_ns, one.begin_ns))),
            divergence=tuple(sorted(self._divergence, key=lambda one: one.partition)),
        )

    def _exclusion_and_order(self, rows: Rows, messages: OrderMessages, first: Ints) -> None:
        check_strict_order(rows, messages, first, self._findings)
        check_exclusion(rows, self._gone(), self._findings, by_key=self._by_key, watched=self._watched)

    def _gone(self) -> Rows:
        """Members that crashed or left."""
        members = self._all_members()
        ended = [self._books.code("status", one) for one in ("left", "crashed")]
        return members.where(np.isin(members.status, ended))

    def _all_members(self) -> Rows:
        table = pa.Table.from_batches(self._members, schema=EVENTS)
        return Rows.of(columns_of(table), {name: StringNumbers() for name in TEXTS}, self._places)

    def _waiting(self, rows: Rows, messages: OrderMessages) -> None:
        wait_ms, end_ns = self._rules.wait_ms, max(self._run.end_ns, self._last_ns)
        check_waiting(messages, self._run.faults, wait_ms, end_ns, self._findings)
        members = self._all_members()
        self._blocked += standstills(rows, members, messages, self._findings, wait_ms=wait_ms, end_ns=end_ns)

    def _note_first(self, rows: Rows) -> None:
        """Note where each group began: its first reported cursor, else that of its first grant, else its
        first message.
        """
        begun = rows.of_kind(OrderKind.START)
        begun = begun.where(np.argsort(begun.offset, kind="stable"))
        granted = rows.of_kind(OrderKind.GRANT, outcomes=(OK,))
        granted = granted.where(granted.cursor >= 0)  # an engine may read the cursor later
        assigned = rows.of_kind(OrderKind.ASSIGN)
        assigned = assigned.where(assigned.status == self._books.code("status", "begins"))
        for events, column in ((begun, begun.offset), (granted, granted.cursor), (assigned, assigned.cursor)):
            for row in np.unique(events.place, return_index=True)[1].tolist():
                self._first[int(events.group[row]), int(events.partition[row])] = int(column[row])

    def _first_of(self, messages: OrderMessages) -> Ints:
        return _of_places(messages, self._first, otherwise=NEVER)

    def _cursors(self, rows: Rows, rest: AtRest, messages: OrderMessages) -> Ints:
        """Return where the group of each message has come to: decided at rest, otherwise the furthest that
        was confirmed.
        """
        moves = rows.of_kind(OrderKind.COMMIT, OrderKind.GRANT, *PUT_ASIDE, outcomes=(OK,))
        moves = moves.where(np.argsort(moves.cursor, kind="stable"))
        return _of_places(messages, cursor_by_place(moves) | cursor_by_place(rest.cursors), otherwise=-1)


def _of_places(messages: OrderMessages, values: Mapping[tuple[int, int], int], *, otherwise: int) -> Ints:
    """The value of each message's group and partition."""
    _, at, back = np.unique(messages.place, return_index=True, return_inverse=True)
    whose = zip(messages.group[at].tolist(), messages.partition[at].tolist(), strict=True)
    return np.array([values.get(one, otherwise) for one in whose], dtype=np.int64)[back]


def _add(spill: Spill, batch: pa.RecordBatch, ids: pa.Array, parts: int) -> None:
    spill.add(columns_of(pa.Table.from_batches([batch])), partition_by_id(ids.cast(pa.string()), parts))
