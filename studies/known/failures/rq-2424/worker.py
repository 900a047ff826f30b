"""Works on the rq queue, one second on the first job, or with the word "cleaner" cleans its registries every second."""

import json
import sys
import time

import redis
import rq
from rq.registry import clean_registries


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def work():
    job = rq.get_current_job().id
    event("begin", job)
    time.sleep(1 if job == "first" else 0)


class Reporting(rq.Worker):
    def handle_job_success(self, job, *args, **kwargs):
        super().handle_job_success(job, *args, **kwargs)
        event("end", job.id)


if __name__ == "__main__":
    queue = rq.Queue("default", connection=redis.Redis.from_url(sys.argv[1]))
    print("listening", flush=True)
    while "cleaner" in sys.argv:
        clean_registries(queue)
        time.sleep(1)
    Reporting([queue], connection=queue.connection).work(with_scheduler=False, logging_level="WARNING")
