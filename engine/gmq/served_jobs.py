"""Carries out what clients ask of a gmq process: each call handles single jobs, of topics that it names.

Source: https://github.com/wuzhc/gmq at v1.0. ``GmqQueue`` is for programs that know their topics.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto

from zonelab.engine.gmq.channel import GoChannel
from zonelab.engine.gmq.dispatcher import DispatchedCard
from zonelab.engine.gmq.handover import Handover
from zonelab.engine.gmq.jobs import BrokenJob, Job, JobStatus
from zonelab.engine.gmq.settings import GmqSettings
from zonelab.engine.gmq.store import GmqStore
from zonelab.engine.ports import Clock, Connection


class AckOutcome(Enum):
    """``DONE``: deleted now. ``GONE``: deleted before. ``READY_AGAIN``: its lease is over. Others: not in flight."""

    DONE = auto()
    GONE = auto()
    READY_AGAIN = auto()
    NOT_RESERVED = auto()
    NOT_READY = auto()
    MISSING = auto()


class ServedJobs:
    """``cards`` leads to the dispatcher. Raises what ``GmqStore`` raises, and ``BrokenJob``.

    A job whose ``pop`` fails after the first command is **lost**, as in the original.
    """

    def __init__(
        self, *, clock: Clock, quorum: Connection, cards: GoChannel[DispatchedCard], settings: GmqSettings
    ) -> None:
        self._compat = settings.compat
        self.store = GmqStore(quorum, settings=settings)
        self._handover = Handover(cards, store=self.store, clock=clock, compat=settings.compat)

    async def push(self, job: Job) -> bool:
        """False if there is a job of this id."""
        self._handover.ask_for_dispatcher()
        if not await self.store.put(job):
            return False
        await self._handover.schedule(job)
        return True

    async def replace(self, job: Job) -> None:
        """``push``, where a job of this id makes way first."""
        self._handover.ask_for_dispatcher()
        while not await self.store.put(job):
            await self.remove(job.id)
        await self._handover.schedule(job)

    async def take(self, topics: Sequence[str]) -> str | None:
        """The id that has been ready longest in the first of ``topics`` that has any: the caller's to reserve."""
        self._handover.ask_for_dispatcher()
        for topic in topics:
            job_id = await self.store.take_ready(topic)
            if job_id is not None:
                return job_id
        return None

    async def reserve(self, job_id: str, wanted: Callable[[], bool]) -> Job | None:
        """The job, delivered. None if it is gone, or given back since it was not ``wanted`` any more.

        With ``compat`` it is delivered to nobody then.
        """
        job = await self.store.reserve(job_id)
        if job is None:
            return None
        if not self._compat and not wanted():
            await self.store.give_back(job)
            return None
        if job.ttr_s <= 0:
            await self.store.finish(job.id)
            return job
        await self._handover.lease(job)
        if self._compat:
            await self.store.count_delivery(job.id)
        return job

    async def ack(self, job_id: str) -> AckOutcome:
        """Delete a job that is in flight, whoever has it."""
        if not self._compat and await self.store.finish(job_id):
            return AckOutcome.DONE
        try:
            job = await self.store.get(job_id)
        except BrokenJob:
            return AckOutcome.MISSING
        if job is None:
            return AckOutcome.MISSING
        if job.leased:
            return AckOutcome.DONE if await self.store.delete(job_id) else AckOutcome.GONE
        if job.status is JobStatus.READY:
            return AckOutcome.READY_AGAIN if job.consumed > 0 else AckOutcome.NOT_RESERVED
        return AckOutcome.NOT_READY

    async def remove(self, job_id: str) -> bool:
        """Delete a job in whatever state. False if there is none."""
        try:
            job = await self.store.get(job_id)
        except BrokenJob:
            return await self.store.delete(job_id)
        return job is not None and await self.store.remove(job_id, job.topic)
