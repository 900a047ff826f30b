"""gmq on one simulated server: instances, a dispatcher that runs while time passes, and what Redis holds of a job."""

from support.engine.dyno import EPOCH_MS, OnServer

from zonelab.engine.gmq import DispatchedCard, GmqDispatcher, GmqKeys, GmqQueue, GmqSettings, GoChannel
from zonelab.engine.message import Message

TTR_S = 10
GRACE_S = 3
NS_PER_MS = 1_000_000


def step(command):
    """What a command is for: its name, or of a script ``due``, ``add``, ``ready``, ``push``, ``reserve`` or ``ack``."""
    if command[0] != "EVAL":
        return command[0]
    keys, words = command[3 : 3 + command[2]], command[3 + command[2] :]
    if ":readyqueue:" in keys[0]:
        return "ready"
    if ":bucket:" in keys[0]:
        return "due" if len(keys) == 1 else "add"
    return "ack" if len(keys) > 1 else "push" if words[0] == "id" else "reserve"


class Tapped:
    """A connection that notes the steps that it carries, and does ``act`` before, or ``after``, the nth one named."""

    def __init__(self, inner, name=None, act=None, *, nth=1, after=False):
        self._inner, self._name, self._act, self._left, self._after = inner, name, act, nth, after
        self.steps = []

    async def execute(self, *commands):
        meant = self._meant(*commands)
        if meant and not self._after:
            await self._act()
        replies = await self._inner.execute(*commands)
        if meant and self._after:
            await self._act()
        return replies

    def _meant(self, command):
        self.steps.append(step(command))
        named = self.steps[-1] == self._name
        self._left -= named
        return named and self._left == 0


class Refusing:
    """A connection on which each step of the given name fails with ``error``, as often as ``times``."""

    def __init__(self, inner, name, error, *, times=1, applied=False):
        self._inner, self._name, self._error, self.times, self._applied = inner, name, error, times, applied

    async def execute(self, *commands):
        if self.times > 0 and step(commands[0]) == self._name:
            self.times -= 1
            if self._applied:
                await self._inner.execute(*commands)
            raise self._error
        return await self._inner.execute(*commands)


class GmqBench(OnServer):
    """One queue. Its dispatcher runs from ``start``, or from the first ``push``, on the clock of simulated time."""

    def __init__(self, lab, **settings):
        super().__init__(lab, compat=settings.get("compat", False))
        self.clock = lab.cluster.clock("a")
        self.settings = GmqSettings(**{"ttr_s": TTR_S, "poll_interval_ms": 1, **settings})
        self.keys = GmqKeys(prefix=self.settings.prefix)
        self.cards = GoChannel[DispatchedCard](lab.runtime)
        self.queue = self.another()
        self.dispatcher = self.program()

    def another(self, connection=None):
        """Another program's instance."""
        return GmqQueue(
            runtime=self.lab.runtime,
            clock=self.clock,
            quorum=connection or self.direct,
            cards=self.cards,
            settings=self.settings,
        )

    def program(self, connection=None, *, cards=None):
        """A dispatcher, not started."""
        return GmqDispatcher(
            "d",
            runtime=self.lab.runtime,
            clock=self.clock,
            quorum=connection or self.direct,
            cards=cards or self.cards,
            settings=self.settings,
        )

    def start(self, connection=None):
        if connection is not None:
            self.dispatcher = self.program(connection)
        self.run(self.dispatcher.start())
        return self

    def push(self, *ids, delay_s=0):
        return self.run(self.queue.push([Message(id=each, payload="p", timeout_ms=1_000 * delay_s) for each in ids]))

    def pop(self, count=1, **options):
        return [each.message.id for each in self.run(self.queue.pop(count, **options))]

    def taken(self):
        """The one delivery that there is."""
        (delivery,) = self.run(self.queue.pop(1))
        return delivery

    def pause_ms(self, duration_ms):
        """Let the dispatcher work."""
        self.run(self.lab.runtime.sleep(duration_ms * NS_PER_MS))

    def until_ms(self, time_ms):
        """Let the dispatcher work until so long after the beginning, which was a full second."""
        self.pause_ms(time_ms - self.now_ms())

    def now_ms(self):
        return self.clock.now_ms() - EPOCH_MS

    def state(self, job_id="x"):
        """``P`` if the pool has it, ``D`` and ``T`` for each delay and TTR bucket, ``R`` for each place in a list."""
        settings, keys = self.settings, self.keys
        delayed = sum(self._listed(keys.delay_bucket(number), job_id) for number in range(settings.buckets))
        leased = sum(self._listed(keys.ttr_bucket(number), job_id) for number in range(settings.ttr_buckets))
        ready = sum(self.redis("LRANGE", keys.ready(topic), 0, -1).count(job_id.encode()) for topic in settings.topics)
        return "P" * self.redis("EXISTS", keys.job(job_id)) + "D" * delayed + "T" * leased + "R" * ready

    def _listed(self, bucket, job_id):
        return self.redis("ZSCORE", bucket, job_id) is not None

    def field(self, name, job_id="x"):
        raw = self.redis("HGET", self.keys.job(job_id), name)
        return None if raw is None else raw.decode()

    def store(self, job_id="x", *, topic="jobs", delay_s=0, ttr_s=TTR_S, status=0, consumed=0):
        """A job in the pool, as v1.0 writes it, and nowhere else."""
        values = {"id": job_id, "topic": topic, "delay": delay_s, "TTR": ttr_s, "body": "p"}
        flat = [word for pair in {**values, "status": status, "consume_num": consumed}.items() for word in pair]
        self.redis("HMSET", self.keys.job(job_id), *flat)

    def list_in(self, bucket, *ids, at_s):
        """In a bucket, due so many seconds after the beginning; the jobs are delayed ones."""
        for job_id in ids:
            self.store(job_id, delay_s=1, status=1)
            self.redis("ZADD", bucket, EPOCH_MS // 1_000 + at_s, job_id)

    def ready(self, topic="jobs"):
        return self.redis("LLEN", self.keys.ready(topic))
