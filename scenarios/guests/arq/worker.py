"""Runs arq's worker of $QUEUE: $WORK_MS for each job; it has a lease of 11 s, ten more than its longest time."""

import asyncio
import json
import os
import sys
import time

from arq.connections import RedisSettings
from arq.worker import Worker


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


async def work(context):
    event("begin", context["job_id"], lease_ms=10_500)
    await asyncio.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
    event("ending", context["job_id"])


async def report(context):
    event("end", context["job_id"])


settings = RedisSettings.from_dsn(sys.argv[1])
print("listening", flush=True)
queue = os.environ.get("QUEUE", "default")
Worker([work], queue_name=queue, redis_settings=settings, after_job_end=report, job_timeout=1, poll_delay=0.1).run()
