"""Hold of a program at a point among its commands: until the point, at it, and what becomes of the program."""

import asyncio
import re
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from time import monotonic_ns
from typing import Any, Protocol

from zonelab.cluster.resp.programs.point import CommandPoint, Moment
from zonelab.cluster.resp.programs.session import ProgramSession
from zonelab.cluster.resp.protocol import wire

_EARLIER_MAX = 6
SHOWN_WORDS = 8
_SHOWN_LENGTH = 40
_UNUSUAL = re.compile("[^ -~]")


class HoldState(StrEnum):
    """Progress of a hold."""

    ARMED = "armed"
    """The program has not come to the point."""
    REACHED = "reached"
    """It is held at the point, and the port waits for what becomes of it."""
    HIT = "hit"
    """The processes that were meant have been hit, and their connections are held until they may go on."""
    OVER = "over"
    EXPIRED = "expired"
    """Nobody said in time what becomes of the program, and it went on."""


@dataclass(frozen=True, kw_only=True)
class ReachedPoint:
    """The point that a program has come to."""

    peer: str
    """The program's end of the connection."""
    command: str
    """The command, its words cut short."""
    number: int
    """Its number among the commands of the program since the point was armed."""
    together: int
    """Commands that are one point with it, itself included."""
    earlier: tuple[str, ...]
    """The last commands of the program that were taken before this point."""
    earlier_ns: tuple[int, ...]
    """The times at which they were taken, by the system's monotonic clock."""


class HeldProgram(Protocol):
    """The program of a hold."""

    @property
    def sessions(self) -> Iterable[ProgramSession]: ...
    def freeze(self) -> None:
        """Take nothing more from any of its connections, those that are made from now on included."""

    def thaw(self, but: Collection[ProgramSession] = ()) -> None:
        """Go on with all of them but some."""

    def ended(self, hold: "PointHold") -> None:
        """``hold`` concerns it no more."""


