"""Clients that send one command at a time, and the short way that such a command takes."""

from abc import abstractmethod
from collections.abc import Callable

from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.ending import EndingClient
from zonelab.cluster.resp.reply_slots import ReplySlot
from zonelab.cluster.resp.single_commands import ARRIVED, ASKED, LARGE_BYTES, NO, QUIET, SINGLE_BYTES_MAX
from zonelab.cluster.votes.pipeline import Outcome


class OneAtATime(EndingClient):
    """A client as long as it sends its next command when it has the answer to the last one."""

    __slots__ = ("in_flight", "send", "single", "single_slot")

    send: Callable[[bytes], None]

    def __init__(self, host: PortHost) -> None:
        super().__init__(host)
        self.in_flight = 0
        self.single = NO
        self.single_slot = ReplySlot(self, 1)
        """The place of the one command, as good as new when that has gone the short way."""

    def data_received(self, data: bytes) -> None:
        if self.single == QUIET and len(data) <= SINGLE_BYTES_MAX:
            self.single = ARRIVED
            self.host.singles.add(self, data)
            return
        if self.single == ARRIVED:
            self.host.singles.take()
        self.received(data)

    def answered_single(self, outcome: Outcome) -> None:
        """``outcome`` is that of the oldest command; if nothing came after it, there is no more to do than to write."""
        alone = self.single == ASKED and not self.write_paused
        if alone and type(outcome) is list and len(outcome[0]) <= LARGE_BYTES:  # type: ignore[arg-type]
            self.slots.clear()
            self.in_flight = 0
            self.single = QUIET
            self.send(outcome[0])  # type: ignore[arg-type]
        elif self.slots:
            self.single_slot = ReplySlot(self, 1)
            self.slots[0](outcome)

    def close(self) -> None:
        self.single = NO
        super().close()

    @abstractmethod
    def answered(self, slot: ReplySlot) -> None:
        """``slot`` has its reply."""

    @abstractmethod
    def answered_first(self, slot: ReplySlot, count: int, reply: bytes) -> None:
        """The first ``count`` commands of ``slot`` have their reply."""

    @abstractmethod
    def arrived(self, expected: int) -> None:
        """Replies for which so much memory was kept are there."""
