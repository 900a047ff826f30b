"""SAQ under test, its worker class whole: a message is a job, whose function ends when its delivery is acknowledged.

PYTHONPATH=tests zonelab hunt consumer-crash --queue support.own_queues.on_saq:SaqUnderTest --set 'topology.zones=[a]'
    --set load.delay=constant:0ms
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from saq import Worker
from saq.job import Status
from saq.queue.redis import RedisQueue

from zonelab.cluster.testbed import Testbed
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.scenarios.queues.end_state import state_row
from zonelab.scenarios.queues.under_test import Depth, Wrap
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.testing import asyncio_program, client

HERE = "support.own_queues.on_saq"
ZONE = "a"
CONCURRENCY = 2


class SaqProgram:
    """A process with a queue, and with a worker once it has been started."""

    def __init__(self, testbed: Testbed, zone: str, wrap: Wrap, scenario: Scenario, kind: type[RedisQueue]) -> None:
        self.program = asyncio_program(testbed, zone, packages=("saq", "croniter"))
        self.queue = kind(client(testbed, zone, level=scenario.setting, wrap=wrap))
        self.clock = testbed.clock(zone)
        self.lease_s = scenario.queue.unack_ms // 1000
        self.handed: asyncio.Queue[tuple[Delivery, asyncio.Future[None]]] = asyncio.Queue()
        self.acks: dict[str, asyncio.Future[None]] = {}
        self.ends: dict[str, asyncio.Future[bool]] = {}

    async def start(self) -> None:
        self.program.start(self._work())

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        return await self.program.run(self._push(messages))

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Delivery]:
        return await self.program.run(self._pop(wait_ms / 1000))

    async def ack(self, delivery: Delivery, /) -> bool:
        return await self.program.run(self._ack(delivery.message.id))

    async def close(self) -> None:
        self.program.send_signal()

    async def _work(self) -> None:
        timers: Any = {"sweep": 1, "abort": 1, "schedule": 1}
        functions = [("job", self._job)]
        await Worker(
            self.queue, functions=functions, concurrency=CONCURRENCY, timers=timers, after_process=self._ended
        ).start()

    async def _job(self, context: Any) -> None:
        job = context["job"]
        acked = self.acks[job.key] = asyncio.get_running_loop().create_future()
        self.ends[job.key] = asyncio.get_running_loop().create_future()
        times = {"leased_ms": self.clock.now_ms(), "lease_end_ms": job.started + 1000 * self.lease_s}
        delivery = Delivery(message=Message(id=job.key), shard=ZONE, lease_start_ms=job.started, **times)
        self.handed.put_nowait((delivery, acked))
        await acked

    async def _ended(self, context: Any) -> None:
        job = context["job"]
        ended = self.ends.pop(job.key, None)
        if ended is not None and not ended.done():
            ended.set_result(job.status == Status.COMPLETE)

    async def _push(self, messages: Sequence[Message]) -> list[Receipt]:
        for message in messages:
            await self.queue.enqueue("job", key=message.id, timeout=self.lease_s, retries=1000)
        now_ms = self.clock.now_ms()
        return [Receipt(id=message.id, shard=ZONE, due_ms=now_ms) for message in messages]

    async def _pop(self, wait_s: float) -> list[Delivery]:
        """Hand out no job whose time was over before a consumer asked for it."""
        try:
            async with asyncio.timeout(wait_s):
                while True:
                    delivery, acked = await self.handed.get()
                    if not acked.done():
                        return [delivery]
        except TimeoutError:
            return []

    async def _ack(self, message_id: str) -> bool:
        acked, ended = self.acks.pop(message_id, None), self.ends.get(message_id)
        if acked is None or ended is None or acked.done():
            return False
        acked.set_result(None)
        return await ended


class SaqUnderTest:
    """The queue in a run."""

    queue_class: ClassVar[type[RedisQueue]] = RedisQueue

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario = testbed, scenario
        self.shards = {ZONE: ZONE}

    async def producer(self, zone: str, wrap: Wrap) -> SaqProgram:
        return SaqProgram(self._testbed, zone, wrap, self._scenario, self.queue_class)

    async def consumer(self, zone: str, wrap: Wrap) -> SaqProgram:
        program = await self.producer(zone, wrap)
        await program.start()
        return program

    async def ids(self) -> list[str]:
        """The jobs that are not complete, wherever they are listed: one that a sweep aborts is listed nowhere."""
        direct = self._testbed.direct(ZONE)
        (keys,) = await direct.execute(("KEYS", "saq:job:default:*"))
        if not isinstance(keys, list) or not keys:
            return []
        (jobs,) = await direct.execute(("MGET", *keys))
        assert isinstance(jobs, list)
        found = zip(keys, jobs, strict=True)
        return [
            key.decode().rpartition(":")[2] for key, job in found if job and json.loads(job)["status"] != "complete"
        ]

    async def depth(self, shard: str) -> Depth:
        return Depth(len(await self.ids()), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, object]]:
        for message_id in await self.ids():
            yield state_row(zone, "queue", message_id, shard=ZONE, serving=True)


class ForgetsWhatItTook(RedisQueue):
    """Takes a job's id from its list for good, so that nobody sweeps the jobs of a dead worker."""

    async def dequeue(self, timeout: float = 0.0, poll_interval: float = 0.0) -> Any:
        found = await self.redis.blpop(self.namespace("queued"), timeout)
        return None if found is None else await self.job(self.job_key_from_id(found[1].decode()))


class ForgetsWhatItTookUnderTest(SaqUnderTest):
    queue_class = ForgetsWhatItTook
