"""Adds $JOBS tasks to taskiq's stream, one each $GAP_MS."""

import asyncio
import os
import sys

from jobs import broker, event, work


async def push():
    for _ in range(int(os.environ.get("JOBS", "100"))):
        event("push", job := broker.id_generator())
        try:
            await work.kicker().with_task_id(job).kiq()
            event("accepted", job)
        except Exception as error:
            print(error, file=sys.stderr)
        await asyncio.sleep(int(os.environ.get("GAP_MS", "10")) / 1000)


asyncio.run(push())
