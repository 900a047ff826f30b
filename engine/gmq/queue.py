"""The queue gmq for one program: carries out its pushes, pops and acks.

Source: https://github.com/wuzhc/gmq at v1.0. There one process carries them out for every client and runs the
dispatcher, too; here each program has an instance of its own, which hands its cards to a dispatcher.
"""

from zonelab.engine.common.failures import operation
from zonelab.engine.common.job_queue import MS_PER_S, JobQueue, checked_seconds, whole_seconds
from zonelab.engine.gmq.channel import GoChannel
from zonelab.engine.gmq.dispatcher import DispatchedCard
from zonelab.engine.gmq.handover import Handover
from zonelab.engine.gmq.jobs import BrokenJob, Job
from zonelab.engine.gmq.settings import SECONDS_MAX, GmqSettings
from zonelab.engine.gmq.store import GmqStore
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Clock, Connection, Runtime, ServerError


class GmqQueue(JobQueue):
    """``cards`` leads to the dispatcher, without which nothing is pushed or popped.

    Times count in whole seconds, so a message may come up to a second early. Raises: every operation may raise
    ``Unavailable`` (certainly without effect), ``Indeterminate`` (nobody knows, or partly done) or ``ServerError``, a
    push also for the id of a job that is still there. A job that a failed ``pop`` took from its list is **lost**, as in
    the original.
    """

    def __init__(
        self,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        cards: GoChannel[DispatchedCard],
        settings: GmqSettings,
    ) -> None:
        super().__init__(runtime=runtime, settings=settings)
        self._clock, self._settings = clock, settings
        self._store = GmqStore(quorum, settings=settings)
        self._handover = Handover(cards, store=self._store, clock=clock, compat=settings.compat)

    async def ack(self, delivery: Delivery) -> bool:
        """Delete the job, whoever has it. False if it is not in flight: its lease is over, or it is gone."""
        try:
            return await self._store.finish(delivery.message.id)
        except BrokenJob:
            return False

    async def get(self, job_id: str) -> Message | None:
        """The job as it was pushed; None if there is none, or only a stub."""
        try:
            job = await self._store.get(job_id)
        except BrokenJob:
            return None
        return None if job is None else job.message()

    async def _add(self, message: Message) -> Receipt:
        self._handover.ask_for_dispatcher()
        now_ms = self._clock.now_ms()
        job = Job(
            id=message.id,
            topic=message.topic or self._settings.topics[0],
            delay_s=whole_seconds(message.timeout_ms),
            ttr_s=self._settings.ttr_s if message.lease_ms is None else whole_seconds(message.lease_ms),
            body=message.payload,
        )
        with operation(f"push of {job.id!r}") as effects:
            if not await self._store.put(job):
                raise ServerError(f"jobKey:{self._store.keys.job(job.id)},error:has exist")
            effects.count += 1
            await self._handover.schedule(job)
        return Receipt(id=job.id, shard=job.topic, due_ms=now_ms + message.timeout_ms)

    def _check(self, message: Message) -> None:
        """The original takes any."""
        if not self._settings.compat:
            checked_seconds("timeout_ms", message.timeout_ms, most=SECONDS_MAX)
            checked_seconds("lease_ms", message.lease_ms or 0, most=SECONDS_MAX)

    async def _next_ready(self) -> str | None:
        self._handover.ask_for_dispatcher()
        return await super()._next_ready()

    async def _take_ready(self, topic: str) -> str | None:
        return await self._store.take_ready(topic)

    async def _lease(self, job_id: str) -> Delivery | None:
        """None if the job is gone. No list and no bucket has ``job_id`` until its card is written."""
        with operation(f"pop of {job_id!r}") as effects:
            effects.count += 1
            try:
                job = await self._store.reserve(job_id)
                return None if job is None else await self._delivered(job)
            except BrokenJob as error:
                raise ServerError(str(error)) from error

    async def _delivered(self, job: Job) -> Delivery:
        start_ms = self._clock.now_ms()
        if job.ttr_s > 0:
            await self._handover.lease(job)
            if self._settings.compat:
                await self._store.count_delivery(job.id)
        else:
            await self._store.finish(job.id)
        leased_ms = self._clock.now_ms()
        return Delivery(
            message=Message(id=job.id, payload=job.body),
            shard=job.topic,
            lease_start_ms=start_ms,
            leased_ms=leased_ms,
            lease_end_ms=start_ms + job.ttr_s * MS_PER_S if job.ttr_s > 0 else leased_ms,
        )
