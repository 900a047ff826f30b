"""The delay queue of Youzan: a job pool, several buckets with a timer each, a list of ready jobs a topic.

Source: https://tech.youzan.com/queuing_delay/; with ``compat`` https://github.com/ouqiang/delay-queue, v0.4, its
best-known implementation (see docs/youzan.md). Read first: ``zonelab.engine.youzan.queue``, then
``zonelab.engine.youzan.timers``.
"""

from zonelab.engine.youzan.jobs import YouzanJob
from zonelab.engine.youzan.keys import YouzanKeys
from zonelab.engine.youzan.queue import YouzanQueue
from zonelab.engine.youzan.settings import YouzanSettings
from zonelab.engine.youzan.timers import YouzanTimers

__all__ = ["YouzanJob", "YouzanKeys", "YouzanQueue", "YouzanSettings", "YouzanTimers"]