class PointHold:
    """Hold of ``program`` at ``point``, which is armed from now on."""

    def __init__(self, point: CommandPoint, program: HeldProgram) -> None:
        self.point = point
        self.state = HoldState.ARMED
        self.where: ReachedPoint | None = None
        self.reached = asyncio.Event()
        """The point is reached, or never will be."""
        self._program = program
        self._loop = asyncio.get_running_loop()
        self._number = 0  # commands since it was armed
        self._met = 0  # of them, those that are meant
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=_EARLIER_MAX)
        self._approaches: dict[ProgramSession, asyncio.Task[None]] = {}
        self._hit: asyncio.Future[tuple[Collection[str] | None, bool]] = self._loop.create_future()
        self._released = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the program goes on as if there were no point."""
        return self.state in (HoldState.OVER, HoldState.EXPIRED)

    def as_dict(self) -> dict[str, Any]:
        where = None if self.where is None else asdict(self.where)
        return {"state": self.state.value, "commands": self._number, "where": where}

    def take(self, session: ProgramSession, commands: list[bytes]) -> None:
        """Pass on what ``session`` has sent, up to the point."""
        place = self._place(commands) if self.state is HoldState.ARMED else None
        if place is None:
            self._note(commands[-_EARLIER_MAX:])
            session.forward(commands)
            return
        first, after = (place, place + 1) if self.point.cut else (0, len(commands))
        self._note(commands[:first])
        where = ReachedPoint(
            peer=session.peer,
            command=shortened(commands[place]),
            number=self._number,
            together=after - first,
            earlier=tuple(shortened(command) for _, command in self._recent),
            earlier_ns=tuple(taken_ns for taken_ns, _ in self._recent),
        )
        self._note(commands[first:after])
        self._number += after - 1 - place  # those behind it are counted when they are taken
        session.hold(commands[first:])
        if self.point.when is Moment.BEFORE:
            self.state = HoldState.REACHED
            self._program.freeze()
        approach = self._approach(session, commands[:first], after - first, place - first, where)
        self._approaches[session] = self._loop.create_task(approach)

    def hit(self, *, peers: Collection[str] | None = None, keep: bool = False) -> None:
        """Say that the processes of the connections to ``peers`` are hit; None: of all.

        The connections are dropped with all that they have not been answered, or with ``keep`` held until
        ``release``; the others go on.
        """
        if not self._hit.done():
            self._hit.set_result((peers, keep))

    def release(self) -> None:
        """Let the connections that are held go on as if nothing had been."""
        self._released.set()

    def end(self) -> None:
        """Let the program go on, wherever it is."""
        if self._running is not None:
            self._running.cancel()
        self._stop_approaches()
        self._finish(HoldState.OVER)

    def _note(self, commands: list[bytes]) -> None:
        """Keep the last commands that are taken, each with its time."""
        now_ns = monotonic_ns()
        self._recent.extend((now_ns, command) for command in commands)

    def _place(self, commands: list[bytes]) -> int | None:
        """The place of the command that is meant; commands up to it, or all, are counted."""
        for place, command in enumerate(commands):
            self._number += 1
            if self.point.matches(command):
                if self.point.nonempty:
                    return place
                self._met += 1
                if self._met == self.point.at_command:
                    return place
        return None

    async def _approach(
        self, session: ProgramSession, before: list[bytes], count: int, index: int, where: ReachedPoint
    ) -> None:
        """Bring one connection to the point; if it is the one that is meant, the hold begins."""
        session.forward(before)
        await session.drained()
        if self.point.when is not Moment.BEFORE:
            pending = session.take_pending()
            session.hold(pending[count:])
            session.withhold()
            session.forward(pending[:count])
            await session.drained()
            if self.point.when is Moment.APPLIED:
                await session.answered_everywhere()
        del self._approaches[session]
        if self.point.nonempty and not self._is_meant(session, index):
            session.deliver()
            session.thaw()
            return
        self._stop_approaches()
        self._running = self._loop.create_task(self._hold(session, where))

    def _is_meant(self, session: ProgramSession, index: int) -> bool:
        if session.closing or self.state is not HoldState.ARMED or session.withholds_nothing(index):
            return False
        self._met += 1
        return self._met == self.point.at_command

    async def _hold(self, session: ProgramSession, where: ReachedPoint) -> None:
        self.state, self.where = HoldState.REACHED, where
        self._program.freeze()
        if self.point.when is Moment.REPLIED:
            session.deliver()
            await session.flushed()
        self.reached.set()
        try:
            async with asyncio.timeout(self.point.hold_s):
                peers, keep = await self._hit
        except TimeoutError:
            self._finish(HoldState.EXPIRED)
            return
        hit = [one for one in self._program.sessions if peers is None or one.peer in peers]
        if keep:
            self.state = HoldState.HIT
            self._program.thaw(but=hit)
            try:
                async with asyncio.timeout(self.point.hold_s):
                    await self._released.wait()
            except TimeoutError:
                self._finish(HoldState.EXPIRED)
                return
        else:
            for one in hit:
                one.drop()
        self._finish(HoldState.OVER)

    def _stop_approaches(self) -> None:
        """Let connections that are on their way to the point have their answers."""
        approaches, self._approaches = self._approaches, {}
        for session, approach in approaches.items():
            approach.cancel()
            session.deliver()

    def _finish(self, state: HoldState) -> None:
        if self.is_over:
            return
        self.state = state
        self.reached.set()
        for session in self._program.sessions:
            session.deliver()
        self._program.ended(self)


def shortened(command: bytes) -> str:
    """``command``, which is in wire form, as a line whose words are cut short."""
    return shown_words(*wire.beginning(command, SHOWN_WORDS))


def shown_words(words: list[bytes], count: int) -> str:
    """Return a command of ``count`` words, of which ``words`` are the first, as ``shortened`` does."""
    line = " ".join([_cut(word) for word in words[:SHOWN_WORDS]])
    if not line.isprintable():
        line = _UNUSUAL.sub(_printable, line)
    return f"{line} … ({count} words)" if count > SHOWN_WORDS else line


def _cut(word: bytes) -> str:
    if len(word) <= _SHOWN_LENGTH:
        return word.decode("utf-8", "replace")
    return word[: _SHOWN_LENGTH + 1].decode("utf-8", "replace")[:_SHOWN_LENGTH] + "…"


def _printable(character: re.Match[str]) -> str:
    return character[0] if character[0].isprintable() else "\N{REPLACEMENT CHARACTER}"
