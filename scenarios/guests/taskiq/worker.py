"""Runs taskiq's receiver, which acknowledges once the job is done."""

import asyncio

from jobs import broker
from taskiq.acks import AcknowledgeType
from taskiq.api import run_receiver_task

print("listening", flush=True)
asyncio.run(run_receiver_task(broker, run_startup=True, max_async_tasks=2, ack_time=AcknowledgeType.WHEN_EXECUTED))
