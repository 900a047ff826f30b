"""The log of a fenced partition: one writer gives offsets, to records that it finds in the inboxes of single zones.

A record follows those of its producer with lower numbers without a gap, and has one offset. The writer's register holds
the end of the log, where its last write began, and the last number of each producer; records lie beside it, each under
the token of its writer. What lies in front of the last write was decided before that was sent, so each write takes what
the one before it gave offsets to out of the inboxes: until then a zone that took a write which nobody decided still has
the record where other writers look for it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from engine.common.mutex import Mutex
from engine.fifo.fenced.keys import LOG_REGISTER, SEAL_REGISTER
from engine.fifo.fenced.register import Effects, Register, Store
from engine.fifo.fenced.views import RegisterView, attempt
from engine.fifo.log.record import Entry, Record
from engine.fifo.partition import Partition
from engine.ports import Command, Indeterminate

READ_MAX = 200
"""Records that get offsets, or are read from a log, at once."""

PRODUCERS_MAX = 1_000
"""So many producers, those of the latest records, are remembered: the register has their names."""

OTHERS_EVERY = 8
"""Every so many looks that found nothing in the own zone's inbox, another zone's is looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogState:
    """``end``: offset of the next record. ``since``: where the last write began. ``last``: producer → its last number
    and the offset of that. ``ended``: no record follows.
    """

    end: int = 0
    since: int = 0
    last: dict[str, tuple[int, int]] = field(default_factory=dict)
    ended: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """The state that ``text``, as it stands in the register, tells; of a log without records if it is empty."""
        if not text:
            return cls()
        end, since, last, *ended = json.loads(text)
        known = {name: (number, offset) for name, (number, offset) in last.items()}
        return cls(end=end, since=since, last=known, ended=bool(ended))

    def text(self) -> str:
        ended = [1] if self.ended else []
        return json.dumps([self.end, self.since, self.last, *ended], ensure_ascii=False, separators=(",", ":"))

    def holds(self, record: Record) -> bool | None:
        """Whether ``record`` has an offset. None: it has none yet, or its producer is forgotten."""
        if record.sequence <= self.last.get(record.producer, (0, 0))[0]:
            return True
        return False if self.ended and (record.producer in self.last or len(self.last) < PRODUCERS_MAX) else None

    def with_records(self, records: Sequence[tuple[int, Record]]) -> "LogState":
        """The state after ``records`` with their offsets; it knows the last sequence of the latest producers only."""
        last = {**self.last, **{each.producer: (each.sequence, offset) for offset, each in records}}
        if len(last) > PRODUCERS_MAX:
            last = dict(sorted(last.items(), key=lambda item: item[1][1])[-PRODUCERS_MAX:])
        return LogState(end=self.end + len(records), since=self.end, last=last)


