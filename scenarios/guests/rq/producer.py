"""Puts $JOBS jobs into the rq queue $QUEUE, one each $GAP_MS, to be worked on for $WORK_MS after $DELAY_MS."""

import json
import os
import sys
import time
from datetime import timedelta

import redis
import rq


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def number(name, default):
    return int(os.environ.get(name, default))


queue = rq.Queue(os.environ.get("QUEUE", "default"), connection=redis.Redis.from_url(sys.argv[1]))
delay_ms, work_ms = number("DELAY_MS", 0), number("WORK_MS", 5)
for index in range(number("JOBS", 100)):
    job = f"job-{index}"
    event("push", job, **({"delay_ms": delay_ms} if delay_ms else {}))
    try:
        if delay_ms:
            queue.enqueue_in(timedelta(milliseconds=delay_ms), "worker.work", work_ms, job_id=job)
        else:
            queue.enqueue("worker.work", work_ms, job_id=job)
        event("accepted", job)
    except redis.RedisError as error:
        print(f"{job}: {error!r}", file=sys.stderr)
    time.sleep(number("GAP_MS", 10) / 1000)
