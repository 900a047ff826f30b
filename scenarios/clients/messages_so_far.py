"""Messages so far, while a run goes on: deliveries after the first, and overdue messages.

What is lost cannot: a message that nobody has got may still come.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from zonelab.analysis.runs.history import MessageColumns

OVERDUE_MS = 1_000
"""A confirmed message that nobody has got so long after it was due is overdue."""


class MessagesSoFar:
    """Running counts over messages, updated as each operation ends, at a cost that does not grow with the run."""

    def __init__(self) -> None:
        self.confirmed = 0
        self.duplicates = 0
        """Deliveries of messages that had been delivered before, those after a lease's end included."""
        self._delivered: set[str] = set()
        self._waiting: list[tuple[float, str]] = []
        self._overdue: dict[str, float] = {}

    @property
    def delivered(self) -> int:
        """Messages, however often each was delivered."""
        return len(self._delivered)

    def heard(self, f: str, outcome: str, messages: Sequence[MessageColumns]) -> None:
        """Take in the end of an operation: what is confirmed, delivered, overdue and delivered twice."""
        if outcome != "ok":
            return
        if f == "push":
            for message in messages:
                self.confirmed += 1
                if message.message_id not in self._delivered and message.due_ms is not None:
                    heappush(self._waiting, (message.due_ms, message.message_id))
        elif f == "pop":
            for message in messages:
                self.duplicates += message.message_id in self._delivered
                self._delivered.add(message.message_id)
                self._overdue.pop(message.message_id, None)

    def overdue(self, now_ms: float) -> tuple[int, float | None]:
        """Return how many messages are, and for how many ms the one that was due first has been."""
        while self._waiting and self._waiting[0][0] + OVERDUE_MS < now_ms:
            due_ms, message_id = heappop(self._waiting)
            if message_id not in self._delivered:
                self._overdue[message_id] = due_ms
        oldest_ms = next(iter(self._overdue.values()), None)
        return len(self._overdue), None if oldest_ms is None else now_ms - oldest_ms
