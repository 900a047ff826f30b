"""Hinted handoff, an option of ours: what a zone missed while it could not be reached is kept and sent to it later.

Dynomite keeps nothing (issues 190 and 552); the idea is Dynamo's (DeCandia et al., SOSP 2007, section 4.6). A
hint is such a write.

- Only a batch that certainly never reached the server becomes a hint, so hints apply nothing twice. What was under way
  when a connection broke may still be missing.
- Only writes with keys become hints: a PUBLISH or a FLUSHALL that comes late would do something else than was meant.
- Hints are sent before anything newer from this coordinator, which keeps its own order of writes. Writes that other
  coordinators have sent since are not known here, and a hint may overwrite them.
- The client whose write became a hint gets "may have been applied", because it will be.

Hints are sent a window at a time: a connection on which too much waits breaks, and loses all that is under way. What
clients send meanwhile waits behind the hints.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Annotated

from pydantic import Field

from zonelab.cluster.commands.keys import key_bytes, keys_of
from zonelab.cluster.commands.routes import CommandRoute, route
from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.fields import Count, Millis, Section
from zonelab.cluster.options.codec import CommandCodec, PlainCodec
from zonelab.engine.ports import Command, Runtime
from zonelab.engine.units import NS_PER_MS

WINDOW = 256
"""Commands out of the queue that are under way at a time, or one batch if that has more."""

WINDOW_BYTES = 1024 * 1024


class HandoffSettings(Section):
    """Bounds of the writes that are kept for each zone, and of the wait behind them."""

    queue: Count = 100_000
    """Hints that each coordinator keeps for each zone; those beyond are dropped."""
    queue_bytes: Annotated[int, Field(strict=True, ge=1)] = 256 * 1024 * 1024
    """Their size in wire form; those beyond are dropped."""
    look_ms: Millis = 50
    """It looks so often whether the server is reached again."""
    wait_ms: Millis = 5_000
    """Longest wait of clients' commands behind the hints; then they fail, and writes become hints."""

    @property
    def window_bytes(self) -> int:
        return min(WINDOW_BYTES, max(1, self.queue_bytes // 2))


class _Hint:
    """A batch in the queue, or under way out of it: a hint, or, with ``done``, a client's batch behind the hints.

    ``done`` is called with the answer; the client waits until ``deadline_ns``. With ``way`` the batch is sent on that
    channel, once all that was sent before it has been answered, and never becomes a hint.
    """

    __slots__ = ("batch", "bytes", "deadline_ns", "done", "way")

    def __init__(
        self,
        batch: Batch,
        done: Callable[[Answer], None] | None = None,
        *,
        deadline_ns: int = 0,
        way: Channel | None = None,
    ) -> None:
        self.batch = batch
        self.bytes = _wire_bytes(batch)
        self.done = done
        self.deadline_ns = deadline_ns
        self.way = way


class HintedChannel:
    """``channel``, with a queue of the writes that it refused.

    ``count`` is called with how many commands were stored, replayed and dropped; ``codec`` reads the commands.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        runtime: Runtime,
        settings: HandoffSettings,
        count: Callable[[str, int], None],
        codec: CommandCodec | None = None,
    ) -> None:
        self._channel = channel
        self._runtime = runtime
        self._settings = settings
        self._count = count
        self._codec = codec or PlainCodec()
        self._hints: deque[_Hint] = deque()
        self._behind: deque[_Hint] = deque()  # newer than every hint
        self._sent = self._sent_commands = self._sent_bytes = 0
        self._refused: list[_Hint] = []  # of those sent; they go back to the front once all have answers
        self._commands = 0
        self._bytes = 0
        self._pumping = self._looking = self._ending = False

    @property
    def connected(self) -> bool:
        return self._channel.connected

    @property
    def hints(self) -> int:
        """Commands that wait or are under way out of the queue: hints, and what clients sent after them."""
        return self._commands

    @property
    def at_rest(self) -> bool:
        """The queue is empty and nothing out of it is under way."""
        return not self._waits and not self._sent

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        if not self._channel.connected:
            self._fall_back()
        elif self._waits:
            self._pump()
            if self._waits and self._queue(batch, done):
                return
        self._channel.submit(batch, partial(self._answered, batch, done) if batch.writes else done)

    def submit_after(self, way: Channel, batch: Batch, done: Callable[[Answer], None]) -> None:
        """Send ``batch`` on ``way``, another channel to the same server, once no hint waits or is under way."""
        if self._channel.connected:
            self._pump()
        if self.at_rest:
            way.submit(batch, done)
        elif not self._channel.connected or not self._queue(batch, done, way=way):
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=False))

    def reset(self) -> None:
        """Drop every hint: the coordinator process, in whose memory they were, may be gone."""
        self._ending = True
        try:
            self._channel.reset()
            self._hints.extend(self._refused)
            self._refused.clear()
            while self._hints:
                self._drop(self._hints.popleft())
            while self._behind:
                kept = self._behind.popleft()
                self._forget(kept)
                _tell(kept, ZoneFailure(STORAGE_REFUSED, maybe_applied=False))
        finally:
            self._ending = False

    @property
    def _waits(self) -> bool:
        return bool(self._hints or self._behind or self._refused)

    def _answered(self, batch: Batch, done: Callable[[Answer], None], answer: Answer) -> None:
        """A batch that was sent at once, since the queue was empty, has this answer."""
        if isinstance(answer, ZoneFailure) and not answer.maybe_applied:
            hint = self._hint(batch)
            if hint is not None:
                self._hints.append(hint)
                answer = ZoneFailure(str(answer), maybe_applied=True)
        done(answer)

    def _hint(self, batch: Batch) -> _Hint | None:
        """A hint of what ``batch`` writes; None if it writes nothing that can be one, or there is no room."""
        made = _writes_of(batch, self._codec)
        if made is None or self._ending:
            return None
        hint = _Hint(made)
        if not self._has_room_for(hint):
            self._count("hints dropped", len(made.commands))
            return None
        self._count("hints stored", len(made.commands))
        self._remember(hint)
        return hint

    def _queue(self, batch: Batch, done: Callable[[Answer], None], *, way: Channel | None = None) -> bool:
        """Put ``batch`` behind the hints; False if there is no room. A write without room is refused here and now."""
        deadline_ns = self._runtime.now_ns() + self._settings.wait_ms * NS_PER_MS
        waiting = _Hint(batch, done, deadline_ns=deadline_ns, way=way)
        if self._has_room_for(waiting):
            self._remember(waiting)
            self._behind.append(waiting)
        elif batch.writes and way is None:
            self._count("hints dropped", len(batch.commands))
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=False))
        else:
            return False
        return True

    def _has_room_for(self, kept: _Hint) -> bool:
        return (
            self._commands + len(kept.batch.commands) <= self._settings.queue
            and self._bytes + kept.bytes <= self._settings.queue_bytes
        )

    def _remember(self, kept: _Hint) -> None:
        self._commands += len(kept.batch.commands)
        self._bytes += kept.bytes
        self._look_later()

    def _forget(self, kept: _Hint) -> None:
        self._commands -= len(kept.batch.commands)
        self._bytes -= kept.bytes

    def _drop(self, hint: _Hint) -> None:
        self._forget(hint)
        self._count("hints dropped", len(hint.batch.commands))

    def _look_later(self) -> None:
        if not self._looking:
            self._looking = True
            self._runtime.call_later(self._settings.look_ms * NS_PER_MS, self._look)

    def _look(self) -> None:
        self._looking = False
        now_ns = self._runtime.now_ns()
        while self._behind and self._behind[0].deadline_ns <= now_ns:
            self._give_up_waiting()
        if not self._channel.connected:
            self._fall_back()
        self._pump()
        if self._waits:
            self._look_later()

    def _fall_back(self) -> None:
        """The connection is gone: answer every client that waits for it."""
        while self._behind:
            self._give_up_waiting()

    def _give_up_waiting(self) -> None:
        kept = self._behind.popleft()
        hint, failure = self._failed(kept, ZoneFailure(STORAGE_REFUSED, maybe_applied=False))
        if hint is not None:
            self._hints.append(hint)
        _tell(kept, failure)

    def _failed(self, kept: _Hint, failure: ZoneFailure) -> tuple[_Hint | None, ZoneFailure]:
        """Return what is kept of a write that was certainly not applied, and the failure that its client gets."""
        if kept.done is None and not self._ending:
            return kept, failure
        if kept.done is None:
            self._drop(kept)
            return None, failure
        self._forget(kept)
        hint = self._hint(kept.batch) if kept.way is None else None
        return hint, failure if hint is None else ZoneFailure(str(failure), maybe_applied=True)

    def _pump(self) -> None:
        """Send as much of the queue as may be under way."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while (kept := self._next()) is not None:
                self._send(kept)
        finally:
            self._pumping = False

    def _send(self, kept: _Hint) -> None:
        if kept.way is None:
            self._count_sent(kept, 1)
            self._channel.submit(kept.batch, partial(self._replayed, kept))
        else:
            assert kept.done is not None
            self._forget(kept)
            kept.way.submit(kept.batch, kept.done)

    def _next(self) -> _Hint | None:
        queue = self._hints or self._behind
        if not queue or self._refused or self._ending or not self._channel.connected:
            return None
        commands = self._sent_commands + len(queue[0].batch.commands)
        size = self._sent_bytes + queue[0].bytes
        full = commands > WINDOW or size > self._settings.window_bytes
        if self._sent and (full or queue[0].way is not None):
            return None
        return queue.popleft()

    def _count_sent(self, kept: _Hint, number: int) -> None:
        self._sent += number
        self._sent_commands += number * len(kept.batch.commands)
        self._sent_bytes += number * kept.bytes

    def _replayed(self, kept: _Hint, answer: Answer) -> None:
        """A batch out of the queue has this answer. What is refused again keeps its order until the next look."""
        self._count_sent(kept, -1)
        if isinstance(answer, ZoneFailure) and not answer.maybe_applied:
            hint, answer = self._failed(kept, answer)
            if hint is not None:
                self._refused.append(hint)
        else:
            self._forget(kept)
            if kept.done is None:
                what = "hints in doubt" if isinstance(answer, ZoneFailure) else "hints replayed"
                self._count(what, len(kept.batch.commands))
        if not self._sent and self._refused:
            self._hints.extendleft(reversed(self._refused))
            self._refused.clear()
            self._look_later()
            _tell(kept, answer)
            return
        _tell(kept, answer)
        self._pump()


def _tell(kept: _Hint, answer: Answer) -> None:
    if kept.done is not None:
        kept.done(answer)


def _writes_of(batch: Batch, codec: CommandCodec) -> Batch | None:
    """A batch of the writes with keys in ``batch``, None without any; a transaction counts as a whole."""
    inside = codec.inside(batch.commands, batch.packed)
    if inside is not None:
        whole = all(map(keys_of, inside)) and all(route(command) is CommandRoute.WRITE for command in batch.commands)
        return Batch(batch.commands, writes=True, packed=batch.packed) if whole else None
    read = codec.commands(batch.commands, batch.packed)
    given = batch.commands if read is None else read
    kept = [
        command
        for command, routed in zip(given, batch.commands, strict=True)
        if route(routed) is CommandRoute.WRITE and keys_of(command)
    ]
    if len(kept) == len(given):
        return Batch(batch.commands, writes=True, packed=batch.packed)
    return Batch(codec.like(kept, batch.commands), writes=True) if kept else None


def _wire_bytes(batch: Batch) -> int:
    return sum(map(_command_bytes, batch.commands)) if batch.packed is None else len(batch.packed)


def _command_bytes(command: Command) -> int:
    """Return the length of ``command`` as a RESP array of bulk strings."""
    lengths = [len(key_bytes(argument)) for argument in command]
    return len(f"*{len(lengths)}\r\n") + sum(len(f"${length}\r\n") + length + 2 for length in lengths)
