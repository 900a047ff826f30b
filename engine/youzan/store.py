"""The queue's data in Redis, and the single commands on it: one round trip a call."""

from pathlib import Path
from typing import Any

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.ports import Argument, Command, Connection
from zonelab.engine.youzan.jobs import YouzanJob
from zonelab.engine.youzan.keys import YouzanKeys
from zonelab.engine.youzan.settings import YouzanSettings

UNLOCK = Path(__file__).with_name("unlock.lua").read_text(encoding="utf-8")


class YouzanStore:
    """``quorum`` carries writes and reads of jobs, ``local`` the reads of buckets, whose answer may be old.

    Every call raises ``PortError`` and, for an error reply, ``ServerError``.
    """

    def __init__(self, *, quorum: Connection, local: Connection, settings: YouzanSettings) -> None:
        self._quorum, self._local = quorum, local
        self._buckets = settings.buckets
        self._scheduled = 0
        self.keys = YouzanKeys(prefix=settings.prefix, compat=settings.compat)

    async def put(self, job: YouzanJob) -> None:
        """Into the pool; one of the same id is overwritten."""
        await self._write("SET", self.keys.job(job.id), job.encode())

    async def get(self, job_id: str) -> YouzanJob | None:
        command: Command = ("GET", self.keys.job(job_id))
        (raw,) = await read(self._quorum, [command])
        return None if raw is None else YouzanJob.decode(raw)

    async def delete(self, job_id: str) -> bool:
        """Out of the pool. False if it was not there. What lists the id is passed over when its turn comes."""
        return bool(await self._write("DEL", self.keys.job(job_id)))

    async def schedule(self, job_id: str, at_s: int) -> int:
        """Into the next bucket, whose number is returned."""
        self._scheduled += 1
        bucket = 1 + self._scheduled % self._buckets
        await self._write("ZADD", self.keys.bucket(bucket), at_s, job_id)
        return bucket

    async def first(self, bucket: int) -> tuple[str, int] | None:
        """The id in ``bucket`` that is due first, and when."""
        command: Command = ("ZRANGE", self.keys.bucket(bucket), 0, 0, "WITHSCORES")
        (flat,) = await read(self._local, [command])
        return (flat[0].decode(), int(float(flat[1]))) if flat else None

    async def unschedule(self, bucket: int, job_id: str) -> None:
        await self._write("ZREM", self.keys.bucket(bucket), job_id)

    async def make_ready(self, job: YouzanJob) -> None:
        await self._write("RPUSH", self.keys.ready(job.topic), job.id)

    async def take_ready(self, topic: str) -> str | None:
        """The id that has been ready longest. Nothing lists it any more: it is the caller's to schedule again."""
        raw = await self._write("LPOP", self.keys.ready(topic))
        return None if raw is None else str(raw.decode())

    async def lock(self, bucket: int, *, owner: str, lock_ms: int | None) -> bool:
        """False if another has it."""
        expiry: tuple[Argument, ...] = () if lock_ms is None else ("PX", lock_ms)
        return await self._write("SET", self.keys.lock(bucket), owner, "NX", *expiry) is not None

    async def unlock(self, bucket: int, *, owner: str) -> None:
        """Unless it is another's by now."""
        await self._write("EVAL", UNLOCK, 1, self.keys.lock(bucket), owner)

    async def _write(self, *words: Argument) -> Any:
        (reply,) = await write(self._quorum, [words], name=str(words[0]))
        return reply
