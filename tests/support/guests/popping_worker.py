"""A queue that loses on a kill: what is popped is nowhere until it is done.

popping_worker.py push|work URL
"""

import json
import signal
import sys
import time

import redis


def event(op, job):
    sys.stdout.write(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}) + "\n")
    sys.stdout.flush()


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
client = redis.Redis.from_url(sys.argv[2], decode_responses=True)
if sys.argv[1] == "push":
    for number in range(60):
        event("push", f"job-{number}")
        client.rpush("waiting", json.dumps({"id": f"job-{number}"}))
        event("accepted", f"job-{number}")
        time.sleep(0.02)
else:
    while not stopping:
        job = client.lpop("waiting")
        if job is None:
            time.sleep(0.01)
            continue
        event("begin", json.loads(job)["id"])
        time.sleep(0.03)
        event("end", json.loads(job)["id"])
