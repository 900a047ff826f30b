"""The broker and the actor of producer and worker: what a worker had that is silent for 4 s goes to another."""

import json
import os
import sys
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage


def event(op, job, **more):
    os.write(1, json.dumps({"op": op, "id": job, "t_ns": time.time_ns(), **more}).encode() + b"\n")


class AfterAck(CurrentMessage):
    def after_ack(self, broker, message):
        if not message.queue_name.endswith(".DQ"):
            event("end", message.message_id)


broker = RedisBroker(url=sys.argv[1], heartbeat_timeout=4_000, maintenance_chance=1_000_000)
broker.add_middleware(AfterAck())
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=os.environ.get("QUEUE", "default"))
def work():
    event("begin", CurrentMessage.get_current_message().message_id)
    time.sleep(int(os.environ.get("WORK_MS", "5")) / 1000)
    event("ending", CurrentMessage.get_current_message().message_id)
