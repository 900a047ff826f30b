"""taskiq: ``taskiq.receiver.Receiver`` on the brokers of taskiq-redis, for a list and for a stream."""

import asyncio
import signal
from functools import partial
from typing import Any

from support.library_workers.story import Done
from taskiq.receiver import Receiver
from taskiq_redis import ListQueueBroker, RedisStreamBroker

PACKAGES = ("taskiq", "taskiq_redis")


def _broker(kind: str, redis: Any, done: Done | None) -> Any:
    if kind == "list":
        broker: Any = ListQueueBroker("redis://unused")
    else:
        broker = RedisStreamBroker("redis://unused", idle_timeout=3000, xread_block=500, unacknowledged_lock_timeout=1)
    broker.connection_pool = redis.connection_pool

    @broker.task(task_name="job")
    async def job(number: int) -> None:
        assert done is not None
        await done(number)

    return broker, job


async def _work(kind: str, redis: Any, done: Done) -> None:
    broker, _ = _broker(kind, redis, done)
    broker.is_worker_process = True
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await Receiver(broker, max_async_tasks=3, run_startup=True).listen(stopped)


async def _producer(kind: str, redis: Any) -> Any:
    broker, job = _broker(kind, redis, None)
    await broker.startup()
    return job.kiq


work_on_list, producer_on_list = partial(_work, "list"), partial(_producer, "list")
work_on_stream, producer_on_stream = partial(_work, "stream"), partial(_producer, "stream")
