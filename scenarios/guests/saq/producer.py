"""Enqueues $JOBS jobs in the SAQ queue $QUEUE, one each $GAP_MS; each may run for 2 s, and ten times."""

import asyncio
import json
import os
import sys
import time

from saq import Job, Queue


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


async def push(queue):
    for _ in range(int(os.environ.get("JOBS", "100"))):
        job = Job("work", timeout=2, retries=10)
        event("push", job.key)
        try:
            if await queue.enqueue(job):
                event("accepted", job.key)
        except Exception as error:
            print(error, file=sys.stderr)
        await asyncio.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)


asyncio.run(push(Queue.from_url(sys.argv[1], name=os.environ.get("QUEUE", "default"))))
