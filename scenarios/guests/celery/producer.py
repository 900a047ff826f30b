"""Sends $JOBS tasks with Celery, one each $GAP_MS, each due after $DELAY_MS."""

import os
import sys
import time
import uuid

from jobs import event, work

delay_ms = int(os.environ.get("DELAY_MS", "0"))
for _ in range(int(os.environ.get("JOBS", "100"))):
    event("push", job := str(uuid.uuid4()), delay_ms=delay_ms)
    try:
        work.apply_async(task_id=job, countdown=delay_ms / 1000 or None)
        event("accepted", job)
    except Exception as error:
        print(error, file=sys.stderr)
    time.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)
