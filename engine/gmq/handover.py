"""From whoever answers clients to the dispatcher: the cards, and what is done without a dispatcher."""

from zonelab.engine.common.job_queue import MS_PER_S
from zonelab.engine.gmq.channel import Closed, GoChannel
from zonelab.engine.gmq.dispatcher import DispatchedCard
from zonelab.engine.gmq.jobs import Card, Job
from zonelab.engine.gmq.store import GmqStore
from zonelab.engine.ports import Clock, Indeterminate, Unavailable

GRACE_S = 3
"""Seconds that a job is in flight beyond its TTR."""


class Handover:
    """Source: https://github.com/wuzhc/gmq at v1.0, where both are parts of one process."""

    def __init__(self, cards: GoChannel[DispatchedCard], *, store: GmqStore, clock: Clock, compat: bool) -> None:
        self._cards, self._store, self._clock, self._compat = cards, store, clock, compat

    def ask_for_dispatcher(self) -> None:
        """Raise ``Unavailable`` if no dispatcher runs."""
        if self._cards.closed:
            raise Unavailable("no dispatcher runs")

    async def schedule(self, job: Job) -> None:
        """``job`` was pushed: it is to be ready after its delay."""
        await self._hand_over(job, job.delay_s, leased=False)

    async def lease(self, job: Job) -> None:
        """``job`` was popped: it is to be ready again when its TTR is over."""
        await self._hand_over(job, job.ttr_s + GRACE_S, leased=True)

    async def _hand_over(self, job: Job, delay_s: int, *, leased: bool) -> None:
        """Write the job if the dispatcher is stopping and does not take it; the original does not."""
        try:
            await self._cards.send(DispatchedCard(Card(id=job.id, topic=job.topic, delay_s=delay_s), leased))
        except Closed as error:
            if self._compat or not error.orderly:
                raise Indeterminate(f"job {job.id!r} is in the pool only: {error}") from error
            await self._write(job.id, delay_s, leased=leased)

    async def _write(self, job_id: str, delay_s: int, *, leased: bool) -> None:
        if delay_s == 0:
            await self._store.make_ready(job_id)
        else:
            bucket = (self._store.ttr_buckets if leased else self._store.delay_buckets)[0]
            await self._store.add_to_bucket(bucket, job_id, due_s=self._clock.now_ms() // MS_PER_S + delay_s)
