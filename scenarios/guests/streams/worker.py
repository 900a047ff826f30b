"""Reads the stream $QUEUE as one of a group, works for $WORK_MS on each entry, claims those that are open for 2 s."""

import json
import os
import sys
import time

import redis

IDLE_MS, STREAM = 2_000, os.environ.get("QUEUE", "default")


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def taken():
    left = client.xautoclaim(STREAM, "workers", str(os.getpid()), min_idle_time=IDLE_MS, count=1)[1]
    return left or [
        job for _, new in client.xreadgroup("workers", str(os.getpid()), {STREAM: ">"}, 1, 200) for job in new
    ]


client, missing = redis.Redis.from_url(sys.argv[1], decode_responses=True), True
print("listening", flush=True)
while True:
    try:
        if missing:
            client.xgroup_create(STREAM, "workers", "0", mkstream=True)
        for entry, job in taken():
            event("begin", job["id"], lease_ms=IDLE_MS - 500)
            time.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
            event("ending", job["id"])
            if client.xack(STREAM, "workers", entry):
                event("end", job["id"])
    except redis.RedisError as error:
        print(error, file=sys.stderr)
        missing = "NOGROUP" in str(error)
        time.sleep(0.2)
