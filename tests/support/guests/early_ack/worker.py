"""Reads a stream and takes each entry out of it before it works on it: the planted bug."""

import contextlib
import json
import sys
import time

import redis


def event(op, job):
    say(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}))


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


client = redis.Redis.from_url(sys.argv[1], decode_responses=True)
with contextlib.suppress(redis.ResponseError):
    client.xgroup_create("default", "workers", "0", mkstream=True)
say("listening")
while True:
    for _, entries in client.xreadgroup("workers", "one", {"default": ">"}, 1, 200):
        for entry, job in entries:
            client.xack("default", "workers", entry)
            client.xdel("default", entry)
            event("begin", job["id"])
            client.incr("worked")
            event("end", job["id"])
