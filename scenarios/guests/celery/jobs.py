"""The application of producer and worker: a job that is not acknowledged within 5 s may go to another worker."""

import json
import os
import sys
import time

from celery import Celery, Task
from celery.worker.request import Request


def event(op, job, **more):
    os.write(1, json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}).encode() + b"\n")


class ReportingRequest(Request):
    def acknowledge(self):
        event("ending", self.id)
        super().acknowledge()
        event("end", self.id)


class ReportingTask(Task):
    Request = ReportingRequest


app = Celery(broker=sys.argv[1], task_cls=ReportingTask)
restore = {"visibility_timeout": 5, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
app.conf.update(task_default_queue=os.environ.get("QUEUE", "default"))
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, broker_transport_options=restore)


@app.task(bind=True, name="work", ignore_result=True)
def work(task):
    event("begin", task.request.id)
    time.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
