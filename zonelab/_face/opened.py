"""A queue or topic as one program has it open: what delay queues and ordered ones have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from zonelab._face.host import SharedQueue
from zonelab.cluster.zone import ClusterError
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.message import Message, Receipt
from zonelab.engine.queue import Queue

if TYPE_CHECKING:
    from zonelab._face.recording import RecordedQueue  # loads pyarrow


class Opened(Startable):
    """``shared`` as one program in ``zone`` uses it, from ``start`` to ``close``."""

    _noun: ClassVar[str]

    def __init__(self, shared: SharedQueue, zone: str) -> None:
        self._shared = shared
        self._zone = zone
        self._queue: Queue | None = None
        self._recorded: RecordedQueue | None = None

    @property
    def name(self) -> str:
        return self._shared.name

    @property
    def zone(self) -> str:
        """The zone through whose coordinator the program talks, and whose shard it serves if there are shards."""
        return self._zone

    async def start(self) -> None:
        """Open it: begin what its engine does in the background, such as looking for ended leases."""
        if self._queue is None:
            self._shared.users.append(self)
            await self._shared.start()
            self._queue = await self._instance()
            if self._shared.recording is not None:
                self._recorded = self._shared.recording.of(self._queue, self._shared.process(self._zone), self._zone)

    async def close(self) -> None:
        """Stop what works in the background. Messages and leases stay as they are."""
        queue, self._queue = self._queue, None
        if queue is not None:
            self._shared.users.remove(self)
            await queue.close()

    async def push(self, messages: Message | Sequence[Message]) -> list[Receipt]:
        """Put one message, or several in their order, into the queue.

        Returns a receipt for each, with its shard or partition and when it is due (Unix time, ms).
        """
        queue = self._open()
        told = [messages] if isinstance(messages, Message) else list(messages)
        return await self._recorded.push(told) if self._recorded else list(await queue.push(told))

    @abstractmethod
    async def _instance(self) -> Queue:
        """Return the engine's object for this program."""

    def _open(self) -> Queue:
        if self._queue is None:
            raise ClusterError(f"{self._noun} {self.name!r} is not open: use it within its `with` block")
        return self._queue
