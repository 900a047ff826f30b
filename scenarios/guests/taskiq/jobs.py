"""The stream $QUEUE and the task of producer and worker: what has been open for $IDLE_MS is claimed by another."""

import asyncio
import json
import os
import sys
import time
from typing import Annotated

from taskiq import Context, TaskiqDepends, TaskiqMiddleware
from taskiq_redis import RedisStreamBroker


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


class AfterExecution(TaskiqMiddleware):
    def post_execute(self, message, result):
        event("end", message.task_id)


QUEUE = os.environ.get("QUEUE", "default")
idle_ms = int(os.environ.get("IDLE_MS", "3000"))
block_ms = int(os.environ.get("BLOCK_MS", "200"))
broker = RedisStreamBroker(sys.argv[1], QUEUE, consumer_id="0", xread_block=block_ms, idle_timeout=idle_ms)
broker.add_middlewares(AfterExecution())


@broker.task("work")
async def work(context: Annotated[Context, TaskiqDepends()]):
    event("begin", context.message.task_id)
    await asyncio.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
    event("ending", context.message.task_id)
