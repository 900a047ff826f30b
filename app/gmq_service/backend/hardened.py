"""Jobs that survive any kill: each topic is a hardened queue on the one server (docs/gmq.md#hardened)."""

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from zonelab.app.gmq_service.backend.jobs import Refused
from zonelab.engine.common.lifecycle import close_all
from zonelab.engine.common.pipelines import read
from zonelab.engine.dyno.hardened import HardenedQueue, HardenedSettings
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.gmq.hardened import HardenedDispatcher
from zonelab.engine.gmq.jobs import Job
from zonelab.engine.gmq.served_jobs import AckOutcome
from zonelab.engine.gmq.settings import SECONDS_MAX
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Clock, Connection, Runtime

SHARD = "server"
KEEPER_MS = 5_000
LOOK_FOR_TOPICS_S = 1.0
"""Period of the looks for topics of other services, when somebody pops one that is not known here."""

_LOOKED_AT = 2
"""Held deliveries that are looked at for each new one: more than one, so all are looked at in time."""

_MS_PER_S = 1_000


class HardenedJobs:
    """``instance``: a name that no other service has or ever had. Up to ``topics_max`` have a queue and a keeper."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        clock: Clock,
        connection: Connection,
        prefix: str,
        instance: str,
        topics_max: int,
        on_ready: Callable[[str], None],
    ) -> None:
        self._runtime, self._clock, self._connection = runtime, clock, connection
        self._prefix, self._instance, self._topics_max, self._on_ready = prefix, instance, topics_max, on_ready
        self._topics: dict[str, HardenedQueue] = {}
        self._keepers: list[HardenedDispatcher] = []
        self._held: dict[str, tuple[HardenedQueue, Delivery]] = {}
        self._looked_s = -LOOK_FOR_TOPICS_S
        self._making = asyncio.Lock()

    async def start(self) -> None:
        await self._look_for_topics()

    async def stop(self) -> None:
        """Nothing is in hand: every job is listed or leased in the step that takes it."""
        await close_all([*(queue.server for queue in self._topics.values()), *self._keepers])

    async def push(self, job: Job) -> bool:
        for name, seconds in (("delay", job.delay_s), ("TTR", job.ttr_s)):
            if seconds > SECONDS_MAX:
                raise Refused(f"job.{name} must be at most {SECONDS_MAX}, got {seconds}")
        queue = await self._made(job.topic)
        message = Message(
            id=job.id,
            payload=_payload(job, self._clock.now_ms()),
            timeout_ms=max(0, job.delay_s) * _MS_PER_S,
            lease_ms=max(1, job.ttr_s) * _MS_PER_S,
        )
        stored = (await queue.push_new([message]))[job.id] is not None
        if stored and job.delay_s <= 0:
            self._on_ready(job.topic)
        return stored

    async def replace(self, job: Job) -> None:
        """Store ``job``. Raises ``Refused`` for an id that exists, or did within the last day."""
        if not await self.push(job):
            raise Refused(f"job.id {job.id!r} is there, or was within the last day")

    async def pop(self, topics: Sequence[str], wanted: Callable[[], bool]) -> Job | None:
        for topic in topics:
            queue = await self._known(topic)
            if queue is None:
                continue
            deliveries = await queue.pop(1)
            if deliveries:
                return await self._delivered(queue, topic, deliveries[0], wanted)
        return None

    async def ack(self, job_id: str) -> AckOutcome:
        queue, delivery = self._held.pop(job_id, (None, None))
        if queue is None or delivery is None:
            return AckOutcome.NOT_RESERVED
        try:
            return AckOutcome.DONE if await queue.ack(delivery) else AckOutcome.READY_AGAIN
        except BaseException:
            self._held[job_id] = queue, delivery
            raise

    async def remove(self, job_id: str) -> bool:
        self._held.pop(job_id, None)
        removed = [await queue.remove(job_id) for queue in list(self._topics.values())]
        return any(removed)

    async def get(self, job_id: str) -> Job | None:
        for topic, queue in list(self._topics.items()):
            message = await queue.get(job_id)
            if message is not None:
                job, due_s = _job(topic, message)
                waits = due_s * _MS_PER_S > self._clock.now_ms()
                return Job(id=job.id, topic=topic, delay_s=due_s if waits else 0, ttr_s=job.ttr_s, body=job.body)
        return None

    async def _delivered(
        self, queue: HardenedQueue, topic: str, delivery: Delivery, wanted: Callable[[], bool]
    ) -> Job | None:
        if not wanted():
            await queue.give_back(delivery)
            self._on_ready(topic)
            return None
        job, _ = _job(topic, delivery.message)
        if job.ttr_s <= 0:
            return job if await queue.ack(delivery) else None
        self._held.pop(job.id, None)
        self._held[job.id] = queue, delivery
        self._forget_ended()
        return job

    def _forget_ended(self) -> None:
        """Some at a time, who have been held longest first; an ack of them would be refused."""
        now_ms = self._clock.now_ms()
        for job_id, (queue, delivery) in list(islice(self._held.items(), _LOOKED_AT)):
            del self._held[job_id]
            if delivery.lease_end_ms >= now_ms:
                self._held[job_id] = queue, delivery

    async def _known(self, topic: str) -> HardenedQueue | None:
        if topic in self._topics:
            return self._topics[topic]
        now_s = asyncio.get_running_loop().time()
        if now_s - self._looked_s >= LOOK_FOR_TOPICS_S:
            self._looked_s = now_s
            await self._look_for_topics()
        return self._topics.get(topic)

    async def _look_for_topics(self) -> None:
        (names,) = await read(self._connection, [("SMEMBERS", self._names)])
        for name in sorted(names):
            await self._make(name.decode())

    @property
    def _names(self) -> str:
        return f"{self._prefix}:topics"

    async def _made(self, topic: str) -> HardenedQueue:
        if topic not in self._topics:
            if len(self._topics) >= self._topics_max:
                raise Refused(f"job.topic must be one of the {self._topics_max} topics that there are, got {topic!r}")
            await self._connection.execute(("SADD", self._names, topic))
            await self._make(topic)
        return self._topics[topic]

    async def _make(self, topic: str) -> None:
        async with self._making:
            if topic not in self._topics:
                parts = self._parts()
                queue, context = HardenedQueue(topic, **parts), HardenedContext.of(topic, **parts)
                keeper = HardenedDispatcher(f"gmq {topic}", {topic: context})
                queue.server.start()
                await keeper.start()
                self._keepers.append(keeper)
                self._topics[topic] = queue

    def _parts(self) -> dict[str, Any]:
        settings = HardenedSettings(
            prefix=self._prefix,
            shards=(SHARD,),
            shard=SHARD,
            instance=f"{self._instance}-{len(self._topics)}",
            keeper_interval_ms=KEEPER_MS,
            payloads_compared=True,
        )
        return {
            "runtime": self._runtime,
            "clock": self._clock,
            "quorum": self._connection,
            "safe": self._connection,
            "local": self._connection,
            "zones": {SHARD: self._connection},
            "settings": settings,
        }


def _payload(job: Job, now_ms: int) -> str:
    """All of the job, since a queue of messages keeps a text alone."""
    due_s = -(-now_ms // _MS_PER_S) + max(0, job.delay_s)
    return json.dumps({"delay": job.delay_s, "TTR": job.ttr_s, "due": due_s, "body": job.body})


def _job(topic: str, message: Message) -> tuple[Job, int]:
    """The job, and the second when it was due."""
    value = json.loads(message.payload)
    job = Job(id=message.id, topic=topic, delay_s=value["delay"], ttr_s=value["TTR"], body=value["body"])
    return job, value["due"]
