"""The messages of one partition: what happened to each, and the classes that follow from it.

Almost every message is pushed, delivered and acked once, so whole partitions are judged with numpy; the few that
were delivered repeatedly or had their lease changed go through ``deliveries`` one by one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zonelab.analysis.checkers.queue.cases import Cases
from zonelab.analysis.checkers.queue.deliveries import Ack, Deliveries, Extension, Lease
from zonelab.analysis.checkers.queue.end_state import EndState
from zonelab.analysis.checkers.queue.events import (
    ABSENT,
    ACK,
    DEAD,
    EXTEND,
    FAIL,
    INFO,
    OK,
    PAYLOAD,
    POP,
    PUSH,
    QUEUE,
    UNACK,
    Bools,
    EventRows,
    Ints,
    PartitionEvents,
)
from zonelab.analysis.checkers.queue.inversion import SERVED
from zonelab.analysis.checkers.queue.section import Totals
from zonelab.analysis.checkers.queue.unserved import LAST_NS, WAITING
from zonelab.analysis.checkers.spill import Columns
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.units import NS_PER_MS

_LATEST = int(np.iinfo(np.int64).max)

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class QueueMessages:
    """Messages of ``partition`` as arrays: boolean arrays and ``due_ms`` have one entry a message."""

    partition: PartitionEvents
    end: EndState
    epoch_ns: int
    early_ms_max: int
    late_ms: float | None
    leases: bool
    pushed: Bools
    push_ok: Bools
    push_doubtful: Bools  # not confirmed, but at least one push of it may have worked
    pops: EventRows  # deliveries, by message and then by lease
    delivered: Bools
    acked: Bools
    ack_doubtful: Bools
    due_ms: Ints

    @classmethod
    def of(
        cls,
        partition: PartitionEvents,
        *,
        epoch_ns: int,
        early_ms_max: int,
        late_ms: float | None,
        leases: bool,
        end: EndState,
    ) -> "QueueMessages":
        """Return for each message of ``partition`` whether it was pushed, delivered and acked, and when it is due."""
        push_ok, push_doubtful, push_failed = _outcomes(partition, PUSH)
        acked, ack_doubtful, _ = _outcomes(partition, ACK)
        pops = _pops(partition.events, epoch_ns)
        return cls(
            partition=partition,
            end=end,
            epoch_ns=epoch_ns,
            early_ms_max=early_ms_max,
            late_ms=late_ms,
            leases=leases,
            pushed=push_ok | push_doubtful | push_failed,
            push_ok=push_ok,
            push_doubtful=push_doubtful,
            pops=pops,
            delivered=partition.marked(pops.message),
            acked=acked,
            ack_doubtful=ack_doubtful,
            due_ms=_due_ms(partition, pops),
        )

    def totals(self) -> Totals:
        """Return how many messages were pushed with which outcome, delivered and acknowledged."""
        return Totals(
            pushed=int(self.pushed.sum()),
            acknowledged=int(self.push_ok.sum()),
            failed=int((self.pushed & ~self.push_ok & ~self.push_doubtful).sum()),
            indeterminate=int(self.push_doubtful.sum()),
            delivered=int(self.delivered.sum()),
            deliveries=len(self.pops),
            acked=int(self.acked.sum()),
        )

    def cases(self) -> Iterator[tuple[MessageClass, Cases]]:
        """The cases of every class that one message can show by itself."""
        for name, chosen in self.fates().items():
            if chosen.any():
                yield name, self._whole(chosen, located=name is MessageClass.STUCK)
        yield MessageClass.EARLY, self._early()
        yield MessageClass.LATE, self._late()
        yield from self._repeated()

    def fates(self) -> dict[MessageClass, Bools]:
        """The classes of a message as a whole; a message of a wrong body has another of them, too.

        The queue owes a delivery only for a confirmed push, and a redelivery until an ack may have worked, or until it
        has set the message aside, which it may do with what was delivered. Without leases, or of a message whose own is
        0, a delivery settles all.
        """
        states, owed, kept = self.partition.states, self._owed, self._kept
        later = kept & self.end.drained & self._not_due()
        dead = owed & ~kept & self.delivered & self.partition.marked(states.message[states.place == DEAD])
        gone = owed & ~kept & ~dead
        unseen = gone & np.where(self.delivered, self._home_unread(), not self.end.complete)
        return {
            MessageClass.STUCK: kept & self.end.drained & ~later & ~self._waiting,
            MessageClass.NOT_DUE: later,
            MessageClass.LOST: gone & ~self.delivered & ~unseen,
            MessageClass.ABANDONED: gone & self.delivered & ~unseen,
            MessageClass.UNDECIDED: unseen | (kept & (not self.end.drained)),
            MessageClass.RECOVERED: self.push_doubtful & self.delivered,
            MessageClass.UNEXPECTED: (self.delivered & ~self.push_ok & ~self.push_doubtful) | self._of_wrong_body(),
            MessageClass.DEAD_LETTER: dead,
        }

    @cached_property
    def _owed(self) -> Bools:
        unsettled = ~(self.delivered & self._at_most_once())
        owed: Bools = self.push_ok & ~self.acked & ~self.ack_doubtful & unsettled
        return owed

    @cached_property
    def _kept(self) -> Bools:
        """Owed and listed: where its consumers look, or anywhere if it was never delivered."""
        states = self.partition.states
        listed = (states.place != PAYLOAD) & (states.place != DEAD)
        at_home = self.partition.marked(states.message[listed & states.serving])
        kept: Bools = self._owed & (at_home | (self.partition.marked(states.message[listed]) & ~self.delivered))
        return kept

    def _not_due(self) -> Bools:
        """Not delivered yet, and due after the end of the drain."""
        if self.end.drained_ms is None:
            return np.zeros(len(self.partition), dtype=np.bool_)
        return ~self.delivered & (self.due_ms > self.end.drained_ms)

    @cached_property
    def _waiting(self) -> Bools:
        """Kept and due for some time, listed as waiting by every zone and as leased by none: stuck, or unserved."""
        end, states = self.end, self.partition.states
        judged = end.drained and end.zones_read and self._kept.any()
        if not judged or end.drained_ms is None or end.drained_ns is None:
            return np.zeros(len(self.partition), dtype=np.bool_)
        pairs = np.column_stack((states.message, states.zone))[states.place == QUEUE]
        zones = np.bincount(np.unique(pairs, axis=0)[:, 0], minlength=len(self.partition))
        leased = self.partition.marked(states.message[states.place == UNACK])
        due = (self._since_ms != ABSENT) & (self._since_ms <= end.drained_ms)
        recent = self.partition.marked(self.pops.message[self.pops.time_ns > end.drained_ns - LAST_NS])
        waiting: Bools = self._kept & (zones == end.zones_read) & ~leased & due & ~recent
        return waiting

    @cached_property
    def _since_ms(self) -> Ints:
        """From when on the next delivery of each message was owed: its due time, or the end of its last lease."""
        pops, until_ms = self.pops, np.full(len(self.partition), ABSENT)
        np.maximum.at(until_ms, pops.message, pops.lease_end_ms)
        until_ms[pops.message[pops.lease_end_ms == ABSENT]] = ABSENT
        return np.where(self.delivered, until_ms, self.due_ms)

    def waiting(self) -> Columns:
        """Return the messages that wait in every zone, as ``WAITING``.

        The service of their shard decides which of them are stuck and which unserved.
        """
        cases, messages = self._whole(self._waiting, located=True), np.flatnonzero(self._waiting)
        columns = (cases.ids, cases.index, self._since_ms[messages], self._confirmed("shard")[messages])
        return dict(zip(WAITING.names, (*columns, pa.array(cases.detail, pa.string())), strict=True))

    def served_last(self) -> Iterator[tuple[int, int]]:
        """The first deliveries in the last second of the drain: the shard of each, and how late it was."""
        first, drained_ns = self._first_pops, self.end.drained_ns
        if drained_ns is not None:
            last = (first.time_ns > drained_ns - LAST_NS) & (first.time_ns <= drained_ns)
            shard = self._confirmed("shard")[first.message]
            rows = last & (shard >= 0) & self._first_due
            yield from zip(shard[rows].tolist(), self._first_late_ms[rows].tolist(), strict=True)

    @cached_property
    def _pushes(self) -> EventRows:
        events = self.partition.events
        return events.where(events.f == PUSH)

    @cached_property
    def _confirmed_pushes(self) -> EventRows:
        return self._pushes.where(self._pushes.type == OK)

    def _confirmed(self, name: str) -> NDArray[np.int16]:
        """A column of the last confirmed push of each message; -1 if there is none."""
        confirmed, values = self._confirmed_pushes, np.full(len(self.partition), -1, dtype=np.int16)
        values[confirmed.message] = confirmed.column(name)
        return values

    def _of_wrong_body(self) -> Bools:
        """Delivered with a body that is not that of its pushes, where all that may have worked had the same."""
        pushes = self._pushes.where((self._pushes.type != FAIL) & (self._pushes.body != ABSENT))
        least, most = np.full(len(self.partition), _LATEST), np.full(len(self.partition), ABSENT)
        np.minimum.at(least, pushes.message, pushes.body)
        np.maximum.at(most, pushes.message, pushes.body)
        pops = self.pops.where((least == most)[self.pops.message] & (self.pops.body != ABSENT))
        return self.partition.marked(pops.message[pops.body != least[pops.message]])

    def _at_most_once(self) -> Bools:
        pushes = self._pushes
        return self.partition.marked(pushes.message[(pushes.lease_ms == 0) | (not self.leases)])

    def _home_unread(self) -> Bools:
        if not self.end.unread_shards:
            return np.zeros(len(self.partition), dtype=np.bool_)
        shard = np.full(len(self.partition), -1, dtype=np.int16)
        rows = self.partition.events.where(self.partition.events.shard >= 0)
        shard[rows.message] = rows.shard
        return np.isin(shard, self.end.unread_shards)

    @cached_property
    def _first_index(self) -> Ints:
        events, index = self.partition.events, np.full(len(self.partition), ABSENT)
        index[events.message[::-1]] = events.index[::-1]
        return index

    def _whole(self, chosen: Bools, *, located: bool) -> Cases:
        """A case for each ``chosen`` message, shown by its first event; ``located``: with where it sits."""
        messages = np.flatnonzero(chosen)
        detail = self.end.whereabouts(self.partition.states, chosen) if located else None
        return Cases(self.partition.ids.take(pa.array(messages)), self._first_index[messages], detail=detail)

    def _early(self) -> Cases:
        due_ms = self._due_earliest_ms()[self.pops.message]
        before_ms = due_ms - _wall_ms(self.pops.time_ns, self.epoch_ns)
        rows = ((due_ms != ABSENT) & (before_ms > self.early_ms_max)).nonzero()[0]
        return self._of_rows(self.pops.where(rows), [f"{early} ms before it was due" for early in before_ms[rows]])

    def _due_earliest_ms(self) -> Ints:
        """An attempt in doubt may have been what the queue took, and was due before the one that was confirmed."""
        rows = self._pushes.where((self._pushes.type == INFO) & (self._pushes.due_ms != ABSENT))
        due_ms = self.due_ms.copy()
        np.minimum.at(due_ms, rows.message, rows.due_ms)
        return due_ms

    def _of_rows(self, rows: EventRows, detail: list[str]) -> Cases:
        return Cases(self.partition.ids.take(pa.array(rows.message)), rows.index, rows.delivery, detail=detail)

    def _late(self) -> Cases:
        bound_ms = _LATEST if self.late_ms is None else self.late_ms
        rows = (self._first_due & (self._first_late_ms > bound_ms)).nonzero()[0]
        late_ms = self._first_late_ms[rows].tolist()
        return self._of_rows(self._first_pops.where(rows), [f"{late:,} ms after it was due" for late in late_ms])

    def lateness(self) -> tuple[Ints, NDArray[np.int16]]:
        """Milliseconds from due to delivery for every first delivery, and the zones where they were made."""
        return self._first_late_ms[self._first_due], self._first_pops.zone[self._first_due]

    @cached_property
    def _first_pops(self) -> EventRows:
        return self.pops.where(np.flatnonzero(np.diff(self.pops.message, prepend=-1)))

    @cached_property
    def _first_due(self) -> Bools:
        """For which of the first deliveries it is known when they were due."""
        known: Bools = self.due_ms[self._first_pops.message] != ABSENT
        return known

    @cached_property
    def _first_late_ms(self) -> Ints:
        """Milliseconds from due to delivery of each first delivery of which that is known."""
        return _wall_ms(self._first_pops.time_ns, self.epoch_ns) - self.due_ms[self._first_pops.message]

    def _repeated(self) -> Iterator[tuple[MessageClass, Cases]]:
        """Duplicates by cause, and zombie acks."""
        found: dict[MessageClass, list[tuple[int, int, int, str]]] = defaultdict(list)
        for message, deliveries in self._intricate():
            for lease, cause, detail in deliveries.duplicates():
                found[cause].append((message, lease.index, lease.delivery, detail))
            for ack, detail in deliveries.zombie_acks():
                found[MessageClass.ZOMBIE_ACK].append((message, ack.index, ack.delivery, detail))
        for name, shown in found.items():
            messages, index, delivery, details = zip(*shown, strict=True)
            ids = self.partition.ids.take(pa.array(messages))
            yield name, Cases(ids, np.array(index), np.array(delivery), detail=details)

    def _intricate(self) -> Iterator[tuple[int, Deliveries]]:
        """The messages that need more than a glance: delivered repeatedly, lease changed, or acked past its end."""
        events = self.partition.events
        acks = events.where((events.f == ACK) & (events.type == OK))
        extensions = events.where((events.f == EXTEND) & (events.type != FAIL) & (events.lease_end_ms != ABSENT))
        end_ms = np.full(len(self.partition), _LATEST)
        leased = self.pops.where(self.pops.lease_end_ms != ABSENT)
        end_ms[leased.message] = leased.lease_end_ms
        chosen = np.bincount(self.pops.message, minlength=len(self.partition)) > 1
        chosen[extensions.message] = True
        chosen[acks.message[_wall_ms(acks.invoke_ns, self.epoch_ns) > end_ms[acks.message]]] = True
        if not chosen.any():
            return
        leases = _by_message(self.pops.where(chosen[self.pops.message]), self._lease)
        extended = _by_message(extensions, self._extension)
        confirmed = _by_message(acks.where(chosen[acks.message]), self._ack)
        for message, held in leases.items():
            yield message, Deliveries(sorted(held), extended.get(message, ()), confirmed.get(message, ()))

    def _lease(self, rows: EventRows) -> Iterator[Lease]:
        ends = (None if end == ABSENT else end for end in rows.lease_end_ms.tolist())
        columns = (rows.leased_ms, rows.lease_start_ms, rows.index, rows.delivery)
        yield from map(Lease, *(column.tolist() for column in columns), ends)

    def _extension(self, rows: EventRows) -> Iterator[Extension]:
        confirmed = _wall_ms(rows.time_ns, self.epoch_ns).tolist()
        ok_ms = (at if kind == OK else None for at, kind in zip(confirmed, rows.type.tolist(), strict=True))
        invoked = _wall_ms(rows.invoke_ns, self.epoch_ns).tolist()
        yield from map(Extension, rows.delivery.tolist(), invoked, ok_ms, rows.lease_end_ms.tolist())

    def _ack(self, rows: EventRows) -> Iterator[Ack]:
        invoked, confirmed = (_wall_ms(at, self.epoch_ns).tolist() for at in (rows.invoke_ns, rows.time_ns))
        yield from map(Ack, rows.delivery.tolist(), invoked, confirmed, rows.index.tolist())

    def served(self) -> Columns:
        """Return confirmed, delivered messages with shard, due time and priority, as ``SERVED``."""
        confirmed, pushed_ns = self._confirmed_pushes, np.full(len(self.partition), _LATEST)
        np.minimum.at(pushed_ns, confirmed.message, confirmed.time_ns)
        shard, priority = self._confirmed("shard"), self._confirmed("priority")
        complete = self.push_ok & (shard >= 0) & (priority >= 0) & (self.due_ms != ABSENT)
        first = self._first_pops.where(complete[self._first_pops.message])
        columns = (first.index, first.delivery, self.due_ms[first.message], pushed_ns[first.message])
        times = (first.invoke_ns, first.time_ns, shard[first.message], priority[first.message])
        ids = self.partition.ids.take(pa.array(first.message))
        return dict(zip(SERVED.names, (ids, *columns, *times), strict=True))


def _wall_ms(time_ns: Ints, epoch_ns: int) -> Ints:
    return (time_ns + epoch_ns) // NS_PER_MS


def _outcomes(partition: PartitionEvents, f: int) -> tuple[Bools, Bools, Bools]:
    """Per message the best outcome of its operations ``f``: confirmed, else doubtful, else failed for certain."""
    events = partition.events
    ok, info, fail = (
        partition.marked(events.message[(events.f == f) & (events.type == kind)]) for kind in (OK, INFO, FAIL)
    )
    return ok, info & ~ok, fail & ~ok & ~info


def _pops(events: EventRows, epoch_ns: int) -> EventRows:
    """Deliveries in the order of their leases; a delivery without lease times is placed by its operation's times."""
    pops = events.where((events.f == POP) & (events.type == OK))
    leased_ms = np.where(pops.leased_ms == ABSENT, _wall_ms(pops.time_ns, epoch_ns), pops.leased_ms)
    start_ms = np.where(pops.lease_start_ms == ABSENT, _wall_ms(pops.invoke_ns, epoch_ns), pops.lease_start_ms)
    order = np.lexsort((pops.index, start_ms, leased_ms, pops.message))
    return pops.where(order, leased_ms=leased_ms[order], lease_start_ms=start_ms[order])


def _due_ms(partition: PartitionEvents, pops: EventRows) -> Ints:
    """When each message was due: as its confirmed push said, else any push, else its deliveries; else ``ABSENT``."""
    events = partition.events
    push = events.where((events.f == PUSH) & (events.due_ms != ABSENT))
    due_ms = np.full(len(partition), ABSENT)
    for rows in (pops.where(pops.due_ms != ABSENT), push.where(push.type != OK), push.where(push.type == OK)):
        earliest = np.full(len(partition), _LATEST)
        np.minimum.at(earliest, rows.message, rows.due_ms)
        due_ms = np.where(earliest != _LATEST, earliest, due_ms)
    return due_ms


def _by_message(rows: EventRows, build: Callable[[EventRows], Iterator[Item]]) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = defaultdict(list)
    for message, item in zip(rows.message.tolist(), build(rows), strict=True):
        found[message].append(item)
    return found
