"""Sends $JOBS tasks to Celery's worker; then, if $CUT is 1, closes what is idle once one is acknowledged."""

import json
import os
import sys
import time
import uuid

import redis
from worker import app


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


server = redis.Redis.from_url(sys.argv[1])
for _ in range(int(os.environ["JOBS"])):
    event("push", job := str(uuid.uuid4()))
    app.send_task("work", task_id=job)
    event("accepted", job)
held = set(server.hkeys("unacked"))
while not held or held & set(server.hkeys("unacked")):
    time.sleep(0.02)
    held = held or set(server.hkeys("unacked"))
if os.environ["CUT"] == "1":
    for connection in server.client_list():
        if int(connection["idle"]) >= 1:
            print("closed connection", server.client_kill_filter(_id=connection["id"]), file=sys.stderr)
