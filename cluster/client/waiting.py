"""Waits of blocking commands, which Dynomite refuses: the client's side waits, and the zones see ordinary commands.

A blocking command on a shared connection would stop every other client, and on a connection of its own to one zone it
would take the element out of that zone only. So the own zone is looked at, at intervals that grow to ``POLL_MAX_NS``,
and when there is something the command's form that does not wait goes to all zones, at the client's level. While the
own zone shows nothing the level is looked at, too: a zone that missed writes would else hide what the others have. That
costs all zones something, so it is done rarely, once for all that wait on a key (``level_looks``).

Another client may have been faster; then it goes on waiting. Clients that wait are served in no particular order, where
a single server serves the one that waits longest. The more clients wait, the longer are the intervals of each, so that
all of them together cost no more than ``LOOKS_PER_S``; and so are those of a long command.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from zonelab.cluster.commands.level_looks import Ask, LevelLooks
from zonelab.cluster.commands.waiting_forms import Attempt
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Promise, Runtime
from zonelab.engine.units import NS_PER_S

POLL_MIN_NS = 2_000_000
POLL_MAX_NS = 50_000_000
LOOKS_PER_S = 5_000
"""Looks of all clients of a zone together, besides the first one of each: about a tenth of a core."""
LOOK_BYTES = 1024
"""Bytes of a command that count as another look, as does each further key: a look sends them to the server again."""
TOGETHER_NS = 10_000_000
"""Many clients look at the same moments, so far apart, and their looks are one batch."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
LevelKey = tuple[Level, bytes]


class Looker(Protocol[R_co]):
    """Way of one client to look and to take; ``R`` is the type of its replies."""

    async def look(self, keys: tuple[bytes, ...]) -> R_co | bool:
        """Return whether one of ``keys`` exists in the own zone, or the error in place of an answer."""

    async def take(self, attempt: Attempt) -> R_co | None:
        """Carry out ``attempt`` at the level. Returns what the client is answered, None if there was nothing."""


class Changes(Protocol):
    """Knows when keys change, so that a wait need not look at those that have not."""

    def listen(self, keys: Sequence[bytes], changed: Callable[[], None], *, everywhere: bool) -> Callable[[], None]:
        """Call ``changed`` whenever a look at ``keys`` may find another answer; the result ends that.

        Looks are at the own zone, or ``everywhere``.
        """


