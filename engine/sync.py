"""A blocking façade of the queues, for programs without an event loop of their own."""

from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from engine.message import Delivery, Message, Receipt

T = TypeVar("T")
Size_co = TypeVar("Size_co", covariant=True)
Unacks_co = TypeVar("Unacks_co", covariant=True)


class Run(Protocol):
    """Runs a coroutine to its end and returns its result or raises what it raised.

    Every call must use the event loop to which the queue's connections belong; whether that runs in a background
    thread or only during the call is the caller's choice, but the unack handler works only while it runs.
    """

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


class AsyncQueue(Protocol[Size_co, Unacks_co]):
    """A delay queue of shards with leases, for instance ``engine.dyno.DynoQueue``."""

    @property
    def name(self) -> str: ...
    async def push(self, messages: Sequence[Message]) -> list[Receipt]: ...
    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]: ...
    async def ack(self, message_id: str) -> bool: ...
    async def ack_all(self, message_ids: Sequence[str]) -> list[bool]: ...
    async def peek(self, count: int) -> list[Message]: ...
    async def get(self, message_id: str) -> Message | None: ...
    async def set_unack_timeout(self, message_id: str, *, timeout_ms: int) -> bool: ...
    async def set_timeout(self, message_id: str, *, timeout_ms: int) -> bool: ...
    async def remove(self, message_id: str) -> bool: ...
    async def ensure(self, message: Message) -> bool: ...
    async def size(self) -> int: ...
    async def shard_sizes(self) -> Mapping[str, Size_co]: ...
    async def clear(self) -> None: ...
    async def process_unacks(self) -> Unacks_co: ...
    async def start(self) -> None: ...
    async def close(self) -> None: ...


class AsyncDynoQueue(AsyncQueue[Size_co, Unacks_co], Protocol[Size_co, Unacks_co]):
    """What ``engine.dyno.DynoQueue`` has beyond that."""

    async def bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]: ...
    async def unsafe_pop_all_shards(self, count: int, *, wait_ms: int = 0) -> list[Delivery]: ...
    async def unsafe_bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]: ...
    async def pop_with_id(self, message_id: str) -> Delivery | None: ...
    async def unsafe_pop_with_id_all_shards(self, message_id: str) -> Delivery | None: ...
    async def pop_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> Delivery | None: ...
    async def unsafe_peek_all_shards(self, count: int) -> list[Message]: ...
    async def local_get(self, message_id: str) -> Message | None: ...
    async def get_all_messages(self) -> list[Message]: ...
    async def get_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> str | None: ...
    async def contains_predicate(self, pattern: str, *, own_shard_only: bool = False) -> bool: ...
    async def find_stale_messages(self) -> list[Message]: ...
    async def atomic_remove(self, message_id: str) -> bool: ...
    async def atomic_process_unacks(self) -> Unacks_co: ...


class BlockingQueue(Generic[Size_co, Unacks_co]):
    """The operations of ``queue`` as ordinary calls, each executed by ``run``.

    Meaning, results and errors are those of the queue. As a context manager it starts and closes the queue.
    """

    def __init__(self, queue: AsyncQueue[Size_co, Unacks_co], run: Run) -> None:
        self._queue = queue
        self._run = run

    @property
    def name(self) -> str:
        return self._queue.name

    def push(self, messages: Sequence[Message]) -> list[Receipt]:
        return self._run(self._queue.push(messages))

    def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        return self._run(self._queue.pop(count, wait_ms=wait_ms))

    def ack(self, message_id: str) -> bool:
        return self._run(self._queue.ack(message_id))

    def ack_all(self, message_ids: Sequence[str]) -> list[bool]:
        return self._run(self._queue.ack_all(message_ids))

    def peek(self, count: int) -> list[Message]:
        return self._run(self._queue.peek(count))

    def get(self, message_id: str) -> Message | None:
        return self._run(self._queue.get(message_id))

    def set_unack_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        return self._run(self._queue.set_unack_timeout(message_id, timeout_ms=timeout_ms))

    def set_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        return self._run(self._queue.set_timeout(message_id, timeout_ms=timeout_ms))

    def remove(self, message_id: str) -> bool:
        return self._run(self._queue.remove(message_id))

    def ensure(self, message: Message) -> bool:
        return self._run(self._queue.ensure(message))

    def size(self) -> int:
        return self._run(self._queue.size())

    def shard_sizes(self) -> Mapping[str, Size_co]:
        return self._run(self._queue.shard_sizes())

    def clear(self) -> None:
        self._run(self._queue.clear())

    def process_unacks(self) -> Unacks_co:
        return self._run(self._queue.process_unacks())

    def start(self) -> None:
        self._run(self._queue.start())

    def close(self) -> None:
        self._run(self._queue.close())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockingDynoQueue(BlockingQueue[Size_co, Unacks_co]):
    """``BlockingQueue`` with the further operations of ``engine.dyno.DynoQueue``."""

    def __init__(self, queue: AsyncDynoQueue[Size_co, Unacks_co], run: Run) -> None:
        super().__init__(queue, run)
        self._dyno = queue

    def bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        return self._run(self._dyno.bulk_pop(count, wait_ms=wait_ms))

    def unsafe_pop_all_shards(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        return self._run(self._dyno.unsafe_pop_all_shards(count, wait_ms=wait_ms))

    def unsafe_bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        return self._run(self._dyno.unsafe_bulk_pop(count, wait_ms=wait_ms))

    def pop_with_id(self, message_id: str) -> Delivery | None:
        return self._run(self._dyno.pop_with_id(message_id))

    def unsafe_pop_with_id_all_shards(self, message_id: str) -> Delivery | None:
        return self._run(self._dyno.unsafe_pop_with_id_all_shards(message_id))

    def pop_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> Delivery | None:
        return self._run(self._dyno.pop_msg_with_predicate(pattern, own_shard_only=own_shard_only))

    def unsafe_peek_all_shards(self, count: int) -> list[Message]:
        return self._run(self._dyno.unsafe_peek_all_shards(count))

    def local_get(self, message_id: str) -> Message | None:
        return self._run(self._dyno.local_get(message_id))

    def get_all_messages(self) -> list[Message]:
        return self._run(self._dyno.get_all_messages())

    def get_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> str | None:
        return self._run(self._dyno.get_msg_with_predicate(pattern, own_shard_only=own_shard_only))

    def contains_predicate(self, pattern: str, *, own_shard_only: bool = False) -> bool:
        return self._run(self._dyno.contains_predicate(pattern, own_shard_only=own_shard_only))

    def find_stale_messages(self) -> list[Message]:
        return self._run(self._dyno.find_stale_messages())

    def atomic_remove(self, message_id: str) -> bool:
        return self._run(self._dyno.atomic_remove(message_id))

    def atomic_process_unacks(self) -> Unacks_co:
        return self._run(self._dyno.atomic_process_unacks())
