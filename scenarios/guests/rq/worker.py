"""Works on the rq queues $QUEUE, with a scheduler: the library's own worker, and what it reports."""

import json
import os
import sys
import time

import redis
import rq


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def work(work_ms):
    event("begin", rq.get_current_job().id)
    time.sleep(work_ms / 1000)


class Reporting(rq.Worker):
    def handle_job_success(self, job, *args, **kwargs):
        super().handle_job_success(job, *args, **kwargs)
        event("end", job.id)

    def handle_job_failure(self, job, *args, **kwargs):
        super().handle_job_failure(job, *args, **kwargs)
        event("failed", job.id)


if __name__ == "__main__":
    connection = redis.Redis.from_url(sys.argv[1])
    queues = os.environ.get("QUEUE", "default").split(",")
    print("listening", flush=True)
    Reporting(queues, connection=connection).work(with_scheduler=True, logging_level="WARNING")
