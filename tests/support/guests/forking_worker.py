"""A worker whose work is done by a child: the parent takes jobs, the child works on a connection of its own.

forking_worker.py URL
"""

import json
import os
import signal
import sys
import time

import redis


def event(op, job):
    sys.stdout.write(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}) + "\n")
    sys.stdout.flush()


def work(job):
    """Work in a child, which answers for the job; what it was killed over is worked on by the next one."""
    child = os.fork()
    if child == 0:
        own = redis.Redis.from_url(sys.argv[1], decode_responses=True)
        own.set(f"working:{job}", os.getpid())
        event("end", job)
        own.lrem("active", 1, job)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
client = redis.Redis.from_url(sys.argv[1], decode_responses=True)
for number in range(20):
    event("push", f"job-{number}")
    client.lpush("waiting", f"job-{number}")
    event("accepted", f"job-{number}")
while not stopping:
    job = client.lmove("waiting", "active", "RIGHT", "LEFT")
    if job is None:
        time.sleep(0.01)
        continue
    event("begin", job)
    while not work(job):
        event("failed", job)
        event("begin", job)
