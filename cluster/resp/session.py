"""One client's connection: takes its commands, hands them on in runs, and answers in order."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.resp.client import PortClient, PortHost
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription, CommandKind, Treatment
from zonelab.cluster.resp.protocol.scanner import ProtocolError
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.reply_slots import InfoSlot, ReplySlot, SetSlot
from zonelab.cluster.resp.single_commands import LARGE_BYTES, NO, QUIET
from zonelab.cluster.resp.turn_shares import BYTES_PER_FORWARDED, EMPTY_BYTES_PER_FORWARDED, FORWARDED_PER_OTHER
from zonelab.cluster.resp.window import WindowedClient
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Done, Outcome

Dispatch = Callable[[PortClient, CommandDescription | None, bytes], None]
"""Carries out one command, given in wire form; there is no specification of an unknown one."""

GUEST_BYTES_MAX = 64 * 1024
"""Bytes that a client may send before it has logged in; a password, and its description of itself, are shorter."""

_HELD_BYTES_MAX = 64 * 1024
_WRITE_HIGH_BYTES = 64 * 1024
_QUEUED_BYTES = 128
"""Bytes that a command in a queue of MULTI takes besides its own."""


class ConnectionSession(WindowedClient):
    """State of one connection. ``dispatch`` decides about everything that is not simply handed to the coordinator."""

    __slots__ = (
        "_dispatch", "_guest_bytes", "_noted", "_one", "_pumping", "_reading", "_ready_bytes", "_turn_asked",
        "_waiting_bytes",
    )  # fmt: skip

    def __init__(self, host: PortHost, dispatch: Dispatch) -> None:
        super().__init__(host)
        self._dispatch = dispatch
        self._pumping = False
        self._turn_asked = False
        self._guest_bytes = 0  # received before it has logged in
        self._reading = True
        self._ready_bytes = 0  # replies that wait for earlier ones
        self._noted = 0  # bytes held when that was last said
        self._waiting_bytes = 0  # of the last command, for which later ones may have to wait
        self._one = False  # what was taken last was one command by itself
        self.single = NO

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH_BYTES)
        self.send = self._transport.write
        if not self.host.admit(self):
            self.closing = True
            self._transport.write(wire.error("ERR max number of clients reached"))
            self._transport.close()

    def _leave(self) -> None:
        self.closing = True
        self.single = NO
        self.slots.clear()
        for held in (self._scanner.clear(), self.queued):
            if held:
                self.host.freeing.add(held)
        self.queued = None
        self._known()
        if self._task is not None:
            self._task.cancel()
        self.unsubscribe()
        self.forget_watch()
        self.host.memory.forget(self)
        self.host.dismiss(self)

    def pause_writing(self) -> None:
        self.write_paused = True
        self.single = NO
        self._account()
        if self.subscription is not None:
            self.subscription.pause()

    def resume_writing(self) -> None:
        self.write_paused = False
        self._account()
        if self.subscription is not None:
            self.subscription.resume()
        self._pump()

    def received(self, data: bytes) -> None:
        if self.closing or self._deaf:
            return
        if self.host.polling is not None:
            self.host.polling.touch()
        self._turn_left -= len(data) // BYTES_PER_FORWARDED
        self._scanner.feed(data)
        self._pump()
        if not self.authenticated and not self._deaf:
            self._guest_bytes += len(data)
            if self._guest_bytes > GUEST_BYTES_MAX:
                self._misspoke(f"more than {GUEST_BYTES_MAX} bytes before AUTH")

    def _misspoke(self, wrong: str) -> None:
        self.host.statistics.protocol_errors += 1
        self.reply(wire.error(f"ERR Protocol error: {wrong}"))
        self.hang_up()

    def admit(self) -> None:
        self.authenticated = True
        self._scanner.admit()
        self.settle()

    def reply(self, data: bytes) -> None:
        if self.slots:
            slot = ReplySlot(self, 0)
            slot.reply = data
            self.slots.append(slot)
        else:
            self.write(data)

    def submit(self, kind: CommandKind, raws: list[bytes]) -> None:
        self._submit_packed(kind, raws[0] if len(raws) == 1 else b"".join(raws), len(raws))

    def submit_set(self, raw: bytes) -> None:
        made = SetSlot if self.protocol == 3 else ReplySlot
        self._submit_packed(KINDS[CommandRoute.READ], raw, 1, made=made)

    def submit_info(self, raw: bytes) -> None:
        self._submit_packed(KINDS[CommandRoute.LOCAL_READ], raw, 1, made=InfoSlot)

    def _submit_packed(
        self, kind: CommandKind, packed: bytes, count: int, *, made: type[ReplySlot] = ReplySlot
    ) -> None:
        level = self.level_for(kind)
        self._turn_left -= count
        ordered = self.in_flight > 0
        done = self._slot(count, len(packed), level, kind, made=made)
        if len(packed) > LARGE_BYTES:
            self.host.turn.submit(self.coordinator, level, kind.run(count, self.protocol), packed, done)
        else:
            self.host.turn.gather(kind, level, self.protocol, packed, count, done, ordered=ordered)

    def submit_as(self, kind: CommandKind, commands: WireCommands, packed: bytes) -> None:
        level = self.level_for(kind)
        done = self._slot(len(commands), len(packed), level, kind)
        self.host.turn.submit(self.coordinator, level, commands, packed, done)

    def _slot(
        self, count: int, sent_bytes: int, level: Level, kind: CommandKind, *, made: type[ReplySlot] = ReplySlot
    ) -> Done:
        """A place in the order of answers for ``count`` commands, and the callback for their outcome."""
        slot = made(self, count)
        slot.sent_bytes = sent_bytes
        slot.expected = self._under_way(count, sent_bytes)
        self.slots.append(slot)
        host = self.host
        host.until_sample -= 1
        return slot if host.until_sample else host.sampler(level, kind.reads, slot)

    def call(
        self, kind: CommandKind, raw: bytes, *, through: Coordinator | None = None, **marks: Any
    ) -> Awaitable[Outcome]:
        answered: asyncio.Future[Outcome] = self.loop.create_future()

        expected = len(raw) if len(raw) > LARGE_BYTES else 0
        self.host.memory.expect(expected)

        def done(outcome: Outcome) -> None:
            self.arrived(expected)
            if not answered.done():
                answered.set_result(outcome)

        marks.setdefault("protocol", self.protocol)
        level = self.level_for(kind)
        if through is None and len(marks) == 1:
            self.host.turn.gather(kind, level, marks["protocol"], raw, 1, done, ordered=True)
        else:
            commands = WireCommands([kind.example], **marks)
            self.host.turn.submit(through or self.coordinator, level, commands, raw, done)
        return answered

    def answered(self, slot: ReplySlot) -> None:
        slots = self.slots
        if not slots or slots[0] is not slot:
            if slots and slot.reply:
                self._ready_bytes += len(slot.reply)
                if self._ready_bytes > _HELD_BYTES_MAX:
                    self._account()
            return
        if self._strange:
            self._known()
        while slots and (reply := slots[0].reply) is not None:
            first = slots.popleft()
            count = first.count
            self.in_flight -= count
            self._sent_bytes -= first.sent_bytes
            if first is not slot:
                self._ready_bytes -= len(reply)
            if len(reply) > LARGE_BYTES or self._window < self._window_max or self._expected:
                self._adapt(len(reply) // (count or 1))
            if reply:
                self.write(reply)
        if self.write_paused or first is not slot:
            self._account()
        if self._busy:
            if not slots and self._drained is not None and not self._drained.done():
                self._drained.set_result(None)
        elif self._ending or not self._reading or self._scanner.ready:
            self._pump()
        elif self._one and not (slots or self.write_paused or self._expected) and self._scanner.idle:
            self.single = QUIET

    def answered_first(self, slot: ReplySlot, count: int, reply: bytes) -> None:
        if not self.slots:
            return  # the client has left
        first = ReplySlot(self, count)
        first.reply = reply
        slot.count -= count
        self.slots.insert(self.slots.index(slot), first)
        self.answered(first)

    def measured(self) -> int:
        """Bytes held for this client."""
        held = self._scanner.held + self._ready_bytes + self._waiting_bytes * self._busy
        if self.subscription is not None:
            held += self.subscription.held_bytes
        if self.queued is not None:
            held += self.queued_bytes + _QUEUED_BYTES * len(self.queued)
        return held + self._expected + self.transport.get_write_buffer_size() if self.write_paused else held

    def drop(self) -> None:
        if self.lost:
            self._leave()
        else:
            self.closing = True
            self.single = NO
            self.transport.abort()

    @property
    def _more(self) -> bool:
        return self._scanner.ready

    def _account(self) -> None:
        if not self.closing:
            self._noted = self.measured()
            self.host.memory.note(self, self._noted)

    def _pump(self) -> None:
        """Take commands as long as there are some and nothing is in the way."""
        self.single = NO
        if self._pumping:
            return
        self._pumping = True
        try:
            with self.host.writes:
                while self._turn_left > 0 and self._take():
                    pass
        except ProtocolError as wrong:
            self._misspoke(str(wrong))
        finally:
            self._pumping = False
        if self._turn_left <= 0 and not self._turn_asked:
            self._turn_asked = True
            self.host.turns.ask(self._go_on)
        self._regulate()
        if self._ending:
            self.end_if_done()

    def _go_on(self, share: int) -> None:
        """Take further commands in a new turn of the loop, after the other clients had theirs."""
        self._turn_asked, self._turn_left = False, share
        if not self.closing:
            self._pump()

    def _take(self) -> bool:
        """Take commands until something is in the way. True if there may be more that can be taken."""
        if self._busy or self._deaf or self.closing or self.write_paused or (room := self._room()) <= 0:
            return False
        room -= self._take_whole(room)
        scanner = self._scanner
        if scanner.idle:
            return False
        by_name = self.host.table.by_name
        following = scanner.next
        run: list[bytes] = []
        run_kind: CommandKind | None = None
        try:
            while room > 0 and self._turn_left > 0 and not (self._busy or self._deaf or self.closing):
                found = following()
                if scanner.passed_over:
                    self._turn_left -= scanner.passed_over // EMPTY_BYTES_PER_FORWARDED
                    scanner.passed_over = 0
                if found is None:
                    return scanner.ready
                name, raw = found
                self.commands += 1
                room -= 1
                spec = by_name.get(name)
                if spec is not None and self.plain and spec.treatment is Treatment.FORWARD:
                    self.last_command = spec
                    kind = spec.kind
                    if kind is run_kind:
                        run.append(raw)
                        continue
                    if run_kind is not None:
                        self.submit(run_kind, run)
                    run_kind, run = kind, [raw]
                    continue
                if run_kind is not None:
                    self.submit(run_kind, run)
                    run_kind = None
                self._handle(spec, name, raw)
        finally:
            if run_kind is not None:
                self.submit(run_kind, run)
        return self._scanner.ready and self.in_flight < self._limit

    def _take_whole(self, room: int) -> int:
        """Take what has arrived as one run, if it is one; returns how many commands it was."""
        self._one = False
        scanner = self._scanner
        whole = scanner.whole
        if whole is None or not self.plain:
            return 0
        name, packed, count = whole
        spec = self.host.table.by_name.get(name)
        if spec is None or spec.treatment is not Treatment.FORWARD or count > room:
            return 0
        scanner.take_whole()
        self.commands += count
        self.last_command = spec
        self._one = count == 1
        self._submit_packed(spec.kind, packed, count)
        return count

    def _handle(self, spec: CommandDescription | None, name: bytes, raw: bytes) -> None:
        self.last_s = time.monotonic()
        self._turn_left -= FORWARDED_PER_OTHER
        self._waiting_bytes = len(raw)
        self._dispatch(self, spec or self.host.table.find(name), raw)

    def _regulate(self) -> None:
        """Stop reading while there is more than can be taken; account for what is held."""
        idle = self._scanner.idle
        held = self._busy or self._noted or self._ready_bytes or self.write_paused or self.subscription is not None
        if held or not (idle and self.plain):
            self._account()
        if self._ending or self.closing:
            return
        reading = not self.write_paused and self._turn_left > 0 and (idle or self._may_read_on())
        if reading is not self._reading:
            self._reading = reading
            if reading:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def _may_read_on(self) -> bool:
        """Return what has arrived can be taken now, or is not much."""
        scanner = self._scanner
        full = self._busy or self._waits or self.in_flight >= self._limit
        return not full or not (scanner.ready or scanner.held > _HELD_BYTES_MAX)
