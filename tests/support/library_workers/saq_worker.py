"""SAQ: ``saq.Worker`` on ``saq.queue.redis.RedisQueue``."""

from typing import Any

from saq import Worker
from saq.queue.redis import RedisQueue
from support.library_workers.story import Done

PACKAGES = ("saq", "croniter")
QUEUE_CLASS = RedisQueue


async def work(redis: Any, done: Done) -> None:
    async def job(context: Any, *, number: int) -> None:
        await done(number)

    timers: Any = {"sweep": 5}
    await Worker(QUEUE_CLASS(redis), functions=[("job", job)], concurrency=3, timers=timers).start()


async def producer(redis: Any) -> Any:
    queue = QUEUE_CLASS(redis)

    async def enqueue(number: int) -> None:
        await queue.enqueue("job", number=number, timeout=3, retries=5)

    return enqueue
