"""Runs Celery's worker for one job at a time; a connection that was idle for a second is checked before it is used."""

import json
import os
import sys
import time

from celery import Celery, Task
from celery.worker.request import Request


def event(op, job):
    os.write(1, json.dumps({"op": op, "id": job, "t_ns": time.time_ns()}).encode() + b"\n")


class ReportingRequest(Request):
    def acknowledge(self):
        event("ending", self.id)
        super().acknowledge()
        event("end", self.id)


class ReportingTask(Task):
    Request = ReportingRequest


app = Celery(broker=sys.argv[1], task_cls=ReportingTask)
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, worker_enable_remote_control=False)
app.conf.update(broker_transport_options={"health_check_interval": 1, "retry_on_timeout": True})


@app.task(bind=True, name="work", ignore_result=True)
def work(task):
    event("begin", task.request.id)
    time.sleep(2)


if __name__ == "__main__":
    app.worker_main(["worker", "--concurrency=1", "--without-gossip", "--without-mingle", "--loglevel=INFO"])
