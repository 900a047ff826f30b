"""Enqueues $JOBS tasks in huey, one each $GAP_MS, each due after $DELAY_MS."""

import os
import sys
import time

from jobs import event, huey, work

delay_ms = int(os.environ.get("DELAY_MS", "0"))
for _ in range(int(os.environ.get("JOBS", "100"))):
    task = work.s(delay=delay_ms / 1000 or None)
    event("push", task.id, delay_ms=delay_ms)
    try:
        huey.enqueue(task)
        event("accepted", task.id)
    except Exception as error:
        print(error, file=sys.stderr)
    time.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)