class FencedLog:
    """Of ``partition``, as one session writes or reads it. ``near``: the zone whose inbox is looked at first.

    ``one_writer`` and ``proves`` are mechanisms, which can be off.
    """

    def __init__(
        self, store: Store, partition: Partition, *, near: str, one_writer: bool = True, proves: bool = True
    ) -> None:
        self._store, self.partition, self._near, self._proves = store, partition, near, proves
        self.register = Register(store=store, partition=partition, name=LOG_REGISTER, exclusive=one_writer)
        self._state = LogState()
        self._adopted = False
        self._turn = Mutex(store.runtime)
        self._known: dict[int, Record] = {}
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
            await self.register.write(self._state.text(), Effects(records=records))
            self._given = [text for _, text in records]
        self._adopted = True
        return True

    async def read(self, offset: int, count: int) -> list[Entry]:
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
        return [Entry(offset + each, record) for each, record in enumerate(known) if record is not None]

    def forget(self, before: int) -> None:
        """What is in front of ``before`` is not read again."""
        for offset in [offset for offset in self._known if offset < before]:
            del self._known[offset]

    async def release(self) -> None:
        """Let others write. Raises what the port raises."""
        if self.writes:
            await self.register.give_up()

    async def end_if_sealed(self) -> None:
        """Give offsets to all that sealed zones have left, and then end the log. Raises what the port raises.

        Of any two zones with the seal one has each push that was confirmed: before that zone took the seal. What none
        of two has was not, and gets no offset any more.
        """
        async with self._turn:
            while self.writes and not self._state.ended:
                left = await self._left_when_sealed()
                chosen, known = self._in_order(left or [])
                if chosen:
                    await self._append(chosen, known)
                elif left is None or set(left) - set(known):
                    return
                else:
                    state = replace(self._state.with_records([]), ended=True)
                    removed = list(dict.fromkeys((*self._given, *known)))
                    await self.register.write(state.text(), Effects(removed=removed))
                    self._state, self._given = state, []

    async def repair(self) -> None:
        """Give zones the records that they missed. Raises what the port raises.

        Those of the last write go along: a zone that missed that, too, takes its state now, and must have all of it.
        """
        missing = await self._missed()
        async with self._turn:
            if missing and self.writes:
                length = self._state.end - self._state.since
                last = await self._stored(self._state.since, length)
                if len(last) < length:
                    return
                records = {entry.offset: entry.record.text() for entry in (*missing, *last)}
                await self.register.write(self._state.text(), Effects(records=sorted(records.items())))

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
        """To what is found in the inbox of one zone; they count when two zones have them in the log."""
        if self._state.ended:
            return
        chosen, known = self._in_order(await self._pending())
        if chosen or not set(known) <= set(self._given):
            await self._append(chosen, known)

    async def _append(self, chosen: Sequence[Record], known: Sequence[str]) -> None:
        """``chosen`` get offsets; ``known``, which have some, leave the inboxes."""
        records = [(self._state.end + number, record) for number, record in enumerate(chosen)]
        state = self._state.with_records(records)
        texts = [(offset, record.text()) for offset, record in records]
        effects = Effects(records=texts, removed=list(dict.fromkeys((*self._given, *known))))
        if self._proves:
            await self.register.write(state.text(), effects)
        else:
            self.register.write_soon(state.text(), effects)
        self._state, self._given = state, [text for _, text in texts]
        self._known.update(records)

    async def _pending(self) -> list[str]:
        zones = [self._near, *(zone for zone in self._store.views.zones if zone != self._near)]
        turn, self._empty_looks = self._empty_looks, self._empty_looks + 1
        zone = zones[turn // OTHERS_EVERY % len(zones)] if turn % OTHERS_EVERY == 0 else self._near
        key = self._store.keys.inbox(self.partition)
        last = READ_MAX + len(self._given) - 1
        answer = await attempt(self._store.views.zones[zone], [("ZRANGE", key, 0, last)])
        return [raw.decode() for raw in answer[0]] if answer else []

    async def _left_when_sealed(self) -> list[str] | None:
        """What zones of one era that have the seal have in their inboxes; None if those are not two."""
        views = self._store.views
        reading: Command = ("ZRANGE", self._store.keys.inbox(self.partition), 0, -1)
        found = (await views.of(self.partition, [SEAL_REGISTER], reading)).values()
        sealed = [view for view in found if view.admitted and view.registers[0].state]
        eras = Counter(view.era for view in sealed)
        counted = [view for view in sealed if eras[view.era] >= views.majority]
        if not counted:
            return None
        return list(dict.fromkeys(raw.decode() for view in counted for raw in view.more[0]))

    def _in_order(self, texts: Iterable[str]) -> tuple[list[Record], list[str]]:
        """Those whose turn it is, in the order in which they were sent as far as numbers allow, not too many; and those
        that the log has already.
        """
        waiting: dict[tuple[str, int], Record] = {}
        known, chosen = [], []
        following = {name: number + 1 for name, (number, _) in self._state.last.items()}
        for text in texts:
            record = Record.parse(text)
            if record.sequence < following.get(record.producer, 1):
                known.append(text)
            else:
                waiting[record.producer, record.sequence] = record
        for producer, _ in list(waiting):
            while (turn := (producer, following.get(producer, 1))) in waiting:
                chosen.append(waiting.pop(turn))
                following[producer] = turn[1] + 1
        return chosen[:READ_MAX], known

    async def _stored(self, offset: int, count: int) -> list[Entry]:
        """Records as the zones have them, up to the first that is not certain.

        The writer knows that all in front of its end were decided: of two zones the newer is right. Anybody else takes
        what two zones show alike, token and all.
        """
        end = min(offset + count, self._state.end) if self.writes else offset + count
        offsets = range(offset, end)
        if not offsets:
            return []
        columns = await self._columns(offsets)
        if len(columns) < self._store.views.majority:
            return []
        entries = []
        for at, raws in zip(offsets, zip(*columns.values(), strict=True), strict=True):
            text = self._agreed([raw.decode() for raw in raws if raw is not None], answered=len(raws))
            if text is None:
                break
            entries.append(Entry(at, Record.parse(text.partition(" ")[2])))
        if self.writes:
            self._known.update((entry.offset, entry.record) for entry in entries)
        return entries

    async def _columns(self, offsets: range) -> dict[str, list[bytes | None]]:
        """Zone that takes part → what it has at ``offsets``."""
        views = await self._store.views.of(self.partition, [LOG_REGISTER], self._reading(offsets))
        return {zone: view.more[0] for zone, view in views.items() if view.admitted}

    def _agreed(self, texts: list[str], *, answered: int) -> str | None:
        majority = self._store.views.majority
        if not texts or answered < majority:
            return None
        newest = max(texts, key=lambda text: int(text.partition(" ")[0]))
        return newest if self.writes or texts.count(newest) >= majority else None

    async def _missed(self) -> list[Entry]:
        """Some of the records that a zone that takes part lacks or has otherwise, behind those compared before."""
        views = self._store.views
        counts = await views.ask(("HLEN", self._store.keys.log(self.partition)))
        if all(answer[0] == self._state.end for answer in counts.values()):
            return []
        begin = self._compared if self._compared < self._state.end else 0
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
                entries.append(Entry(at, Record.parse(text.partition(" ")[2])))
        return entries

    def _reading(self, offsets: Sequence[int]) -> Command:
        return ("HMGET", self._store.keys.log(self.partition), *offsets)
