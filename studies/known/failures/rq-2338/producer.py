"""Puts $JOBS jobs with a delay into the rq queue, then waits for $LAST_S seconds, so that the load goes on."""

import json
import os
import sys
import time
from datetime import timedelta

import redis
import rq

DELAY_MS = 1000


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


queue = rq.Queue("default", connection=redis.Redis.from_url(sys.argv[1]))
time.sleep(float(os.environ["FIRST_S"]))
for index in range(int(os.environ["JOBS"])):
    job = f"job-{index}"
    event("push", job, delay_ms=DELAY_MS)
    queue.enqueue_in(timedelta(milliseconds=DELAY_MS), "worker.work", job_id=job)
    event("accepted", job)
time.sleep(float(os.environ["LAST_S"]))
