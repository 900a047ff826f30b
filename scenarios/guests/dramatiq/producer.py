"""Sends $JOBS messages to dramatiq, in $QUEUE, one each $GAP_MS, each due after $DELAY_MS."""

import os
import sys
import time

from jobs import broker, event, work

delay_ms = int(os.environ.get("DELAY_MS", "0"))
for _ in range(int(os.environ.get("JOBS", "100"))):
    message = work.message()
    event("push", message.message_id, delay_ms=delay_ms)
    try:
        broker.enqueue(message, delay=delay_ms or None)
        event("accepted", message.message_id)
    except Exception as error:
        print(error, file=sys.stderr)
    time.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)
