"""The queue's data in Redis, and the single commands on it: one round trip a call.

Source: https://github.com/wuzhc/gmq at v1.0. Scripts named ``original_…`` are its own, with their defects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.gmq.jobs import FIELDS, BrokenJob, Job, JobStatus
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.gmq.settings import GmqSettings
from zonelab.engine.ports import Argument, Command, Connection


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Due:
    """``next_s``: seconds until the next job of the bucket is due; -1 if there is none. ``left``: how many it lists."""

    ids: Sequence[str]
    next_s: int
    left: int | None = None


class GmqStore:
    """Every call raises ``PortError`` and, for an error reply, ``ServerError``.

    ``on_ready`` is called with the topic of each job that ``make_ready`` has put into a list.
    """

    def __init__(
        self, quorum: Connection, *, settings: GmqSettings, on_ready: Callable[[str], None] | None = None
    ) -> None:
        self._quorum, self._compat, self._on_ready = quorum, settings.compat, on_ready
        self.keys = GmqKeys(prefix=settings.prefix)
        self.delay_buckets = [self.keys.delay_bucket(number) for number in range(settings.buckets)]
        self.ttr_buckets = [self.keys.ttr_bucket(number) for number in range(settings.ttr_buckets)]

    async def put(self, job: Job) -> bool:
        """Into the pool. False if one of this id is there. With ``compat`` two that ask at once both put theirs."""
        key = self.keys.job(job.id)
        if not self._compat:
            return bool(await self._eval("push", [key], job.flat()))
        if await self._write("EXISTS", key):
            return False
        await self._write("HMSET", key, *job.flat())
        return True

    async def get(self, job_id: str) -> Job | None:
        """The job as the pool has it; None if there is none. Raises ``BrokenJob``."""
        flat = await self._hash(job_id)
        return Job.of(flat) if flat else None

    async def add_to_bucket(self, bucket: str, job_id: str, *, due_s: int) -> None:
        """Add a job to ``bucket`` and mark it as delayed; does nothing if it is gone."""
        keys = [bucket, self.keys.job(job_id)]
        await self._eval("add_to_bucket", keys, [due_s, job_id, int(JobStatus.DELAY)], original=self._compat)

    async def take_due(self, bucket: str, *, now_s: int) -> Due:
        """Out of the bucket: up to 200 ids, which are the caller's to make ready.

        Raises ``ValueError`` with ``compat`` if the number of seconds is one that Lua writes as a power of ten.
        """
        statuses = [int(JobStatus.DELAY), int(JobStatus.RESERVED)]
        told, *ids = await self._eval("due", [bucket], [*statuses, self.keys.pool, now_s], original=self._compat)
        left = None if self._compat else ids.pop(0)
        return Due([each.decode() for each in ids], int(told), left)

    async def make_ready(self, job_id: str, topic: str | None = None, *, consumed_max: int | None = None) -> None:
        """Into the list of ``topic``, or of the one that its job names; not if it was delivered oftener.

        With ``compat`` it raises ``BrokenJob`` for a job that is gone or has a delay and is not delayed.
        """
        if topic is None or self._compat:
            topic = await self._topic_of(job_id)
        if topic is not None:
            keys = [self.keys.ready(topic), self.keys.job(job_id)]
            bound = () if consumed_max is None else (consumed_max,)
            await self._eval("make_ready", keys, [job_id, int(JobStatus.READY), *bound], original=self._compat)
            if self._on_ready is not None:
                self._on_ready(topic)

    async def take_ready(self, topic: str) -> str | None:
        """The id that has been ready longest. Nothing lists it any more: it is the caller's to put into a bucket."""
        raw = await self._write("RPOP", self.keys.ready(topic))
        return None if raw is None else str(raw.decode())

    async def reserve(self, job_id: str) -> Job | None:
        """The job, now reserved. None if it is gone; with ``compat`` that leaves a stub and raises ``BrokenJob``."""
        key = self.keys.job(job_id)
        if self._compat:
            await self._write("HSET", key, "status", int(JobStatus.RESERVED))
            return Job.of(await self._hash(job_id))
        values = await self._eval("reserve", [key], [int(JobStatus.RESERVED), *FIELDS])
        return None if values is None else Job.of(_flat(values))

    async def count_delivery(self, job_id: str) -> None:
        """Count a delivery, which ``reserve`` does by itself without ``compat``; a job that is gone becomes a stub."""
        await self._write("HINCRBY", self.keys.job(job_id), "consume_num", 1)

    async def finish(self, job_id: str) -> bool:
        """Delete a job that is in flight. False if it is not. With ``compat`` buckets go on listing it."""
        if not self._compat:
            keys = [self.keys.job(job_id), *self.delay_buckets, *self.ttr_buckets]
            return bool(await self._eval("ack", keys, [job_id, int(JobStatus.RESERVED), int(JobStatus.DELAY)]))
        job = await self.get(job_id)
        return job is not None and job.leased and await self.delete(job_id)

    async def give_back(self, job: Job) -> bool:
        """A job that was just reserved is ready again, as the next one, as if nobody had had it. False if gone."""
        keys = [self.keys.ready(job.topic), self.keys.job(job.id), *self.delay_buckets, *self.ttr_buckets]
        return bool(await self._eval("give_back", keys, [job.id, int(JobStatus.READY), job.consumed]))

    async def remove(self, job_id: str, topic: str) -> bool:
        """Delete a job in whatever state, and what lists it. False if it was not there."""
        keys = [self.keys.job(job_id), self.keys.ready(topic), *self.delay_buckets, *self.ttr_buckets]
        return bool(await self._eval("remove", keys, [job_id]))

    async def delete(self, job_id: str) -> bool:
        """Out of the pool. False if it was not there. What lists the id stays."""
        return bool(await self._write("DEL", self.keys.job(job_id)))

    async def size(self, bucket: str) -> int:
        command: Command = ("ZCARD", bucket)
        (size,) = await read(self._quorum, [command])
        return int(size)

    async def _topic_of(self, job_id: str) -> str | None:
        flat = await self._hash(job_id)
        if not flat and not self._compat:
            return None
        job = Job.of(flat)
        if self._compat and job.delay_s > 0 and job.status is not JobStatus.DELAY:
            raise BrokenJob(f"job {job_id!r} has the status {job.status.name}")
        return job.topic

    async def _hash(self, job_id: str) -> list[bytes]:
        """Field, value …; empty if there is none. Not by HGETALL by default: zones may list a large hash unlike."""
        key = self.keys.job(job_id)
        if self._compat:
            (flat,) = await read(self._quorum, [("HGETALL", key)])
            return list(flat)
        (values,) = await read(self._quorum, [("HMGET", key, *FIELDS)])
        return _flat(values)

    async def _eval(self, name: str, keys: Sequence[str], words: Sequence[Argument], *, original: bool = False) -> Any:
        script = _script(f"original_{name}" if original else name)
        return await self._write("EVAL", script, len(keys), *keys, *words)

    async def _write(self, *words: Argument) -> Any:
        (reply,) = await write(self._quorum, [words], name=str(words[0]))
        return reply


class PendingReady:
    """``make_ready`` of one job, to be tried until it is known to have ended.

    An attempt whose end nobody knows may have listed the job, and it may have been popped since: the next one tells how
    often the job had been delivered before the first. ``topic`` is given for a job that was just pushed.
    """

    def __init__(self, store: GmqStore, job_id: str, topic: str | None) -> None:
        self._store, self._id, self._topic = store, job_id, topic
        self._consumed = 0
        self._consumed_max: int | None = None

    async def __call__(self) -> None:
        """Make jobs ready; errors are those of ``GmqStore.make_ready``."""
        if self._topic is None:
            job = await self._store.get(self._id)
            if job is None:
                return
            self._topic, self._consumed = job.topic, job.consumed
        consumed_max, self._consumed_max = self._consumed_max, self._consumed
        await self._store.make_ready(self._id, self._topic, consumed_max=consumed_max)


def _flat(values: Sequence[bytes | None]) -> list[bytes]:
    """Field, value …, of those that a job has."""
    return [
        part for name, value in zip(FIELDS, values, strict=True) if value is not None for part in (name.encode(), value)
    ]
