"""Adds $JOBS entries to the stream $QUEUE, one each $GAP_MS."""

import json
import os
import sys
import time

import redis


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


client = redis.Redis.from_url(sys.argv[1])
for index in range(int(os.environ.get("JOBS", "100"))):
    event("push", f"job-{index}")
    try:
        client.xadd(os.environ.get("QUEUE", "default"), {"id": f"job-{index}"})
        event("accepted", f"job-{index}")
    except redis.RedisError as error:
        print(error, file=sys.stderr)
    time.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)
