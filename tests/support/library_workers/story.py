"""One story for every library: jobs, a worker in each zone, and one more that is killed amid its work."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from zonelab.testing import AsyncCluster, asyncio_program, client, cluster

Done = Callable[[int], Awaitable[None]]
"""The work of a job: it takes a while, and then it is noted."""

JOBS = 20
SETTLED_S = 60
KILLED_AFTER_S = 0.2


@dataclass(frozen=True)
class Library:
    """``work`` is a whole worker, ``producer`` makes what enqueues a job; both get a client of redis-py."""

    packages: tuple[str, ...]
    work: Callable[[Any, Done], Awaitable[None]]
    producer: Callable[[Any], Awaitable[Callable[[int], Awaitable[object]]]]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``missing``: jobs that nobody carried out; ``again``: how often one was carried out that had been before."""

    missing: tuple[int, ...]
    again: int
    trace: str


def outcome(library: Library, *, zones: tuple[str, ...], level: str, seed: int = 1) -> Outcome:
    carried_out: list[int] = []

    async def done(number: int) -> None:
        await asyncio.sleep(0.05)
        carried_out.append(number)

    async def story(lab: AsyncCluster) -> str:
        async def work(zone: str) -> None:
            await library.work(client(lab, zone, level=level), done)

        async def produce() -> None:
            enqueue = await library.producer(client(lab, zones[0], level=level))
            for number in range(JOBS):
                await enqueue(number)
                await asyncio.sleep(0.02)

        workers = [asyncio_program(lab, zone, packages=library.packages) for zone in (zones[0], *zones)]
        for worker, zone in zip(workers, (zones[0], *zones), strict=True):
            worker.start(work(zone))
        await lab.sleep(0.1)
        producer = asyncio_program(lab, zones[0], packages=library.packages)
        produced = producer.start(produce())
        await lab.sleep(KILLED_AFTER_S)
        workers[0].kill()
        await lab.sleep(SETTLED_S)
        assert produced.done()
        for worker in workers[1:]:
            worker.send_signal()
        await lab.sleep(5)
        return lab._host.testbed.runtime.trace_hash

    with cluster("sim", zones=zones, lag="uniform:1ms:5ms", seed=seed) as lab:
        trace = lab.run(story)
    missing = tuple(number for number in range(JOBS) if number not in carried_out)
    return Outcome(missing=missing, again=len(carried_out) - len(set(carried_out)), trace=trace)
