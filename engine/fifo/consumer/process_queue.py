"""Messages of one partition that a member caches, from the pull to the commit. Pure state: it sends no commands."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import LogEntry
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import Order

NONE_FAILED: Mapping[int, int] = {}

WHOLE = ""
"""The only lane of a partition whose messages are all in one order."""

_LANES: dict[Order, Callable[[LogEntry], str]] = {
    Order.GLOBAL: lambda _: WHOLE,
    Order.PARTITION: lambda _: WHOLE,
    Order.KEY: lambda entry: entry.record.key,
    Order.NONE: lambda entry: str(entry.offset),
}


@dataclass(slots=True)
class CachedMessage:
    """``failed``: how often it failed here; unless partitions are fenced another member begins at 0, as in RocketMQ."""

    entry: LogEntry
    failed: int = 0

    @property
    def size(self) -> int:
        return len(self.entry.record.body.encode())


@dataclass(slots=True)
class _Lane:
    """Messages in one order: those that wait, with a heap of their offsets, and those that were taken."""

    requested: bool = False
    waiting: dict[int, CachedMessage] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    taken: dict[int, CachedMessage] = field(default_factory=dict)

    def wait(self, cached: CachedMessage) -> None:
        heappush(self.order, cached.entry.offset)
        self.waiting[cached.entry.offset] = cached


class ProcessQueue:
    """RocketMQ's, of one assignment of ``partition`` to this member, which holds one lane for each thing in order.

    ``dropped``: it is no longer ours, and whoever works on it ends when he looks. ``locked``: the zones gave us the
    lock, at the last time we heard. ``locked_ms``: when that was, on the member's clock. A lane that was *requested*
    has a request under way, so none is begun for it. ``parked``: keys whose messages go aside.
    """

    def __init__(
        self, partition: Partition, *, next_offset: int, locked: bool, now_ms: int, order: Order = Order.PARTITION
    ) -> None:
        self.partition = partition
        self.locked, self.locked_ms = locked, now_ms
        self.dropped = False
        self.next_offset, self.pulled_ms = next_offset, now_ms
        self.was_locked = False
        """A pull has found it locked, and has read the cursor then."""
        self.token = 0
        """Token of the grant, if grants have tokens."""
        self.cached = 0
        """Messages, those included that were handed out and are not committed."""
        self.cached_bytes = 0
        self.parked: set[str] = set()
        self.relocking: list[str] = []
        """Lanes that wait until the lock was asked for again."""
        self._lane_of = _LANES[order]
        self._lanes: dict[str, _Lane] = {}
        self._unfinished: list[int] = []
        """A heap of all offsets that are cached; those of ``_finished`` in it count for nothing."""
        self._finished: set[int] = set()

    def expired(self, *, now_ms: int, lease_ms: int) -> bool:
        """The member itself no longer believes in its lease."""
        return now_ms - self.locked_ms > lease_ms

    @property
    def progress(self) -> Progress:
        while self._unfinished and self._unfinished[0] in self._finished:
            self._finished.discard(heappop(self._unfinished))
        cursor = self._unfinished[0] if self._unfinished else self.next_offset
        return Progress(cursor, tuple(sorted(self._finished)))

    @property
    def span(self) -> int:
        """From the lowest offset that is not finished to the last one that was read."""
        return self.next_offset - self.progress.cursor

    @property
    def at_rest(self) -> bool:
        """True if no message waits and none is worked on.

        Messages still in the cache were handed out, and only a commit of a later one can end them.
        """
        return not any(lane.requested or lane.waiting for lane in self._lanes.values())

    def begin_at(self, progress: Progress) -> None:
        """Read from the cursor of ``progress`` on, but not what is finished above it."""
        self.next_offset = progress.cursor
        self._finished.update(progress.above)

    def put(self, entries: Iterable[LogEntry], *, failed: Mapping[int, int] = NONE_FAILED) -> list[str]:
        """Cache ``entries``, which failed so often. The lanes for which a request has to be begun."""
        begun = []
        for entry in entries:
            self.next_offset = max(self.next_offset, entry.offset + 1)
            heappush(self._unfinished, entry.offset)
            if entry.offset in self._finished:
                continue
            cached = CachedMessage(entry, failed.get(entry.offset, 0))
            self.cached += 1
            self.cached_bytes += cached.size
            name = self._lane_of(entry)
            lane = self._lanes.setdefault(name, _Lane())
            lane.wait(cached)
            if not lane.requested:
                lane.requested = True
                begun.append(name)
        return begun

    def take(self, count: int, lane: str = WHOLE) -> list[CachedMessage]:
        """The first messages of ``lane`` that wait, which are then consumed. The request ends if there are none."""
        own = self._lanes[lane]
        offsets = [heappop(own.order) for _ in range(min(count, len(own.order)))]
        taken = [own.waiting.pop(offset) for offset in offsets]
        own.taken.update((each.entry.offset, each) for each in taken)
        if not taken:
            own.requested = False
            if not own.taken:
                del self._lanes[lane]
        return taken

    def commit(self, lane: str = WHOLE) -> Progress | None:
        """Mark as done what was taken of ``lane`` and return the new progress. None if nothing was taken."""
        taken = self._lanes[lane].taken
        return self.finish(list(taken.values()), lane) if taken else None

    def finish(self, batch: Iterable[CachedMessage], lane: str = WHOLE) -> Progress:
        """Those of what was taken are done, and no others; how far that is."""
        own = self._lanes[lane]
        for each in batch:
            del own.taken[each.entry.offset]
            self._finished.add(each.entry.offset)
            self.cached -= 1
            self.cached_bytes -= each.size
        return self.progress

    def roll_back(self, lane: str = WHOLE) -> None:
        """All that was taken of ``lane`` waits again."""
        self.put_back(list(self._lanes[lane].taken.values()), lane)

    def put_back(self, batch: Iterable[CachedMessage], lane: str = WHOLE) -> None:
        """``batch`` waits again; what was taken before it does not."""
        own = self._lanes[lane]
        for each in batch:
            own.taken.pop(each.entry.offset, None)
            own.wait(each)
