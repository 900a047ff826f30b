"""Any engine of ``zonelab.scenarios.spec.engines`` as the queue under test, by its adapter."""

from collections.abc import Sequence
from typing import ClassVar

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.lifecycle import Startable, close_all
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.under_test import QueueUnderTest, RunsServices, Wrap
from zonelab.scenarios.spec.engines import ENGINES, queue_settings, shipped
from zonelab.scenarios.spec.scenario import Load, Scenario
from zonelab.scenarios.spec.topology import TopologySection
from zonelab.studies.properties.machine import QueueMachine


class EngineMachine(QueueMachine):
    """``engine`` and ``mode`` (default, compat or hardened) are of the catalogue.

    Its services run beside the programs and are not interrupted. They leave no moment at rest, so the drain alone
    judges whether everything is kept; it waits for leases that a hardened program extends while it stands idle.
    Raises ``ValueError`` for an engine whose messages are handed to listeners instead of popped.
    """

    engine: ClassVar[str] = "dyno"
    mode: ClassVar[str] = "default"
    drain_ms: ClassVar[int] = 1_600_000

    def __init__(self) -> None:
        super().__init__()
        compat = self.mode == "compat"
        mode = "default" if compat else self.mode
        queue = queue_settings(self.engine, unack_ms=self.lease_ms, compat=compat, mode=mode)
        promised = shipped(queue).features
        if promised.order:
            popped = [
                name for name, one in ENGINES.items() if not all(mode.features.order for mode in one.modes.values())
            ]
            raise ValueError(
                f"EngineMachine.engine: got {self.engine!r}, whose messages are handed to listeners; accepted: "
                f"{', '.join(popped)}"
            )
        self._scenario = Scenario(
            name=f"{self.engine}-{self.mode}",
            level=self.level,
            topology=TopologySection(zones=self.zones),
            queue=queue,
            load=Load(duration_s=1),
        )
        self.early_tolerance_ms, self.leases = promised.early_ms_max, promised.leases  # type: ignore[misc]
        self._services: list[Startable] = []

    async def begin(self, testbed: Testbed) -> None:
        self._under_test = queue_under_test(testbed, self._scenario)
        if isinstance(self._under_test, RunsServices):
            for name, zone in self._scenario.services:
                self._services.append(await self._under_test.service(name, zone, lambda connection: connection))
                await self._services[-1].start()
        await testbed.runtime.sleep(1)  # or an example that ends at once closes tasks that never began

    async def end(self) -> None:
        await close_all(self._services)

    def program(self, testbed: Testbed, zone: str, wrap: Wrap) -> Queue:
        return _ProgramQueue(self._under_test, zone, wrap)

    def home(self, shard: str) -> str | None:
        return self._under_test.shards.get(shard)


class _ProgramQueue:
    """One program's, which its first operation opens."""

    def __init__(self, under_test: QueueUnderTest, zone: str, wrap: Wrap) -> None:
        self._under_test, self._zone, self._wrap = under_test, zone, wrap
        self._opened: Queue | None = None

    async def start(self) -> None:
        """Its first operation does."""

    async def push(self, messages: Sequence[Message], /) -> Sequence[Receipt]:
        return await (await self._queue()).push(messages)

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        return await (await self._queue()).pop(count, wait_ms=wait_ms)

    async def ack(self, delivery: Delivery, /) -> bool:
        return await (await self._queue()).ack(delivery)

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _queue(self) -> Queue:
        if self._opened is None:
            self._opened = await self._under_test.consumer(self._zone, self._wrap)
        return self._opened
