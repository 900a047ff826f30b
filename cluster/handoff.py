"""Hinted handoff, an option of ours: what a zone missed while it could not be reached is kept and sent to it later.

Dynomite keeps nothing (issues 190 and 552); the idea is Dynamo's (DeCandia et al., SOSP 2007, section 4.6). Only
batches that certainly never reached the server are kept, so nothing is applied twice by this; what was under way when
a connection broke may be missing all the same. Hints go out before anything newer from this coordinator, so its own
order of writes holds. They do not know what other coordinators have written since, and may overwrite it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cluster.batch import Answer, Batch, Channel
from cluster.commands import is_write
from cluster.levels import ZoneFailure
from engine.ports import Command, Runtime


@dataclass(frozen=True, kw_only=True)
class HandoffSettings:
    """``queue``: so many writes are kept for each zone; those beyond are dropped. Looks every ``look_ns`` for a way."""

    queue: int = 100_000
    look_ns: int = 50_000_000

    def __post_init__(self) -> None:
        if self.queue < 1 or self.look_ns < 1:
            raise ValueError(f"queue and look_ns must be at least 1, got {self.queue} and {self.look_ns}")


class HintedChannel:
    """``channel``, with a queue for what it refuses. ``count`` is told how many were stored, replayed and dropped."""

    def __init__(
        self, channel: Channel, *, runtime: Runtime, settings: HandoffSettings, count: Callable[[str, int], None]
    ) -> None:
        self._channel = channel
        self._runtime = runtime
        self._settings = settings
        self._count = count
        self._hints: deque[tuple[Command, ...]] = deque()
        self._commands = 0
        self._looking = False

    @property
    def connected(self) -> bool:
        return self._channel.connected

    @property
    def hints(self) -> int:
        """Writes that wait."""
        return self._commands

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        if self._hints and self._channel.connected:
            self._replay()

        def answered(answer: Answer) -> None:
            if isinstance(answer, ZoneFailure) and not answer.maybe_applied:
                self._keep(tuple(filter(is_write, batch.commands)))
            done(answer)

        self._channel.submit(batch, answered if batch.writes else done)

    def reset(self) -> None:
        """The process that kept the hints may be gone; they were in its memory."""
        self._count("hints dropped", self._commands)
        self._hints.clear()
        self._commands = 0
        self._channel.reset()

    def _keep(self, commands: tuple[Command, ...]) -> None:
        if not commands:
            return
        if self._commands + len(commands) > self._settings.queue:
            self._count("hints dropped", len(commands))
            return
        self._count("hints stored", len(commands))
        self._hints.append(commands)
        self._commands += len(commands)
        if not self._looking:
            self._looking = True
            self._runtime.call_later(self._settings.look_ns, self._look)

    def _look(self) -> None:
        self._looking = False
        if self._hints and self._channel.connected:
            self._replay()
        if self._hints and not self._looking:
            self._looking = True
            self._runtime.call_later(self._settings.look_ns, self._look)

    def _replay(self) -> None:
        """All at once, in order. One that is refused again goes back to the end, behind those refused before it."""
        hints, self._hints = self._hints, deque()
        self._commands = 0
        for commands in hints:
            self._channel.submit(Batch(commands, writes=True), _Replayed(self, commands))

    def replayed(self, commands: tuple[Command, ...], answer: Answer) -> None:
        if not isinstance(answer, ZoneFailure):
            self._count("hints replayed", len(commands))
        elif answer.maybe_applied:
            self._count("hints in doubt", len(commands))
        else:
            self._keep(commands)


class _Replayed:
    """Told of the answer to one hint."""

    __slots__ = ("_channel", "_commands")

    def __init__(self, channel: HintedChannel, commands: tuple[Command, ...]) -> None:
        self._channel = channel
        self._commands = commands

    def __call__(self, answer: Answer) -> None:
        self._channel.replayed(self._commands, answer)
