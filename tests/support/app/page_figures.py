"""Figures of queues as a live page shows them, and whether the servers had them at the time that the page says.

No verdict depends on how busy the machine is: figures are compared by the times at which they were read, by the clock
of the server, and readings of which the page says itself that they are old are waited out.
"""

import bisect
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from playwright.sync_api import Page

OLD_MS = 2_000
WITHIN_MS = 500
_SHOWN = """() => {
  document.dispatchEvent(new Event("visibilitychange"));  // a timer may be late
  const rows = [...document.querySelectorAll("#queues details tbody tr")].map((row) => ({
    key: row.children[0].textContent, server: row.children[3].textContent,
    entries: Number(row.children[4].textContent.replaceAll(",", "")), read_ms: Number(row.dataset.read),
    old: row.className.includes("old") || document.body.className.includes("stale") }));
  return { now_ms: Date.now(), rows };
}"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure on the page at ``now_ms``. ``old``: the page says itself that it is."""

    key: str
    server: str
    entries: int
    read_ms: int
    now_ms: int
    old: bool


def shown(page: Page) -> list[Shown]:
    """What the page shows of every key."""
    told = page.evaluate(_SHOWN)
    return [Shown(now_ms=told["now_ms"], **row) for row in told["rows"]]


def readings(page: Page, *, count: int, patience_s: float = 600) -> Iterator[list[Shown]]:
    """``count`` of them, each later than the one before, and none with a figure that the page says is old."""
    deadline_s, last_ms = time.monotonic() + patience_s, 0
    while count:
        assert time.monotonic() < deadline_s, f"the page showed nothing new for {patience_s:g} s, {count} to go"
        page.wait_for_timeout(100)
        found = shown(page)
        newest_ms = max((one.read_ms for one in found), default=0)
        if newest_ms > last_ms and not any(one.old for one in found):
            last_ms, count = newest_ms, count - 1
            yield found


class Reader:
    """Reads the number of entries of ``keys``, which only grow, on each server every 100 ms, with the server's time."""

    def __init__(self, servers: Mapping[str, redis.Redis], keys: Sequence[str]) -> None:
        self.samples: dict[tuple[str, str], list[tuple[int, int]]] = {
            (server, key): [] for server in servers for key in keys
        }
        self._servers = servers
        self._keys = keys
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on)

    def __enter__(self) -> "Reader":
        self._read()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._read()

    def _go_on(self) -> None:
        while not self._ended.wait(0.1):
            self._read()

    def _read(self) -> None:
        for name, server in self._servers.items():
            with server.pipeline(transaction=True) as asked:
                asked.time()
                for key in self._keys:
                    asked.hlen(key) if ".MESSAGE." in key else asked.zcard(key)
                (seconds, micros), *counts = asked.execute()
            for key, number in zip(self._keys, counts, strict=True):
                self.samples[name, key].append((seconds * 1_000 + micros // 1_000, number))


def wrong(figures: Sequence[Shown], samples: Mapping[Any, Sequence[tuple[int, int]]]) -> list[str]:
    """What is wrong with figures of keys that only grow: too old, or not what the server had within ``WITHIN_MS``."""
    found = []
    for one in figures:
        if one.now_ms - one.read_ms > OLD_MS and not one.old:
            found.append(f"{one} is old and does not say so")
        known = samples.get((one.server, one.key))
        if known is not None and not _had(known, one):
            found.append(f"{one} is none of what the server had at that time")
    return found


def _had(known: Sequence[tuple[int, int]], one: Shown) -> bool:
    times = [time_ms for time_ms, _ in known]
    before = bisect.bisect_right(times, one.read_ms - WITHIN_MS) - 1
    after = bisect.bisect_left(times, one.read_ms + WITHIN_MS)
    least = known[before][1] if before >= 0 else 0
    most = known[after][1] if after < len(known) else None
    return least <= one.entries and (most is None or one.entries <= most)
