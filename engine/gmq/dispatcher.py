"""The dispatcher: hands each card to the bucket that lists the fewest jobs, and runs the buckets' timers.

Source: https://github.com/wuzhc/gmq at v1.0.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.gmq.buckets import Bucket
from zonelab.engine.gmq.channel import Closed, GoChannel
from zonelab.engine.gmq.jobs import Card
from zonelab.engine.gmq.settings import GmqSettings
from zonelab.engine.gmq.store import GmqStore
from zonelab.engine.ports import Clock, Connection, Runtime, Task


@dataclass(frozen=True, slots=True)
class DispatchedCard:
    """``leased``: the job is in flight, so the card goes to a bucket of leases."""

    card: Card
    leased: bool


class GmqDispatcher(Startable):
    """Background work of a gmq process named ``name``; instances send it their cards over ``cards``.

    A card that was taken is in memory only, until a bucket has written it. If the program is killed before, it is lost.
    ``on_ready`` is called with the topic of each job that it has put into a list. ``delayed`` and ``leased`` are its
    buckets.
    """

    def __init__(
        self,
        name: str,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        cards: GoChannel[DispatchedCard],
        settings: GmqSettings,
        on_ready: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self._runtime, self._cards = runtime, cards
        self._store = GmqStore(quorum, settings=settings, on_ready=on_ready)
        self.delayed = self._buckets(self._store.delay_buckets, clock, compat=settings.compat)
        self.leased = self._buckets(self._store.ttr_buckets, clock, compat=settings.compat)
        self._takes_cards = False
        self._dispatching: Task[None] | None = None
        self._timers: list[Task[None]] = []
        self._writers: list[Task[None]] = []

    def _buckets(self, keys: Sequence[str], clock: Clock, *, compat: bool) -> list[Bucket]:
        return [Bucket(key, runtime=self._runtime, clock=clock, store=self._store, compat=compat) for key in keys]

    async def start(self) -> None:
        """From now on instances can push and pop."""
        for bucket in self._all:
            bucket.open()
            self._writers.append(self._spawn(bucket.write(), f"bucket {bucket.key}"))
            self._timers.append(self._spawn(bucket.scan_when_due(), f"timer of {bucket.key}"))
        self._cards.open()
        self._takes_cards = True
        self._dispatching = self._spawn(self._dispatch(), "dispatcher")

    async def close(self) -> None:
        """Stop: no card is taken any more; then the timers end after their scans, the buckets, and the dispatcher.

        With ``compat`` it may never end (N2), so callers bound it.
        """
        self._let_go(orderly=True)
        dispatching, self._dispatching = self._dispatching, None
        if dispatching is not None:
            await dispatching.join()
        for bucket in self._all:
            bucket.stop()
        timers, self._timers = self._timers, []
        for timer in timers:
            await timer.join()
        for bucket in self._all:
            bucket.inbox.close(orderly=True)
        writers, self._writers = self._writers, []
        for writer in writers:
            await writer.join()

    @property
    def _all(self) -> list[Bucket]:
        return [*self.delayed, *self.leased]

    def _spawn(self, work: Awaitable[None], what: str) -> Task[None]:
        return self._runtime.spawn(self._live(work), name=f"{self.name}: {what}")

    async def _live(self, work: Awaitable[None]) -> None:
        """A part that dies takes the whole program along."""
        try:
            await work
        except Closed:
            return
        except BaseException:
            self._die()
            raise

    def _let_go(self, *, orderly: bool) -> None:
        """Release ``cards``, once: tasks of a dead program may end after another program has taken its place."""
        if self._takes_cards:
            self._takes_cards = False
            self._cards.close(orderly=orderly)

    def _die(self) -> None:
        self._let_go(orderly=False)
        for bucket in self._all:
            bucket.stop()
            bucket.inbox.close(orderly=False)

    async def _dispatch(self) -> None:
        while True:
            handed = await self._cards.receive()
            if handed.leased:
                await self._least(self.leased).inbox.send(handed.card)
            elif handed.card.delay_s > 0:
                await self._least(self.delayed).inbox.send(handed.card)
            else:
                bucket = self._least(self.delayed)
                await bucket.make_ready(handed.card.id, handed.card.topic)

    @staticmethod
    def _least(buckets: Sequence[Bucket]) -> Bucket:
        return min(buckets, key=lambda bucket: bucket.jobs)
