"""What a run needs of a queue, whatever its engine: instances for producers and consumers, depths and end states."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.ports import Connection
from engine.queue import ConsumerQueue, ProducerQueue

Wrap = Callable[[Connection], Connection]


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages a shard lists: waiting or delayed, and leased."""

    waiting: int
    leased: int

    @property
    def empty(self) -> bool:
        return self.waiting == 0 and self.leased == 0


class QueueUnderTest(Protocol):
    """One queue on one testbed."""

    @property
    def shards(self) -> Mapping[str, str]:
        """Shard → the zone whose consumers serve it."""

    async def producer(self, zone: str, wrap: Wrap) -> ProducerQueue: ...
    async def consumer(self, zone: str, wrap: Wrap) -> ConsumerQueue:
        """A queue instance of its own, as a program of its own would have; all its commands pass through ``wrap``."""

    async def depth(self, shard: str) -> Depth:
        """As the server of the serving zone has it. Raises ``PortError`` if it does not answer."""

    def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``analysis.runs.history.FINAL_STATE`` as the server of ``zone`` has them. Raises ``PortError``."""
