"""What a member caches of one partition, from the pull to the commit. Pure state: it asks nobody."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from engine.fifo.log.record import Entry
from engine.fifo.partition import Partition


@dataclass(slots=True)
class Cached:
    """``failed``: how often it failed here. RocketMQ, too, keeps it nowhere else: another member begins at 0."""

    entry: Entry
    failed: int = 0

    @property
    def size(self) -> int:
        return len(self.entry.record.body.encode())


class ProcessQueue:
    """RocketMQ's, of one assignment of ``partition`` to this member.

    ``dropped``: it is no longer ours, and whoever works on it ends when he looks. ``locked``: the zones gave us the
    lock, at the last time we heard. ``locked_ms``: when that was, on the member's clock. ``consuming``: a request for
    it is under way, so none is begun.
    """

    def __init__(self, partition: Partition, *, next_offset: int, locked: bool, now_ms: int) -> None:
        self.partition = partition
        self.locked, self.locked_ms = locked, now_ms
        self.dropped = False
        self.next_offset, self.pulled_ms = next_offset, now_ms
        self.was_locked = False
        """A pull has found it locked, and has read the cursor then."""
        self.requested = False
        self.refused_releases = 0
        self.cached_bytes = 0
        self._waiting: dict[int, Cached] = {}
        self._order: list[int] = []
        """A heap of the offsets that wait."""
        self._taken: dict[int, Cached] = {}

    @property
    def cached(self) -> int:
        """Messages, those included that were handed out and are not committed."""
        return len(self._waiting) + len(self._taken)

    def expired(self, *, now_ms: int, lease_ms: int) -> bool:
        """The member itself no longer believes in its lock."""
        return now_ms - self.locked_ms > lease_ms

    def put(self, entries: Iterable[Entry]) -> bool:
        """Cache ``entries``. True if a request has to be begun."""
        for entry in entries:
            cached = Cached(entry)
            self.cached_bytes += cached.size
            self._wait(cached)
        if not self._waiting or self.requested:
            return False
        self.requested = True
        return True

    def take(self, count: int) -> list[Cached]:
        """The first messages that wait, which are then consumed. The request ends if there are none."""
        offsets = [heappop(self._order) for _ in range(min(count, len(self._order)))]
        taken = [self._waiting.pop(offset) for offset in offsets]
        self._taken.update((each.entry.offset, each) for each in taken)
        if not taken:
            self.requested = False
        return taken

    def commit(self) -> int | None:
        """What was taken is done; the offset that follows it. None if nothing was."""
        if not self._taken:
            return None
        last = max(self._taken)
        self.cached_bytes -= sum(each.size for each in self._taken.values())
        self._taken.clear()
        return last + 1

    def roll_back(self) -> None:
        """All that was taken waits again."""
        self.put_back(list(self._taken.values()))

    def put_back(self, batch: Iterable[Cached]) -> None:
        """``batch`` waits again; what was taken before it does not."""
        for each in batch:
            self._taken.pop(each.entry.offset, None)
            self._wait(each)

    def _wait(self, cached: Cached) -> None:
        heappush(self._order, cached.entry.offset)
        self._waiting[cached.entry.offset] = cached
