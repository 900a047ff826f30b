"""Opened queues and topics: operations that delay queues and ordered ones have in common."""

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


class OpenedQueue(Startable):
    """Handle of one program in ``zone`` on the queue ``shared``, open from ``start`` to ``close``."""

    _noun: ClassVar[str]

    def __init__(self, shared: SharedQueue, zone: str) -> None:
        self._shared = shared
        self._zone = zone
        self._queue: Queue | None = None
        self._recorded: RecordedQueue | None = None

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self._shared.name

    @property
    def zone(self) -> str:
        """The zone through whose coordinator the program talks, and whose shard it serves if there are shards."""
        return self._zone

    async def start(self) -> None:
        """Open the queue: begin its engine's work in the background, such as the search for ended leases.

        Does nothing if the queue is open; a ``with`` block calls it at its begin.

        Raises:
            ClusterError: if the servers do not answer.

        Example::

            await queue.close()
            await queue.start()
        """
        if self._queue is None:
            self._shared.users.append(self)
            await self._shared.start()
            self._queue = await self._instance()
            if self._shared.recording is not None:
                self._recorded = self._shared.recording.of(self._queue, self._shared.process(self._zone), self._zone)

    async def close(self) -> None:
        """Stop the engine's work in the background. Messages and leases stay as they are.

        Does nothing if the queue is not open; a ``with`` block calls it at its end.

        Example::

            await queue.close()
        """
        queue, self._queue = self._queue, None
        if queue is not None:
            self._shared.users.remove(self)
            await queue.close()

    async def push(self, messages: Message | Sequence[Message]) -> list[Receipt]:
        """Put messages into the queue.

        Args:
            messages: one message, or several in order. The caller chooses the ids, and repeats a push that may have
                failed under the same id.

        Returns:
            A receipt for each message, in their order: its shard or partition, and when it is due (Unix time, ms).

        Raises:
            Unavailable: if none of them is in the queue.
            Indeterminate: if some of them may be in the queue; no receipts are returned, even for those that are.
            ServerError: if a server refused, as one that is out of memory does.
            ClusterError: if the queue is not open.

        Example::

            receipts = await queue.push([Message(id="1", payload="hello"), Message(id="2")])
            print([receipt.id for receipt in receipts])  # ['1', '2']
        """
        queue = self._open()
        listed = [messages] if isinstance(messages, Message) else list(messages)
        return await self._recorded.push(listed) if self._recorded else list(await queue.push(listed))

    @abstractmethod
    async def _instance(self) -> Queue:
        """Return the engine's object for this program."""

    def _open(self) -> Queue:
        if self._queue is None:
            raise ClusterError(f"{self._noun} {self.name!r} is not open: use it within its `with` block")
        return self._queue
