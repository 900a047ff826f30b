"""Runs arq's worker with two functions: one that may run for a second, one that may run for $LONGEST_S."""

import json
import os
import sys
import time

from arq.connections import RedisSettings
from arq.worker import Worker, func


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


async def work(context):
    event("begin", context["job_id"])
    event("ending", context["job_id"])


async def longest(context):
    pass


async def report(context):
    event("end", context["job_id"])


functions = [func(work, timeout=1), func(longest, timeout=int(os.environ["LONGEST_S"]))]
settings = RedisSettings.from_dsn(sys.argv[1])
print("listening", flush=True)
Worker(
    functions, queue_name="default", redis_settings=settings, after_job_end=report, job_timeout=1, poll_delay=0.1
).run()
