"""The operations of a log of events, put together and in doubt where events contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zonelab.analysis.events.format import ACCEPTED, BEGIN, FAILED, REFUSED
from zonelab.analysis.events.pairing import (
    NONE,
    EventProblem,
    Spans,
    attempts,
    clock_problems,
    endings,
    pushes,
    unseen_attempts,
    without_effect,
)
from zonelab.analysis.events.reading import ABSENT, EventLog, Ints
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.units import NS_PER_MS

SHARD = "log"
"""The one shard of a queue of which nothing is known but events."""

UNANSWERED = "no answer is in the log"

_OPERATIONS = ("push", "pop", "ack", "nack")
_PUSH, _POP, _ACK, _NACK = range(len(_OPERATIONS))
_TYPES = ("invoke", "ok", "fail", "info")
_INVOKE, _OK, _FAIL, _INFO = range(len(_TYPES))

_END_STATE_CLASSES = (
    MessageClass.STUCK,
    MessageClass.NOT_DUE,
    MessageClass.UNSERVED,
    MessageClass.DEAD_LETTER,
    MessageClass.ORPHAN,
    MessageClass.PHANTOM,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedHistory:
    """The operations of a log of events, columns as in ``zonelab.analysis.runs.history.OPERATIONS``, and what of it
    is in doubt.

    ``epoch_ns``: the wall clock at run time 0. ``loaded_ns``, ``ended_ns``: run time of the last push, and of the last
    event. ``unstated``: classes for which the events do not say enough. ``instants``: operations that took no time that
    anybody knows.
    """

    operations: pa.Table
    epoch_ns: int
    loaded_ns: int
    ended_ns: int
    drained: bool
    unstated: tuple[MessageClass, ...]
    doubts: tuple[str, ...]
    zones: tuple[str, ...]
    instants: tuple[str, ...]


def history_of(log: EventLog, *, epoch_ns: int | None = None, end_state: bool = False) -> LoggedHistory:
    """Return the history of ``log``.

    Args:
        log: the events.
        epoch_ns: the wall clock at run time 0; that of the first event if not given.
        end_state: what the zones held at the end is known.
    """
    zero_ns = int(log.time_ns[0]) if epoch_ns is None else epoch_ns
    pushed, twice = pushes(log)
    worked, unbegun = attempts(log)
    unseen, hidden = unseen_attempts(log, worked)
    clocks = list(clock_problems(log))
    two_in_one = log.id[[problem.event for problem in twice]]  # an id of two messages: no event says of which it is
    pushed, worked = pushed.but(two_in_one, log), worked.but(two_in_one, log)
    unseen = unseen[~np.isin(log.id[unseen], two_in_one)]
    rows = _OperationRows(log, zero_ns=zero_ns, pushed=pushed, worked=worked, unseen=unseen)
    loads = log.time_ns[log.op <= REFUSED]
    return LoggedHistory(
        operations=rows.table(),
        epoch_ns=zero_ns,
        loaded_ns=int(loads[-1]) - zero_ns if len(loads) else 0,
        ended_ns=int(log.time_ns[-1]) - zero_ns,
        drained=log.drained,
        unstated=_unstated(log, end_state=end_state, clocks_agree=not clocks),
        doubts=_doubts(log, [twice, unbegun, hidden, clocks]),
        zones=tuple(sorted(log.zones)),
        instants=("pop",) if rows.acks_take_time else ("pop", "ack"),
    )


DOUBTS_TOLD = 5
"""Contradictions of one sort that are told one by one."""


def _doubts(log: EventLog, problems: Sequence[Sequence[EventProblem]]) -> tuple[str, ...]:
    doubts = []
    for of_a_sort in problems:
        doubts += [f"in {log.place(one.event)}: {one.words}" for one in of_a_sort[:DOUBTS_TOLD]]
        if (more := len(of_a_sort) - DOUBTS_TOLD) > 0:
            doubts[-1] += f" ({more:,} more like it)"
    return tuple(doubts)


def _unstated(log: EventLog, *, end_state: bool, clocks_agree: bool) -> tuple[MessageClass, ...]:
    unstated = [] if end_state else list(_END_STATE_CLASSES)
    if not (log.lease_ms != ABSENT).any():
        unstated += [MessageClass.CONCURRENT, MessageClass.ZOMBIE_ACK]
    if not (log.timed and clocks_agree) or not ((log.delay_ms != ABSENT) & (log.op <= REFUSED)).any():
        unstated += [MessageClass.EARLY]
    if not (log.op <= REFUSED).any():
        unstated += [MessageClass.LOST, MessageClass.UNEXPECTED]
    return tuple(dict.fromkeys(unstated))


class _OperationRows:
    """Operations of a log as columns: pushes, then deliveries, then what ended them.

    An attempt of which it is said that it was about to end, and no more, has an ack in doubt.
    """

    def __init__(self, log: EventLog, *, zero_ns: int, pushed: Spans, worked: Spans, unseen: Ints) -> None:
        self._log = log
        self._zero_ns = zero_ns
        self._pushed = pushed
        self._popped = np.concatenate((worked.begin, unseen))
        asked = endings(log, worked)
        answered = (worked.end != NONE) & ~without_effect(log, worked.end)
        ended = answered | ((worked.end == NONE) & (asked != NONE))
        self._end_of = ended.nonzero()[0]
        self._ends = worked.end[ended]
        failed = log.op[self._ends] == FAILED
        failed &= self._ends != NONE
        self._end_begins = np.where((asked[ended] != NONE) & ~failed, asked[ended], self._ends)
        self._failed_ns = np.full(len(self._popped), np.iinfo(np.int64).max)
        self._failed_ns[self._end_of[failed]] = log.time_ns[self._ends[failed]]
        begin = (self._pushed.begin, self._popped, self._end_begins)
        self._begin = np.concatenate(begin)
        self._f = np.repeat([_PUSH, _POP, _ACK], [len(part) for part in begin])
        self._f[len(self._begin) - len(self._ends) :][failed] = _NACK

    @property
    def acks_take_time(self) -> bool:
        """Return whether it is said of each ack when it began."""
        acks = self._f[len(self._begin) - len(self._ends) :] == _ACK
        return bool(acks.any() and (self._end_begins[acks] != self._ends[acks]).all())

    def table(self) -> pa.Table:
        """Return the rows in the order of time, of one time in that of the lines."""
        log, operations = self._log, len(self._begin)
        answered = np.concatenate((self._pushed.end, self._popped, self._ends))
        end_ns = np.where(answered == NONE, log.time_ns[-1], log.time_ns[answered])
        end_ns = np.maximum(end_ns, log.time_ns[self._begin])
        sequence = np.concatenate((2 * self._begin, np.where(answered == NONE, 2 * len(log), 2 * answered) + 1))
        time_ns = np.concatenate((log.time_ns[self._begin], end_ns)) - self._zero_ns
        order = np.lexsort((sequence, time_ns))
        operation = np.tile(np.arange(operations), 2)[order]
        completes = np.repeat([False, True], operations)[order]
        number = np.empty(operations, np.int64)
        number[operation[~completes]] = np.arange(operations)
        outcome = np.full(operations, _OK)
        outcome[: len(self._pushed)] = self._outcomes()
        outcome[operations - len(self._ends) :][self._ends == NONE] = _INFO
        columns = self._columns(operation, completes, number)
        columns |= {
            "index": np.arange(2 * operations),
            "time_ns": time_ns[order],
            "invoke_ns": pa.array(time_ns[:operations][operation], mask=~completes),
            "type": _named(_TYPES, np.where(completes, outcome[operation], _INVOKE)),
            "op_id": number[operation],
            "error": _named((UNANSWERED,), np.where(completes & (outcome[operation] == _INFO), 0, NONE)),
        }
        names = OPERATIONS.names
        arrays = [columns.get(name, pa.nulls(2 * operations, OPERATIONS.field(name).type)) for name in names]
        return pa.table([_as(one, OPERATIONS.field(name)) for name, one in zip(names, arrays, strict=True)], OPERATIONS)

    def _columns(self, operation: Ints, completes: NDArray[np.bool_], number: Ints) -> dict[str, pa.Array]:
        """Return what an event says of its message; the begin of a delivery does not know which it will be."""
        log, event, f = self._log, self._begin[operation], self._f[operation]
        named = (f != _POP) | completes
        pops, delivered = self._pop_columns(), (f == _POP) & completes
        position = np.where(delivered, operation - len(self._pushed), 0)
        delivery = self._deliveries(number)[operation]
        due_ms, lease_ms = (np.append(one, ABSENT) for one in self._push_columns())
        push = np.where(f == _PUSH, operation, len(due_ms) - 1)
        columns = {
            "process": _named(log.programs, log.program[event]),
            "zone": _named(log.zones, log.zone[event]),
            "f": _named(_OPERATIONS, f),
            "message_id": _named(log.ids, np.where(named, log.id[event], NONE)),
            "shard": _named((SHARD,), np.where(named, 0, NONE)),
            "delivery": pa.array(delivery, mask=delivery == NONE),
            "due_ms": _or_null(due_ms[push]),
            "lease_ms": _or_null(lease_ms[push]),
        }
        for name, values in pops.items():
            shown = np.append(values, ABSENT)[position] if len(values) else np.full(len(event), ABSENT)
            columns[name] = _or_null(np.where(delivered, shown, ABSENT))
        return columns

    def _outcomes(self) -> Ints:
        """Return how each push ended."""
        end = self._pushed.end
        outcome: Ints = np.where(self._log.op[end] == ACCEPTED, _OK, _FAIL)
        return np.where(end == NONE, _INFO, outcome)

    def _push_columns(self) -> tuple[Ints, Ints]:
        """Return when each push is due, on the wall, and its own lease, where it says so."""
        log, begin, end = self._log, self._pushed.begin, self._pushed.end
        delay_ms, lease_ms = (
            np.where(values[begin] != ABSENT, values[begin], np.where(end != NONE, values[end], ABSENT))
            for values in (log.delay_ms, log.lease_ms)
        )
        if not log.timed:
            delay_ms = np.full(len(begin), ABSENT)
        return np.where(delay_ms == ABSENT, ABSENT, log.time_ns[begin] // NS_PER_MS + delay_ms), lease_ms

    def _pop_columns(self) -> dict[str, Ints]:
        """Return the lease of each delivery on the wall: its own or its message's, up to where it failed."""
        log, begin = self._log, self._popped
        of_message = np.full(len(log.ids), ABSENT)
        pushed = ((log.op <= REFUSED) & (log.lease_ms != ABSENT)).nonzero()[0]
        of_message[log.id[pushed]] = log.lease_ms[pushed]
        own = np.where(log.op[begin] == BEGIN, log.lease_ms[begin], ABSENT)
        lease_ms = np.where(own != ABSENT, own, of_message[log.id[begin]])
        at_ms = log.time_ns[begin] // NS_PER_MS
        end_ms = np.minimum(at_ms + lease_ms, self._failed_ns // NS_PER_MS)
        return {
            "lease_start_ms": at_ms,
            "leased_ms": at_ms,
            "lease_end_ms": np.where(lease_ms > 0, end_ms, ABSENT),
        }

    def _deliveries(self, number: Ints) -> Ints:
        """Return, by operation, the number of the delivery that it ends."""
        delivery = np.full(len(number), NONE)
        delivery[len(number) - len(self._ends) :] = number[len(self._pushed) + self._end_of]
        return delivery


def _named(names: Sequence[str] | pa.StringArray, codes: Ints) -> pa.DictionaryArray:
    known = names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes == NONE), known)


def _or_null(values: Ints) -> pa.Array:
    return pa.array(values, mask=values == ABSENT)


def _as(column: pa.Array | NDArray[np.int64], field: pa.Field) -> pa.Array:
    array = column if isinstance(column, pa.Array) else pa.array(column)
    return array if array.type == field.type else array.cast(field.type)
