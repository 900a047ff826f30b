"""Clients that send one command at a time, and the short way that such a command takes."""

from abc import abstractmethod

from cluster.resp.client import PortHost
from cluster.resp.commands.command_table import Kind
from cluster.resp.ending import EndingClient
from cluster.resp.reply_slots import ReplySlot
from cluster.resp.single_commands import SINGLE_BYTES_MAX
from cluster.votes.pipeline import Outcome

LARGE_BYTES = 16 * 1024

NO, QUIET, ARRIVED, ASKED = range(4)
"""Such a client has nothing under way, or a command that has arrived in this turn of the loop, or one to be answered.

It is one no more as soon as anything else happens, until it has once more had a single command answered.
"""


class OneAtATime(EndingClient):
    """A client as long as it sends its next command when it has the answer to the last one."""

    __slots__ = ("_in_flight", "_single", "_single_slot")

    def __init__(self, host: PortHost) -> None:
        super().__init__(host)
        self._in_flight = 0
        self._single = NO
        self._single_slot: ReplySlot | None = None
        """The place of the one command, as good as new when that has gone the short way."""

    def data_received(self, data: bytes) -> None:
        if self._single == QUIET and len(data) <= SINGLE_BYTES_MAX:
            self._single = ARRIVED
            self.host.singles.add(self, data)
            return
        if self._single == ARRIVED:
            self.host.singles.take()
        self.received(data)

    def forward(self, kind: Kind, raw: bytes) -> None:
        """Hand over one command, while nothing else is under way."""
        host = self.host
        level = self.level_for(kind)
        self._single = ASKED
        self.commands += 1
        self._in_flight = 1
        slot = self._single_slot
        if slot is None:
            slot = self._single_slot = ReplySlot(self, 1)
        self._slots.append(slot)
        host.until_sample -= 1
        done = self._single_done if host.until_sample else host.sampler(level, kind.reads, self._single_done)
        host.turn.gather_single(kind, level, self.protocol, raw, done)

    def _single_done(self, outcome: Outcome) -> None:
        """``outcome`` is that of the oldest command; if nothing came after it, there is no more to do than to write."""
        alone = self._single == ASKED and not self._write_paused
        if alone and type(outcome) is list and len(outcome[0]) <= LARGE_BYTES:  # type: ignore[arg-type]
            self._slots.clear()
            self._in_flight = 0
            self._single = QUIET
            if not (self.closing or self.lost):
                self._transport.write(outcome[0])  # type: ignore[arg-type, union-attr]
        elif self._slots:
            self._single_slot = None
            self._slots[0](outcome)

    @abstractmethod
    def answered(self, slot: ReplySlot) -> None:
        """``slot`` has its reply."""

    @abstractmethod
    def answered_first(self, slot: ReplySlot, count: int, reply: bytes) -> None:
        """The first ``count`` commands of ``slot`` have their reply."""

    @abstractmethod
    def arrived(self, expected: int) -> None:
        """Replies for which so much memory was kept are there."""
