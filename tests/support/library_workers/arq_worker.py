"""arq: ``arq.Worker`` on ``arq.ArqRedis``."""

from typing import Any

from arq.connections import ArqRedis
from arq.worker import Worker, func
from support.library_workers.story import Done

PACKAGES = ("arq",)


async def work(redis: Any, done: Done) -> None:
    async def job(context: Any, number: int) -> None:
        await done(number)

    pool = ArqRedis(connection_pool=redis.connection_pool)
    await Worker([func(job, name="job")], redis_pool=pool, job_timeout=3, poll_delay=0.1, max_jobs=3).async_run()


async def producer(redis: Any) -> Any:
    pool = ArqRedis(connection_pool=redis.connection_pool)

    async def enqueue(number: int) -> None:
        await pool.enqueue_job("job", number)

    return enqueue
