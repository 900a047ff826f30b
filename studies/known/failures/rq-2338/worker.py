"""Works on the rq queue, or with the word "scheduler" runs the library's scheduler once it has the lock."""

import json
import sys
import time

import redis
import rq
from rq.scheduler import RQScheduler


def event(op, job, **more):
    print(json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}), flush=True)


def work():
    event("begin", rq.get_current_job().id)


class Reporting(rq.Worker):
    def handle_job_success(self, job, *args, **kwargs):
        super().handle_job_success(job, *args, **kwargs)
        event("end", job.id)


if __name__ == "__main__":
    connection = redis.Redis.from_url(sys.argv[1])
    if "scheduler" in sys.argv:
        scheduler = RQScheduler(["default"], connection=connection, interval=1)
        print("listening", flush=True)
        while "second" in sys.argv and not connection.exists(scheduler.get_locking_key("default")):
            time.sleep(0.1)
        while not scheduler.acquire_locks():
            time.sleep(0.5)
        print("scheduler has the lock", flush=True)
        scheduler.work()
    else:
        print("listening", flush=True)
        Reporting(["default"], connection=connection).work(with_scheduler=False, logging_level="WARNING")
