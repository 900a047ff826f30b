"""The service's jobs in modes default and original: one gmq instance and its dispatcher in this process, as in v1.0."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from zonelab.app.gmq_service.backend.jobs import Refused
from zonelab.engine.common.pipelines import read
from zonelab.engine.gmq.channel import GoChannel
from zonelab.engine.gmq.dispatcher import DispatchedCard, GmqDispatcher
from zonelab.engine.gmq.jobs import Job
from zonelab.engine.gmq.served_jobs import AckOutcome, ServedJobs
from zonelab.engine.gmq.settings import SECONDS_MAX, GmqSettings
from zonelab.engine.ports import Clock, Command, Connection, Runtime


class ListedJobs:
    """``on_ready`` is called with the topic of each job that has become ready here."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        clock: Clock,
        connection: Connection,
        settings: GmqSettings,
        on_ready: Callable[[str], None],
    ) -> None:
        cards: GoChannel[DispatchedCard] = GoChannel(runtime)
        self._compat = settings.compat
        self._connection = connection
        self._on_ready = on_ready
        self._served = ServedJobs(clock=clock, quorum=connection, cards=cards, settings=settings)
        self.dispatcher = GmqDispatcher(
            "gmq", runtime=runtime, clock=clock, quorum=connection, cards=cards, settings=settings, on_ready=on_ready
        )

    async def start(self) -> None:
        await self.dispatcher.start()

    async def stop(self) -> None:
        await self.dispatcher.close()

    async def push(self, job: Job) -> bool:
        self._check(job)
        return await self._served.push(job)

    async def replace(self, job: Job) -> None:
        self._check(job)
        await self._served.replace(job)

    async def pop(self, topics: Sequence[str], wanted: Callable[[], bool]) -> Job | None:
        while (job_id := await self._served.take(topics)) is not None:
            job = await self._served.reserve(job_id, wanted)
            if job is not None:
                return job
            if not wanted():
                for topic in topics:
                    self._on_ready(topic)
                return None
        return None

    async def ack(self, job_id: str) -> AckOutcome:
        return await self._served.ack(job_id)

    async def remove(self, job_id: str) -> bool:
        return await self._served.remove(job_id)

    async def get(self, job_id: str) -> Job | None:
        job = await self._served.store.get(job_id)
        if job is None:
            return None
        commands: list[Command] = [("ZSCORE", bucket, job_id) for bucket in self._served.store.delay_buckets]
        scores = [score for score in await read(self._connection, commands) if score is not None]
        return replace(job, delay_s=int(float(scores[0])) if scores else 0)

    def _check(self, job: Job) -> None:
        """The original takes any."""
        if not self._compat:
            for name, seconds in (("delay", job.delay_s), ("TTR", job.ttr_s)):
                if seconds > SECONDS_MAX:
                    raise Refused(f"job.{name} must be at most {SECONDS_MAX}, got {seconds}")
