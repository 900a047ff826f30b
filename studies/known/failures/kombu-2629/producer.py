"""Sends $JOBS tasks to Celery's worker."""

import json
import os
import time
import uuid

from worker import app


def event(op, job):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}), flush=True)


for _ in range(int(os.environ["JOBS"])):
    event("push", job := str(uuid.uuid4()))
    app.send_task("work", task_id=job)
    event("accepted", job)