class WaitingRoom(Generic[R]):
    """Waits of all clients of one zone. ``ask_level``: see ``LevelLooks``.

    ``changes``, where an arm has them, spare the looks at keys that have not changed: a wait goes on at the instant at
    which its next look would have been.
    """

    def __init__(self, runtime: Runtime, ask_level: Ask[LevelKey], *, changes: Changes | None = None) -> None:
        self.waiting = 0
        """Clients that wait."""
        self._ask_level = ask_level
        self.level_looks: LevelLooks[LevelKey] = LevelLooks(runtime, self._ask)
        self._runtime = runtime
        self._changes = changes
        self._alarms: dict[_Alarm, Sequence[LevelKey]] = {}

    async def first_of(self, looker: Looker[R], attempts: Sequence[Attempt], *, level: Level) -> R | None:
        """Try each of ``attempts`` whose keys exist in the own zone or, by its last look, at ``level``."""
        seen = self.level_looks.seen
        for attempt in attempts:
            found = await looker.look(attempt.keys)
            if found is not True and found is not False:
                return found
            elsewhere = [(level, key) for key in attempt.keys if seen((level, key))]
            if not found and not elsewhere:
                continue
            reply = await looker.take(attempt)
            if reply is not None:
                return reply
            for key in elsewhere:
                self.level_looks.taken(key)
        return None

    async def wait(
        self,
        attempt: Callable[[], Awaitable[R | None]],
        timeout_s: float,
        *,
        looks: int,
        keys: Sequence[bytes],
        level: Level | None = None,
    ) -> R | None:
        """Try until there is something, which is returned; None after ``timeout_s``, which never ends if it is 0.

        ``looks``: as how many an attempt counts. ``keys``: what it looks at in the own zone, and at ``level`` if given.
        """
        now_ns, sleep = self._runtime.now_ns, self._runtime.sleep
        deadline_ns = now_ns() + round(timeout_s * NS_PER_S) if timeout_s else None
        beyond = [] if level is None or level.rule.is_local else [(level, key) for key in keys]
        pause_ns, looked_at = POLL_MIN_NS, False
        alarm = None if self._changes is None else _Alarm(self._runtime, partial(self._pause_ns, looks))
        self.waiting += 1
        try:
            if alarm is not None and self._changes is not None:
                self._alarms[alarm] = beyond
                alarm.stop = self._changes.listen(keys, alarm.ring, everywhere=level is None)
            ended_ns = now_ns()
            while (reply := await attempt()) is None:
                looked_at = looked_at or self.level_looks.wait(beyond)
                begun_ns, ended_ns = ended_ns, now_ns()
                if deadline_ns is not None and deadline_ns <= ended_ns:
                    return None
                if alarm is not None:
                    look_ns = ended_ns - begun_ns
                    pause_ns = await alarm.sleep(pause_ns, look_ns=look_ns, deadline_ns=deadline_ns)
                    ended_ns = now_ns()
                else:
                    pause_ns = self._pause_ns(looks, ended_ns, pause_ns)
                    await sleep(pause_ns if deadline_ns is None else min(pause_ns, deadline_ns - ended_ns))
                pause_ns = min(POLL_MAX_NS, 2 * pause_ns)
            return reply
        finally:
            self.waiting -= 1
            if alarm is not None:
                alarm.stop()
                del self._alarms[alarm]
            if looked_at:
                self.level_looks.leave(beyond)

    def _pause_ns(self, looks: int, now_ns: int, pause_ns: int) -> int:
        """Return the pause of one of so many clients, which is ``pause_ns`` if they are few."""
        if (least_ns := looks * self.waiting * NS_PER_S // LOOKS_PER_S) > TOGETHER_NS:
            return max(pause_ns, least_ns) + -now_ns % TOGETHER_NS
        return pause_ns

    def _ask(self, key: LevelKey, answered: Callable[[bool], None]) -> None:
        def heard(found: bool) -> None:  # noqa: FBT001 (an answer)
            answered(found)
            if found:
                for alarm in [alarm for alarm, keys in self._alarms.items() if key in keys]:
                    alarm.ring()

        self._ask_level(key, heard)


class _Alarm:
    """Ends the pause of one wait at the instant of its next look after a change."""

    def __init__(self, runtime: Runtime, pause_ns: Callable[[int, int], int]) -> None:
        self._runtime = runtime
        self._pause_ns = pause_ns
        self._rung = False
        self._woken: Promise[None] | None = None
        self._next_ns = 0
        self._pause = 0
        self._look_ns = 0
        self.stop: Callable[[], None] = lambda: None

    def ring(self) -> None:
        """Something has changed."""
        if self._rung:
            return
        self._rung = True
        if self._woken is not None:
            self._wake_at_next()

    async def sleep(self, pause_ns: int, *, look_ns: int, deadline_ns: int | None) -> int:
        """Pause until the instant of the next look that may find another answer; returns the pause before that."""
        runtime = self._runtime
        woken = self._woken = runtime.promise()
        self._look_ns, now_ns = look_ns, runtime.now_ns()
        self._pause = self._pause_ns(now_ns, pause_ns)
        self._next_ns = now_ns + self._pause
        timer = None if deadline_ns is None else runtime.call_later(deadline_ns - now_ns, self._wake)
        if self._rung:
            self._wake_at_next()
        await woken
        self._woken, self._rung = None, False
        if timer is not None:
            timer.cancel()
        return self._pause

    def _wake_at_next(self) -> None:
        now_ns = self._runtime.now_ns()
        while self._next_ns < now_ns:  # looks that would have found nothing
            self._next_ns += self._look_ns
            self._pause = self._pause_ns(self._next_ns, min(POLL_MAX_NS, 2 * self._pause))
            self._next_ns += self._pause
        self._runtime.call_later(self._next_ns - now_ns, self._wake)

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)
