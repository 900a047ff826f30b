"""One bucket: a loop that writes what it is handed, and a timer that sleeps until the next job is due.

Source: https://github.com/wuzhc/gmq at v1.0, as measured on the program itself (docs/gmq.md).
"""

from collections.abc import Awaitable, Callable
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.gmq.channel import GoChannel
from zonelab.engine.gmq.jobs import BrokenJob, Card
from zonelab.engine.gmq.store import Due, GmqStore, PendingReady
from zonelab.engine.ports import Clock, Promise, Runtime
from zonelab.engine.units import NS_PER_MS, NS_PER_S

LOOK_NS = NS_PER_S
"""First scan after a start, pause after a reset, and after a failed scan; by default also the longest sleep."""
IDLE_NS = 24 * 3_600 * NS_PER_S
"""With ``compat``: the sleep of a timer whose bucket is empty."""
NEAR_NS = 5 * NS_PER_S
"""With ``compat``: a scan that is nearer than this is not moved for an earlier job."""


class Bucket:
    """``inbox`` takes cards, to be put into the bucket, and ids, to be made ready. ``jobs``: about how many it has."""

    def __init__(self, key: str, *, runtime: Runtime, clock: Clock, store: GmqStore, compat: bool) -> None:
        self.key = key
        self.inbox: GoChannel[Card | str] = GoChannel(runtime)
        self.jobs = 0
        self.dropped = 0
        self._runtime, self._clock, self._store, self._compat = runtime, clock, store, compat
        self._stopping = False
        self._alarm: Promise[None] | None = None
        self._sleep_ns = LOOK_NS
        self._next_ns = self._fire_ns = 0

    @property
    def next_ns(self) -> int:
        """Run time of the next scan."""
        return self._fire_ns

    def open(self) -> None:
        """Before ``write`` and ``scan_when_due`` are run."""
        self._stopping = False
        self._sleep_ns = LOOK_NS
        self._next_ns = self._fire_ns = self._runtime.now_ns() + LOOK_NS
        self.inbox.open()

    def stop(self) -> None:
        """Let the timer end after the scan that it is at, if any."""
        self._stopping = True
        self._wake()

    async def write(self) -> None:
        """Carry out what comes in, one by one, until the inbox is closed.

        With ``compat`` it never ends if the bucket is stopped while it writes a card for which its timer has to wake.
        """
        await self._count()
        while True:
            item = await self.inbox.receive()
            if isinstance(item, Card):
                await self._add(item)
            elif await self.make_ready(item):
                self.jobs -= 1

    async def scan_when_due(self) -> None:
        """The timer, until ``stop``."""
        while await self._due_or_stopped():
            now_s = self._now_s()
            try:
                due = await self._store.take_due(self.key, now_s=now_s)
            except (*COMMAND_FAILURES, ValueError):
                self._fire_ns = self._runtime.now_ns() + (self._sleep_ns if self._compat else LOOK_NS)
                continue
            if not self._compat:
                self._plan(due, now_s)
            for job_id in due.ids:
                await self.inbox.send(job_id)
            if self._compat:
                self._plan_as_original(due)

    async def make_ready(self, job_id: str, topic: str | None = None) -> bool:
        """False if it failed for good. ``topic``: of a job that was just pushed."""
        if self._compat:
            return await self._try_to(partial(self._store.make_ready, job_id, topic))
        return await self._try_to(PendingReady(self._store, job_id, topic))

    async def _try_to(self, act: Callable[[], Awaitable[object]]) -> bool:
        """False if it failed for good: at once with ``compat``; by default only what can never be done is given up."""
        while True:
            try:
                await act()
                return True
            except BrokenJob:
                break
            except COMMAND_FAILURES:
                if self._compat:
                    break
                await self._runtime.sleep(LOOK_NS)
        self.dropped += 1
        return False

    async def _add(self, card: Card) -> None:
        due_s = self._now_s() + card.delay_s
        if not await self._try_to(lambda: self._store.add_to_bucket(self.key, card.id, due_s=due_s)):
            return
        self.jobs += 1
        rest_ns = self._next_ns - self._runtime.now_ns()
        if not self._compat:
            self._reset(min(rest_ns, self._until_ns(due_s)))
        elif rest_ns - card.delay_s > NEAR_NS:  # the original takes the seconds of the delay for nanoseconds
            if self._stopping:
                await self._runtime.promise()  # the timer has ended, and waits for this loop: neither ever goes on (N2)
            self._reset(LOOK_NS)

    async def _count(self) -> None:
        try:
            self.jobs = await self._store.size(self.key)
        except COMMAND_FAILURES:
            self.jobs = 0

    def _plan(self, due: Due, now_s: int) -> None:
        """Before the ids are handed on: a job that is added meanwhile may move the next scan."""
        self.jobs = len(due.ids) + (due.left or 0)
        rest_ns = LOOK_NS if due.next_s == -1 else min(LOOK_NS, self._until_ns(now_s + due.next_s))
        self._next_ns = self._fire_ns = self._runtime.now_ns() + rest_ns

    def _plan_as_original(self, due: Due) -> None:
        self._sleep_ns = IDLE_NS if due.next_s == -1 else due.next_s * NS_PER_S
        self._next_ns = self._fire_ns = self._runtime.now_ns() + self._sleep_ns

    def _now_s(self) -> int:
        return self._clock.now_ms() // 1_000

    def _until_ns(self, second: int) -> int:
        return max(0, second * 1_000 - self._clock.now_ms()) * NS_PER_MS

    def _reset(self, rest_ns: int) -> None:
        self._next_ns = self._fire_ns = self._runtime.now_ns() + rest_ns
        self._wake()

    async def _due_or_stopped(self) -> bool:
        """True when it is time for a scan; False if the bucket is to stop."""
        while not self._stopping and (rest_ns := self._fire_ns - self._runtime.now_ns()) > 0:
            self._alarm = self._runtime.promise()
            timer = self._runtime.call_later(rest_ns, self._wake)
            await self._alarm
            timer.cancel()
        return not self._stopping

    def _wake(self) -> None:
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.set_result(None)
