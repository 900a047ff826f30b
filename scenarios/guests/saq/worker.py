"""Runs SAQ's worker of $QUEUE: $WORK_MS for each job, and a sweep every $SWEEP_S."""

import asyncio
import json
import os
import sys
import time

from saq import Queue, Status, Worker


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


async def work(context):
    event("begin", context["job"].key)
    await asyncio.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
    event("ending", context["job"].key)


async def report(context):
    event("end" if context["job"].status is Status.COMPLETE else "failed", context["job"].key)


timers = {"sweep": int(os.environ.get("SWEEP_S", "10"))}
print("listening", flush=True)
queue = Queue.from_url(sys.argv[1], name=os.environ.get("QUEUE", "default"))
asyncio.run(Worker(queue, [work], after_process=report, timers=timers).start())
