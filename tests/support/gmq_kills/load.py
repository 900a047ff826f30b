"""Producers and consumers that work until the service is gone, and what each of them knows of its jobs then."""

import asyncio
from random import Random

from support.gmq_kills.rows import Fate

from zonelab.app.gmq_service.clients import GmqClient, GmqError

PRODUCERS = CONSUMERS = 3
TOPIC = "kills"
GONE_S = 10
"""Longer than a stop: who hears its last answers takes them."""

TTRS_S = (0, 1, 1)
DELAYS_S = (0, 0, 1)


class Load:
    """``fates``: job id → what is known of it."""

    def __init__(self, seed):
        self._random = Random(seed)
        self._made = 0
        self.fates = {}

    async def work(self, port, *, gone):
        """Until ``gone`` is set, or the service is."""
        for fate in self.fates.values():
            fate.received_now = False
        begun = [*(self._produce(port) for _ in range(PRODUCERS)), *(self._consume(port) for _ in range(CONSUMERS))]
        tasks = [asyncio.create_task(one) for one in begun]
        await gone.wait()
        await asyncio.wait(tasks, timeout=GONE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drain(self, port, *, left, patience_s):
        """Take and acknowledge what there is, until nothing is ``left`` or has come for ``patience_s``."""
        loop = asyncio.get_running_loop()
        async with GmqClient(f"127.0.0.1:{port}") as client:
            last_s = loop.time()
            while loop.time() - last_s < patience_s:
                if await self._take(client, ack_share=1.0):
                    last_s = loop.time()
                elif not await left():
                    return

    async def _produce(self, port):
        async with GmqClient(f"127.0.0.1:{port}") as client:
            while True:
                job_id = f"j{self._made}"
                self._made += 1
                fate = self.fates[job_id] = Fate(self._random.choice(DELAYS_S), self._random.choice(TTRS_S))
                await client.push(job_id, topic=TOPIC, body=job_id, delay_s=fate.delay_s, ttr_s=fate.ttr_s)
                fate.confirmed = True
                await asyncio.sleep(0.002)

    async def _consume(self, port):
        async with GmqClient(f"127.0.0.1:{port}") as client:
            while True:
                await self._take(client, ack_share=0.7)

    async def _take(self, client, *, ack_share):
        job = await client.pop(TOPIC)
        if job is None:
            return False
        fate = self.fates[job.id]
        fate.received += 1
        fate.received_now = True
        if job.ttr_s > 0 and self._random.random() < ack_share:
            fate.acking = True
            try:
                fate.acked = await client.ack(job.id) or fate.acked
            except GmqError:
                return True
        return True
