"""An instance of the Youzan queue: what one program that pushes, pops and finishes jobs holds.

Source: https://tech.youzan.com/queuing_delay/ and https://github.com/ouqiang/delay-queue at v0.4: the same steps in the
same order. Both wait in BLPOP; here a waiting pop asks again and again, so that it blocks no connection.
"""

from zonelab.engine.common.failures import operation
from zonelab.engine.common.job_queue import JobQueue
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Clock, Connection, Runtime
from zonelab.engine.youzan.jobs import YouzanJob, delay_s, ttr_s
from zonelab.engine.youzan.settings import YouzanSettings
from zonelab.engine.youzan.store import YouzanStore


class YouzanQueue(JobQueue):
    """``quorum`` carries the commands; ``YouzanTimers`` must run beside it.

    Times count in whole seconds, so a message may come up to a second early. Raises: every operation may raise
    ``Unavailable`` (certainly without effect), ``Indeterminate`` (nobody knows, or partly done) or ``ServerError``. A
    job that a failed ``pop`` took from its list and did not schedule again is **lost**, as in both originals. A job of
    an id that is there is overwritten by a push; its entry in a bucket stays.
    """

    def __init__(self, *, runtime: Runtime, clock: Clock, quorum: Connection, settings: YouzanSettings) -> None:
        super().__init__(runtime=runtime, settings=settings)
        self._clock = clock
        self._settings = settings
        self._store = YouzanStore(quorum=quorum, local=quorum, settings=settings)

    async def ack(self, delivery: Delivery) -> bool:
        """``finish`` the job that was delivered."""
        return await self.finish(delivery.message.id)

    async def finish(self, job_id: str) -> bool:
        """Delete the job, whoever has it and whether its lease is over or not. False if there was none.

        With ``compat`` always True.
        """
        return await self._store.delete(job_id) or self._settings.compat

    async def remove(self, job_id: str) -> bool:
        """``finish`` under another name, as in both originals."""
        return await self.finish(job_id)

    async def get(self, job_id: str) -> Message | None:
        """The job as the pool has it; its delay is what is left of it."""
        job = await self._store.get(job_id)
        return None if job is None else job.message(now_s=self._clock.now_ms() // 1_000)

    async def _add(self, message: Message) -> Receipt:
        now_ms = self._clock.now_ms()
        job = YouzanJob(
            id=message.id,
            topic=message.topic or self._settings.topics[0],
            due_s=now_ms // 1_000 + delay_s(message.timeout_ms),
            ttr_s=self._settings.ttr_s if message.lease_ms is None else ttr_s(message.lease_ms),
            body=message.payload,
        )
        with operation(f"push of {job.id!r}") as effects:
            await self._store.put(job)
            effects.count += 1
            await self._store.schedule(job.id, job.due_s)
        return Receipt(id=job.id, shard=job.topic, due_ms=now_ms + message.timeout_ms)

    def _check(self, message: Message) -> None:
        delay_s(message.timeout_ms)
        if message.lease_ms is not None:
            ttr_s(message.lease_ms)

    def _goes_on(self) -> bool:
        return not self._settings.compat

    async def _take_ready(self, topic: str) -> str | None:
        return await self._store.take_ready(topic)

    async def _lease(self, job_id: str) -> Delivery | None:
        """None if the job was deleted. ``job_id`` is in no list and no bucket until it is scheduled here."""
        with operation(f"pop of {job_id!r}") as effects:
            effects.count += 1
            job = await self._store.get(job_id)
            if job is None:
                return None
            start_ms = self._clock.now_ms()
            end_s = start_ms // 1_000 + job.ttr_s
            await self._store.schedule(job_id, end_s)
        return Delivery(
            message=Message(id=job_id, payload=job.body),
            shard=job.topic,
            lease_start_ms=start_ms,
            leased_ms=self._clock.now_ms(),
            lease_end_ms=end_s * 1_000,
        )
