"""Window of a client: how much of what it asks for may be under way at a time."""

from abc import abstractmethod

from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.one_at_a_time import OneAtATime
from zonelab.cluster.resp.protocol.scanner import CommandScanner
from zonelab.cluster.resp.single_commands import LARGE_BYTES
from zonelab.cluster.resp.turn_shares import TURN


class WindowedClient(OneAtATime):
    """A client whose commands wait while too many are under way, or too many bytes.

    What is large, commands and replies, has a bound for all clients together: ``zonelab.cluster.resp.held_bytes``.
    """

    __slots__ = (
        "_expected", "_scanner", "_sent_bytes", "_strange", "_turn_left", "_waits", "_window", "_window_max",
    )  # fmt: skip

    def __init__(self, host: PortHost) -> None:
        super().__init__(host)
        self._scanner = CommandScanner(host.settings.commands, guest=not self.authenticated, unpacker=host.unpacker)
        self._window_max = host.settings.in_flight_max
        self._window = min(host.settings.in_flight_begin, self._window_max)
        self._turn_left = TURN
        self._expected = 0  # size of a reply, if the last ones were large
        self._sent_bytes = 0  # of commands under way
        self._waits = False  # for memory for what is large
        self._strange = True  # no reply so far

    def arrived(self, expected: int) -> None:
        self.host.memory.arrived(expected)

    def take_turn(self) -> None:
        self._waits = False
        if not self.closing:
            self._pump()

    def _adapt(self, reply_bytes: int) -> None:
        """Bound the commands under way by the memory for their replies, assuming that those to come are as large."""
        fit = self.host.settings.reply_bytes // (reply_bytes + 1)
        self._window = max(1, min(self._window_max, fit, 2 * self._window))
        zones = 1 if self.read_level.rule.is_local else len(self.coordinator.zones)
        expected = max(reply_bytes * zones, self._expected // 2)
        self._expected = expected if expected > LARGE_BYTES else 0

    def _known(self) -> None:
        """Something is known about this client's replies, or there will be none."""
        if self._strange and self.in_flight:
            self.host.memory.strangers -= 1
        self._strange = False

    def _under_way(self, count: int, sent_bytes: int) -> int:
        """Note ``count`` commands of ``sent_bytes`` bytes under way; return the memory that is kept for the
        large ones.
        """
        memory = self.host.memory
        if self._strange and not self.in_flight:
            memory.strangers += 1
        self.in_flight += count
        self._sent_bytes += sent_bytes
        expected = count * self._expected
        if self._sent_bytes > LARGE_BYTES:
            expected += sent_bytes
        if expected:
            memory.expect(expected)
        return expected

    @property
    def _limit(self) -> int:
        """Return how many commands may be under way now."""
        if self._strange:
            begin = self.host.settings.in_flight_begin // max(1, self.host.memory.strangers)
            return min(self._window, max(1, begin))
        return self._window

    @property
    def _large(self) -> bool:
        """Return what is taken next may be large, or much with what is under way."""
        queued_bytes = 0 if self.queued is None else self.queued_bytes
        return self._sent_bytes + self._scanner.held + queued_bytes > LARGE_BYTES

    def _room(self) -> int:
        """Return how many commands may be taken now."""
        large = self._large
        if not (self._strange or self._expected or large):
            return min(self._window - self.in_flight, self._turn_left)
        room = min(self._limit - self.in_flight, self._turn_left)
        if (self._expected or large) and room > 0 and self._scanner.ready:
            fitting = self.host.memory.fitting(self._expected or 1)
            room = min(1 if self._expected else room, fitting)  # each reply is freed as it is sent
            self._waits = room == 0
            if self._waits:
                self.host.memory.wait(self, self._expected or 1)
        return room

    @abstractmethod
    def measured(self) -> int:
        """Bytes held for this client."""

    @abstractmethod
    def drop(self) -> None:
        """Close its connection without another byte."""
