"""Enqueues $JOBS jobs in the arq queue $QUEUE, one each $GAP_MS."""

import asyncio
import json
import os
import sys
import time
import uuid

from arq import create_pool
from arq.connections import RedisSettings


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


async def push():
    queue = await create_pool(RedisSettings.from_dsn(sys.argv[1]))
    for _ in range(int(os.environ.get("JOBS", "100"))):
        event("push", job := uuid.uuid4().hex)
        try:
            if await queue.enqueue_job("work", _job_id=job, _queue_name=os.environ.get("QUEUE", "default")):
                event("accepted", job)
        except Exception as error:
            print(error, file=sys.stderr)
        await asyncio.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)


asyncio.run(push())
