"""The timers: one a bucket, which makes ready what is due there.

Source: https://tech.youzan.com/queuing_delay/ and, with ``compat``, ``tickHandler`` of
https://github.com/ouqiang/delay-queue at v0.4.
"""

from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.lifecycle import Startable, close_all
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.ports import Clock, Connection, Runtime
from zonelab.engine.youzan.jobs import YouzanJob
from zonelab.engine.youzan.settings import YouzanSettings
from zonelab.engine.youzan.store import YouzanStore

RETRY_NS = 1_000_000
"""The original asks again without any pause."""


class YouzanTimers(Startable):
    """The timers of every bucket, as one program named ``name`` runs them; several may run at once.

    The program that has the lock of a bucket scans it. With ``compat`` there is no lock: two programs make the same job
    ready twice. ``local`` carries the reads of buckets.
    """

    def __init__(
        self,
        name: str,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        local: Connection,
        settings: YouzanSettings,
    ) -> None:
        self.name = name
        self._runtime = runtime
        self._clock = clock
        self._settings = settings
        self._store = YouzanStore(quorum=quorum, local=local, settings=settings)
        self._buckets = range(1, settings.buckets + 1)
        self._scanning = {bucket: Mutex(runtime) for bucket in self._buckets}
        self._closing = False
        self._timers = [
            Periodic(
                partial(self.scan, bucket),
                interval_ms=settings.scan_ms,
                runtime=runtime,
                name=f"{name}: timer of bucket {bucket}",
                spread=not settings.compat,
            )
            for bucket in self._buckets
        ]

    async def start(self) -> None:
        """Every timer scans for the first time within its interval; with ``compat`` after it."""
        self._closing = False
        for timer in self._timers:
            timer.start()

    async def close(self) -> None:
        """Let each scan end after the job it is at and give back its lock. With ``compat`` cut the scans short."""
        self._closing = True
        if not self._settings.compat:
            for scan in self._scanning.values():
                async with scan:
                    pass
        await close_all(self._timers)

    async def scan(self, bucket: int) -> None:
        """Make ready what is due in ``bucket`` now, unless another program scans it."""
        async with self._scanning[bucket]:
            now_s = self._clock.now_ms() // 1_000
            if await self._due(bucket, now_s) is None:
                return
            if self._settings.compat:
                await self._empty(bucket, now_s)
            else:
                await self._empty_locked(bucket, now_s)

    async def _empty_locked(self, bucket: int, now_s: int) -> None:
        """The lock is given back even by who did not get it: a minority of zones may have given it, and keep it."""
        try:
            if await self._store.lock(bucket, owner=self.name, lock_ms=self._settings.lock_ms):
                await self._empty(bucket, now_s)
        except COMMAND_FAILURES:
            await self._store.unlock(bucket, owner=self.name)
            raise
        await self._store.unlock(bucket, owner=self.name)

    async def _empty(self, bucket: int, now_s: int) -> None:
        while not self._closing and (job_id := await self._due(bucket, now_s)) is not None:
            try:
                await self._pass_on(bucket, job_id, now_s)
            except COMMAND_FAILURES:
                if not self._settings.compat:
                    raise
                await self._runtime.sleep(RETRY_NS)

    async def _due(self, bucket: int, now_s: int) -> str | None:
        first = await self._store.first(bucket)
        return first[0] if first is not None and first[1] <= now_s else None

    async def _pass_on(self, bucket: int, job_id: str, now_s: int) -> None:
        """To the list of ready jobs, or to another bucket if the job was given a later time meanwhile."""
        job = await self._store.get(job_id)
        if job is None:
            await self._store.unschedule(bucket, job_id)
        elif job.due_s > now_s:
            await self._schedule_again(bucket, job)
        else:
            await self._store.make_ready(job)
            await self._store.unschedule(bucket, job_id)

    async def _schedule_again(self, bucket: int, job: YouzanJob) -> None:
        if self._settings.compat:
            await self._store.unschedule(bucket, job.id)
            await self._store.schedule(job.id, job.due_s)
        elif await self._store.schedule(job.id, job.due_s) != bucket:
            await self._store.unschedule(bucket, job.id)
