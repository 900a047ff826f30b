"""gmq, the delay queue of wuzhc: a job pool, buckets with a timer each, a dispatcher, a list of ready jobs a topic.

Source: https://github.com/wuzhc/gmq at v1.0, which was also built and run (see docs/gmq.md). Read first:
``zonelab.engine.gmq.queue``, then ``zonelab.engine.gmq.dispatcher`` and ``zonelab.engine.gmq.buckets``.
"""

from zonelab.engine.gmq.channel import GoChannel
from zonelab.engine.gmq.dispatcher import DispatchedCard, GmqDispatcher
from zonelab.engine.gmq.jobs import BrokenJob, Card, Job, JobStatus
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.gmq.queue import GmqQueue
from zonelab.engine.gmq.settings import GmqSettings

__all__ = [
    "BrokenJob",
    "Card",
    "DispatchedCard",
    "GmqDispatcher",
    "GmqKeys",
    "GmqQueue",
    "GmqSettings",
    "GoChannel",
    "Job",
    "JobStatus",
]
