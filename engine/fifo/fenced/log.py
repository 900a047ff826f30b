"""The log of a fenced partition: one writer gives offsets, to records that it finds in the inboxes of single zones.

A record follows those of its producer that are due before it (``PartitionRecord.front``), and has one offset. The
writer's register holds the end of the log, where its last write began, and of each producer the last number and those
in front of it that still wait, delayed; records lie beside it, each under the token of its writer. What lies in front
of the last write was decided before that was sent, so each write takes what the one before it gave offsets to out of
the inboxes: until then a zone that took an undecided write still has the record where other writers look for it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from zonelab.engine.common.mutex import Mutex
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, SEAL_REGISTER
from zonelab.engine.fifo.fenced.register import Register, RegisterStore, WriteEffects
from zonelab.engine.fifo.fenced.trimming import slowest_cursor
from zonelab.engine.fifo.fenced.views import RegisterView, ZoneView, attempt
from zonelab.engine.fifo.log.record import LogEntry, PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Indeterminate

READ_MAX = 200
"""Records that get offsets, or are read from a log, at once."""

PRODUCERS_MAX = 1_000
"""Producers that are remembered, those of the latest records: the register has their names."""

OTHERS_EVERY = 8
"""Every so many looks that found nothing in the own zone's inbox, another zone's is looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogState:
    """``end``: offset of the next record. ``since``: where the last write began. ``last``: producer → its last number
    and the offset given last to it; then the lower numbers that have none. ``ended``: no record follows. ``first``:
    records in front of it are trimmed; ``floor``: no group that has no cursor yet begins in front of it.
    """

    end: int = 0
    since: int = 0
    last: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ended: bool = False
    first: int = 0
    floor: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the state in ``text``, as it stands in the register; an empty text is a log without records."""
        if not text:
            return cls()
        end, since, last, *more = json.loads(text)
        ended, first, floor = (*more, 0, 0, 0)[:3]
        numbers = {"end": end, "since": since, "first": first, "floor": floor}
        return cls(last={name: tuple(of) for name, of in last.items()}, ended=bool(ended), **numbers)

    def text(self) -> str:
        trimmed = [int(self.ended), self.first, self.floor] if self.floor else []
        more = trimmed or ([1] if self.ended else [])
        return json.dumps([self.end, self.since, self.last, *more], ensure_ascii=False, separators=(",", ":"))

    def holds(self, record: PartitionRecord) -> bool | None:
        """Return whether ``record`` has an offset. None: it has none yet, or its producer is forgotten."""
        if self.has(record.producer, record.sequence):
            return True
        return False if self.ended and (record.producer in self.last or len(self.last) < PRODUCERS_MAX) else None

    def has(self, producer: str, number: int) -> bool:
        """Return whether record ``number`` of ``producer`` has an offset; nobody waits for number 0."""
        known, _, *waits = self.last.get(producer, (0, 0))
        return number <= known and number not in waits

    def with_records(self, records: Sequence[tuple[int, PartitionRecord]]) -> "LogState":
        """The state after ``records`` with their offsets; it knows the last sequence of the latest producers only."""
        last = dict(self.last)
        for offset, each in records:
            known, _, *waits = last.get(each.producer, (0, 0))
            waits = [number for number in (*waits, *range(known + 1, each.sequence)) if number != each.sequence]
            last[each.producer] = (max(known, each.sequence), offset, *waits)
        if len(last) > PRODUCERS_MAX:
            last = dict(sorted(last.items(), key=lambda item: item[1][1])[-PRODUCERS_MAX:])
        return replace(self, end=self.end + len(records), since=self.end, last=last)

    def trimmed(self, *, first: int, floor: int) -> "LogState":
        """The state of a write that does nothing else; it never goes back."""
        return replace(self.with_records([]), first=max(self.first, first), floor=max(self.floor, floor))


class FencedLog:
    """The log of ``partition`` as one session writes or reads it. ``near``: the zone whose inbox is looked at first.

    ``one_writer`` and ``proves`` are mechanisms, which can be off.
    """

    def __init__(
        self, store: RegisterStore, partition: Partition, *, near: str, one_writer: bool = True, proves: bool = True
    ) -> None:
        self._store, self.partition, self._near, self._proves = store, partition, near, proves
        self.register = Register(store=store, partition=partition, name=LOG_REGISTER, exclusive=one_writer)
        self._state = LogState()
        self._adopted = False
        self._turn = Mutex(store.runtime)
        self._known: dict[int, PartitionRecord] = {}
        self._given: list[str] = []
        self._empty_looks = 0
        self._retry_ns = 0
        self._compared = 0

    @property
    def writes(self) -> bool:
        """This session gives offsets."""
        return self._adopted and self.register.token > 0

    @property
    def end(self) -> int:
        return self._state.end

    async def take(self) -> bool:
        """Become the writer, if nobody is. Raises what the port raises."""
        self._adopted = False
        found = await self.register.claim()
        if found is None:
            return False
        self._state, self._known, self._given = LogState.parse(found.state), {}, []
        if self._store.adopts and found.number:
            records = await self._last_write(found)
            self._state = replace(self._state, since=self._state.end - len(records))
            await self.register.write(self._state.text(), WriteEffects(records=records))
            self._given = [text for _, text in records]
        self._adopted = True
        return True

    async def read(self, offset: int, count: int) -> list[LogEntry]:
        """Up to ``count`` decided records from ``offset`` on. The writer looks for new ones if it has none."""
        if not self.writes:
            await self._take_in_a_while()
        async with self._turn:
            if self.writes and offset >= self._state.end:
                await self._give_offsets()
        found = [self._known.get(each) for each in range(offset, min(offset + count, self._state.end))]
        if not found or found[0] is None:
            return await self._stored(offset, min(count, READ_MAX))
        known = found[: found.index(None)] if None in found else found
        return [LogEntry(offset + each, record) for each, record in enumerate(known) if record is not None]

    def forget(self, before: int) -> None:
        """Drop records in front of ``before``, which are not read again."""
        for offset in [offset for offset in self._known if offset < before]:
            del self._known[offset]

    async def release(self) -> None:
        """Let others write. Raises what the port raises."""
        if self.writes:
            await self.register.give_up()

    async def end_if_sealed(self) -> None:
        """Give offsets to all that sealed zones have left, and then end the log. Raises what the port raises.

        Of any two zones with the seal one has each push that was confirmed: before that zone took the seal. What none
        of two has was not, and gets no offset any more. What is delayed is waited for.
        """
        async with self._turn:
            while self.writes and not self._state.ended:
                due = await self._left(due_ms=self._due_ms(), sealed=True)
                chosen, known = self._in_order(due or [])
                if chosen:
                    await self._append(chosen, known)
                    continue
                left = await self._left(due_ms=None, sealed=True)
                if left is None or any(map(self._lacks, left)):
                    return
                state = replace(self._state.with_records([]), ended=True)
                removed = list(dict.fromkeys((*self._given, *left)))
                await self.register.write(state.text(), WriteEffects(removed=removed))
                self._state, self._given = state, []

    async def trim(self, *, kept: int, groups: Sequence[str] = ()) -> int:
        """Drop what is more than ``kept`` records behind the slowest group, of which ``groups`` must be some; how many.

        Raises what the port raises. Only what lay in front of the floor before cursors were read: of a group that they
        do not show, nobody had asked for its register by then, so it begins at the floor or behind it.
        """
        floor = self._state.floor
        if not self.writes or self._state.end - self._state.first <= kept:
            return 0
        slowest = await slowest_cursor(self._store.views, self.partition, expected=groups)
        async with self._turn:
            before = self._state
            if slowest is None or not self.writes:
                return 0
            state = before.trimmed(first=min(floor, slowest - kept), floor=slowest - kept)
            if (state.first, state.floor) == (before.first, before.floor):
                return 0
            await self.register.write(state.text(), WriteEffects(removed=self._given))
            self._state, self._given = state, []
            return state.first - before.first

    async def floor(self) -> int:
        """Return the lowest first offset of a group whose register was promised before. Raises ``Unadmitted``."""
        if self.writes:
            return self._state.floor
        found = await self._store.views.admitted(self.partition, [LOG_REGISTER])
        return max(LogState.parse(view.registers[0].state).floor for view in found)

    async def repair(self) -> None:
        """Give zones the records that they missed. Raises what the port raises.

        Those of the last write go along: a zone that missed that, too, takes its state now, and must have all of it.
        Nothing goes along that was trimmed since it was missed: no later trim would delete it.
        """
        missing = await self._missed()
        async with self._turn:
            if missing and self.writes:
                length = self._state.end - self._state.since
                last = await self._stored(self._state.since, length)
                if len(last) < length:
                    return
                entries = [entry for entry in (*missing, *last) if entry.offset >= self._state.first]
                records = {entry.offset: entry.record.text() for entry in entries}
                await self.register.write(self._state.text(), WriteEffects(records=sorted(records.items())))

    async def _take_in_a_while(self) -> None:
        now_ns = self._store.runtime.now_ns()
        if now_ns >= self._retry_ns:
            self._retry_ns = now_ns + self._store.lease_ms * 100_000
            await self.take()

    async def _last_write(self, found: RegisterView) -> list[tuple[int, str]]:
        """The records of the newest state's last write, of whichever zone has them: a token has one writer."""
        offsets = range(self._state.since, self._state.end)
        if not offsets:
            return []
        under, columns = f"{found.token} ", await self._columns(offsets)
        rows = [[(raw or b"").decode() for raw in row] for row in zip(*columns.values(), strict=True)]
        texts = [[text.partition(" ")[2] for text in row if text.startswith(under)] for row in rows]
        if not texts or not all(texts):
            self.register.token = 0
            raise Indeterminate(f"{self.partition.name}: no zone that answers has all of the last write")
        return [(offset, text) for offset, (text, *_) in zip(offsets, texts, strict=True)]

    async def _give_offsets(self) -> None:
        """To what is found in the inbox of one zone; they count when two zones have them in the log.

        To what was delayed only if all is known that was confirmed and is due, from two zones: what one zone lacks may
        be due before.
        """
        if self._state.ended:
            return
        due_ms = self._due_ms()
        texts, delayed = await self._pending(due_ms)
        if any(map(self._lacks, delayed)):
            texts = await self._left(due_ms=due_ms) or texts
        else:
            texts += delayed
        chosen, known = self._in_order(texts)
        if chosen or not set(known) <= set(self._given):
            await self._append(chosen, known)

    async def _append(self, chosen: Sequence[PartitionRecord], known: Sequence[str]) -> None:
        """``chosen`` get offsets; ``known``, which have some, leave the inboxes."""
        records = [(self._state.end + number, record) for number, record in enumerate(chosen)]
        state = self._state.with_records(records)
        texts = [(offset, record.text()) for offset, record in records]
        effects = WriteEffects(records=texts, removed=list(dict.fromkeys((*self._given, *known))))
        if self._proves:
            await self.register.write(state.text(), effects)
        else:
            self.register.write_soon(state.text(), effects)
        self._state, self._given = state, [text for _, text in texts]
        self._known.update(records)

    def _due_ms(self) -> int:
        """Return the time (Unix, ms) that every zone's clock has passed: records due by then are due everywhere."""
        return self._store.clock.now_ms() - self._store.clock_margin_ms

    async def _pending(self, due_ms: int) -> tuple[list[str], list[str]]:
        """Return the records in one zone's inbox, and its delayed records that are due at ``due_ms``."""
        zones = [self._near, *(zone for zone in self._store.views.zones if zone != self._near)]
        turn, self._empty_looks = self._empty_looks, self._empty_looks + 1
        zone = zones[turn // OTHERS_EVERY % len(zones)] if turn % OTHERS_EVERY == 0 else self._near
        keys, count = self._store.keys, READ_MAX + len(self._given)
        reading: list[Command] = [
            ("ZRANGE", keys.inbox(self.partition), 0, count - 1),
            ("ZRANGEBYSCORE", keys.delayed(self.partition), "-inf", due_ms, "LIMIT", 0, count),
        ]
        answer = await attempt(self._store.views.zones[zone], reading)
        if answer is None:
            return [], []
        inbox, delayed = ([raw.decode() for raw in raws] for raws in answer)
        return inbox, delayed

    def _lacks(self, text: str) -> bool:
        record = PartitionRecord.parse(text)
        return not self._state.has(record.producer, record.sequence)

    async def _left(self, *, due_ms: int | None, sealed: bool = False) -> list[str] | None:
        """Return the records in the inboxes of zones of one era, with delayed ones due at ``due_ms`` or all of them.

        None if fewer than two zones are of one era. ``sealed``: only zones with the seal count.
        """
        views, keys = self._store.views, self._store.keys
        reading: list[Command] = [
            ("ZRANGE", keys.inbox(self.partition), 0, -1),
            ("ZRANGEBYSCORE", keys.delayed(self.partition), "-inf", "+inf" if due_ms is None else due_ms),
        ]
        found = (await views.of(self.partition, [SEAL_REGISTER], *reading)).values()
        taking_part = [view for view in found if view.admitted and (view.registers[0].state or not sealed)]
        eras = Counter(view.era for view in taking_part)
        counted = [view for view in taking_part if eras[view.era] >= views.majority]
        if not counted:
            return None
        return list(dict.fromkeys(raw.decode() for view in counted for raws in view.more for raw in raws))

    def _in_order(self, texts: Iterable[str]) -> tuple[list[PartitionRecord], list[str]]:
        """Those whose turn it is, in the order of (due, epoch, number), not too many; and those that the log has.

        Behind one that lacks what is in front of it, no other of its producer has its turn.
        """
        known, chosen, waits = [], [], set()
        given: set[tuple[str, int]] = set()
        parsed = ((PartitionRecord.parse(text), text) for text in texts)
        for record, text in sorted(parsed, key=lambda each: each[0].order):
            producer, number, front = record.producer, record.sequence, record.front
            if self._state.has(producer, number):
                known.append(text)
            elif producer in waits or not (self._state.has(producer, front) or (producer, front) in given):
                waits.add(producer)
            else:
                chosen.append(record)
                given.add((producer, number))
        return chosen[:READ_MAX], known

    async def _stored(self, offset: int, count: int) -> list[LogEntry]:
        """Records as the zones have them, up to the first that is not certain.

        The writer knows that all in front of its end were decided: of two zones the newer is right. Anybody else takes
        what two zones show alike, token and all, that have a state which says that something was decided there.
        """
        end = min(offset + count, self._state.end) if self.writes else offset + count
        offsets = range(offset, end)
        if not offsets:
            return []
        found = [view for view in (await self._read(offsets)).values() if view.admitted]
        bounds = [end] * len(found) if self.writes else self._decided_ends(found)
        entries = []
        for number, at in enumerate(offsets):
            raws = [view.more[0][number] for view, bound in zip(found, bounds, strict=True) if at < bound]
            text = self._agreed([raw.decode() for raw in raws if raw is not None], answered=len(raws))
            if text is None:
                break
            entries.append(LogEntry(at, PartitionRecord.parse(text.partition(" ")[2])))
        if self.writes:
            self._known.update((entry.offset, entry.record) for entry in entries)
        return entries

    def _decided_ends(self, found: Sequence[ZoneView]) -> list[int]:
        """In front of which offset all was decided before each of ``found`` was read, as far as its state shows.

        A record alone proves nothing: what one zone has of a write that nobody decided, an admission brings to another.
        """
        shown = self._store.views.settled(found)
        registers = [(view.registers[0].age, LogState.parse(view.registers[0].state)) for view in found]
        return [log.end if shown and age == shown[0].age else log.since for age, log in registers]

    async def _columns(self, offsets: range) -> dict[str, list[bytes | None]]:
        """Zone that takes part → what it has at ``offsets``."""
        return {zone: view.more[0] for zone, view in (await self._read(offsets)).items() if view.admitted}

    def _agreed(self, texts: list[str], *, answered: int) -> str | None:
        majority = self._store.views.majority
        if not texts or answered < majority:
            return None
        newest = max(texts, key=lambda text: int(text.partition(" ")[0]))
        return newest if self.writes or texts.count(newest) >= majority else None

    async def _missed(self) -> list[LogEntry]:
        """Some of the records that a zone that takes part lacks or has otherwise, behind those compared before."""
        views = self._store.views
        counts = await views.ask(("HLEN", self._store.keys.log(self.partition)))
        if all(answer[0] == self._state.end - self._state.first for answer in counts.values()):
            return []
        begin = self._compared if self._state.first <= self._compared < self._state.end else self._state.first
        offsets = range(begin, min(begin + READ_MAX, self._state.end))
        self._compared = begin + READ_MAX
        columns = await self._columns(offsets)
        if len(columns) < views.majority:
            return []
        entries = []
        for at, raws in zip(offsets, zip(*columns.values(), strict=True), strict=True):
            texts = [raw.decode() for raw in raws if raw is not None]
            text = self._agreed(texts, answered=len(raws))
            if text is not None and len(texts) < len(raws):
                entries.append(LogEntry(at, PartitionRecord.parse(text.partition(" ")[2])))
        return entries

    async def _read(self, offsets: range) -> dict[str, ZoneView]:
        reading = ("HMGET", self._store.keys.log(self.partition), *offsets)
        return await self._store.views.of(self.partition, [LOG_REGISTER], reading)
