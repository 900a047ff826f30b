"""A Youzan queue and its timers on one server with a clock that stands still, and what Redis holds of a job."""

from support.engine.dyno import EPOCH_MS, OnServer, fresh_name

from zonelab.engine.message import Message
from zonelab.engine.youzan import YouzanKeys, YouzanQueue, YouzanSettings, YouzanTimers

TTR_S = 10


class YouzanBench(OnServer):
    """``compat`` names its keys without a prefix, so there is one queue at a time: what was there is removed."""

    def __init__(self, lab, **settings):
        super().__init__(lab, compat=settings.get("compat", False))
        self.settings = YouzanSettings(**{"prefix": fresh_name(), "ttr_s": TTR_S, "poll_interval_ms": 1, **settings})
        self.keys = YouzanKeys(prefix=self.settings.prefix, compat=self.compat)
        self.redis("FLUSHALL")
        self.queue = self.another()
        self.timers = self.program("t1")

    def another(self, connection=None, *, local=None):
        """Another program's instance; it has no use for ``local``."""
        return YouzanQueue(
            runtime=self.lab.runtime, clock=self.clock, quorum=connection or self.direct, settings=self.settings
        )

    def program(self, name, connection=None):
        """A program of timers, not started: ``scan`` is called by hand."""
        return YouzanTimers(
            name,
            runtime=self.lab.runtime,
            clock=self.clock,
            quorum=connection or self.direct,
            local=connection or self.direct,
            settings=self.settings,
        )

    def push(self, *ids, **fields):
        return self.run(self.queue.push([Message(id=each, payload="p", **fields) for each in ids]))

    def pop(self, count=1, **options):
        return [each.message.id for each in self.run(self.queue.pop(count, **options))]

    def tick(self, timers=None):
        """One scan of every bucket."""
        for bucket in range(1, self.settings.buckets + 1):
            self.run((timers or self.timers).scan(bucket))

    def later_s(self, seconds):
        self.clock.advance(1_000 * seconds)

    def state(self, job_id="x"):
        """``P`` if the pool has it, ``B`` for each bucket and ``R`` for each place in a list of ready jobs."""
        pool = "P" * self.redis("EXISTS", self.keys.job(job_id))
        numbers = range(1, self.settings.buckets + 1)
        listed = [self.redis("ZSCORE", self.keys.bucket(number), job_id) is not None for number in numbers]
        ready = [self.redis("LRANGE", self.keys.ready(topic), 0, -1) for topic in self.settings.topics]
        return pool + "B" * sum(listed) + "R" * sum(ids.count(job_id.encode()) for ids in ready)

    def scores(self, job_id="x"):
        """Seconds from the beginning until each of its entries in buckets is due."""
        numbers = range(1, self.settings.buckets + 1)
        scores = [self.redis("ZSCORE", self.keys.bucket(number), job_id) for number in numbers]
        return [int(float(score)) - EPOCH_MS // 1_000 for score in scores if score is not None]
