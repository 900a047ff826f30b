"""The queue $QUEUE and the task of producer and worker: $WORK_MS for each job."""

import json
import os
import sys
import time

from huey import RedisHuey
from huey.signals import SIGNAL_COMPLETE

huey = RedisHuey(os.environ.get("QUEUE", "default"), url=sys.argv[1])


def event(op, job, **more):
    os.write(1, json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}).encode() + b"\n")


@huey.task(context=True)
def work(task):
    event("begin", task.id)
    time.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)


@huey.signal(SIGNAL_COMPLETE)
def report(_, task):
    event("end", task.id)
