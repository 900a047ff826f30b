"""Keys by the time at which they, or a field of theirs, end: what a server's own cycle looks at."""

from heapq import heappop, heappush


class ExpiryQueue:
    """Times in ms and their keys. A time that was taken back stays until it is over."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, when_ms: int, key: bytes) -> None:
        heappush(self._heap, (when_ms, key))

    def take_before(self, now_ms: int) -> list[bytes]:
        """Remove and return the keys whose times are over, each once, the earliest first."""
        over: dict[bytes, None] = {}
        while self._heap and self._heap[0][0] < now_ms:
            over[heappop(self._heap)[1]] = None
        return list(over)
