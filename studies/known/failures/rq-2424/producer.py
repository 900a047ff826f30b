"""Puts a job into the rq queue and, twice a second for $DEPENDENTS times, one that depends on it; waits for $LAST_S."""

import json
import os
import sys
import time

import redis
import rq


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def push(job, **options):
    event("push", job)
    queue.enqueue("worker.work", job_id=job, job_timeout=5, **options)
    event("accepted", job)


queue = rq.Queue("default", connection=redis.Redis.from_url(sys.argv[1]))
push("first", retry=rq.Retry(max=1))
for index in range(int(os.environ["DEPENDENTS"])):
    push(f"dependent-{index}", depends_on="first")
    time.sleep(0.5)
time.sleep(float(os.environ["LAST_S"]))
