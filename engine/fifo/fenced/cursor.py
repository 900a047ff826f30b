"""The cursor of a group in a fenced partition: progress, failures and parked messages, in one register."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from zonelab.engine.common.mutex import Mutex
from zonelab.engine.fifo.fenced.keys import group_register
from zonelab.engine.fifo.fenced.register import NOTHING, Register, RegisterStore, WriteEffects
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition


@dataclass(frozen=True, kw_only=True, slots=True)
class CursorState:
    """``failed``: offset → how often. ``rests_until_ms``: nothing is handed out before. ``parked``: keys."""

    progress: Progress
    failed: Mapping[int, int] = field(default_factory=dict)
    rests_until_ms: int = 0
    parked: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the state in ``text``, as it stands in the register."""
        cursor, above, failed, rests, parked = json.loads(text)
        return cls(
            progress=Progress(cursor, tuple(above)),
            failed={int(offset): times for offset, times in failed.items()},
            rests_until_ms=rests,
            parked=tuple(parked),
        )

    def text(self) -> str:
        failed = {str(offset): times for offset, times in self.failed.items()}
        parts = [self.progress.cursor, list(self.progress.above), failed, self.rests_until_ms, list(self.parked)]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    def moved_to(self, progress: Progress) -> "CursorState":
        """Return the state at ``progress``; nothing else is kept about finished messages."""
        cursor, above = progress.cursor, sorted({*progress.above, *self.progress.above})
        while cursor in above:
            cursor += 1
        above = [offset for offset in above if offset > cursor]
        failed = {offset: times for offset, times in self.failed.items() if offset >= cursor and offset not in above}
        return replace(self, progress=Progress(cursor, tuple(above)), failed=failed)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetAside:
    """A message that a group will not handle. ``why``: dead or parked. ``attempts``: that it had."""

    offset: int
    record: PartitionRecord
    why: str
    attempts: int


class GroupCursor:
    """The cursor of ``group`` in ``partition``. Every change raises as ``Register.write`` does."""

    def __init__(self, store: RegisterStore, partition: Partition, group: str) -> None:
        self._group = group
        self.register = Register(store=store, partition=partition, name=group_register(group))
        self.state = CursorState(progress=Progress(0))
        self._turn = Mutex(store.runtime)

    async def take(self) -> bool:
        """Own it, if nobody does; nothing is decided before ``adopt``."""
        found = await self.register.claim()
        return found is not None

    @property
    def began(self) -> bool:
        """The group had a cursor when it was taken."""
        return bool(self.register.state)

    async def adopt(self, *, begins: int) -> None:
        """Go on where the last owner stopped. ``begins``: where a group begins that has no cursor."""
        known = self.register.state
        self.state = CursorState.parse(known) if known else CursorState(progress=Progress(begins))
        if self.register.store.adopts or not known:
            await self._change(lambda state: state)

    async def commit(self, progress: Progress) -> None:
        await self._change(lambda state: replace(state.moved_to(progress), rests_until_ms=0))

    async def fail(self, offsets: Sequence[int], *, rests_until_ms: int) -> None:
        """Each of ``offsets`` failed once more; nothing is handed out before ``rests_until_ms``."""

        def change(state: CursorState) -> CursorState:
            failed = {**state.failed, **{each: state.failed.get(each, 0) + 1 for each in offsets}}
            return replace(state, failed=failed, rests_until_ms=rests_until_ms)

        await self._change(change)

    async def put_aside(self, these: Sequence[SetAside], *, park: Sequence[str] = ()) -> None:
        """Record messages as put aside and finished, and move the cursor past those at the head.

        ``park``: keys whose later messages are to be put aside, too.
        """

        def change(state: CursorState) -> CursorState:
            done = Progress(state.progress.cursor, tuple(each.offset for each in these))
            return replace(state.moved_to(done), parked=tuple(dict.fromkeys((*state.parked, *park))))

        await self._change(
            change, WriteEffects(aside=[(f"{self._group} {each.offset}", self._told(each)) for each in these])
        )

    async def release(self) -> None:
        await self.register.give_up()

    async def _change(self, change: Callable[[CursorState], CursorState], effects: WriteEffects = NOTHING) -> None:
        """One at a time, each from what the one before left."""
        async with self._turn:
            state = change(self.state)
            await self.register.write(state.text(), effects)
            self.state = state

    def _told(self, one: SetAside) -> str:
        record = one.record
        parts = [one.why, self.register.token, one.attempts, record.id, record.key, record.producer, record.sequence]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
