"""gmq, the delay queue of wuzhc: a job pool, buckets with a timer each, a dispatcher, a list of ready jobs a topic.

Source: https://github.com/wuzhc/gmq at v1.0, which was also built and run (see docs/gmq.md). Read first:
``engine.gmq.queue``, then ``engine.gmq.dispatcher`` and ``engine.gmq.buckets``.
"""

from engine.gmq.channel import Channel
from engine.gmq.dispatcher import GmqDispatcher, Handed
from engine.gmq.jobs import BrokenJob, Card, Job, Status
from engine.gmq.keys import GmqKeys
from engine.gmq.queue import GmqQueue
from engine.gmq.settings import GmqSettings

__all__ = [
    "BrokenJob",
    "Card",
    "Channel",
    "GmqDispatcher",
    "GmqKeys",
    "GmqQueue",
    "GmqSettings",
    "Handed",
    "Job",
    "Status",
]
