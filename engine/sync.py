"""A blocking façade of the queues, for programs without an event loop of their own."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.queue import ExtendableQueue, RepairableQueue

P = ParamSpec("P")
T = TypeVar("T")
Size_co = TypeVar("Size_co", covariant=True)
Unacks_co = TypeVar("Unacks_co", covariant=True)


class CoroutineRunner(Protocol):
    """Runs a coroutine to its end and returns its result or raises what it raised.

    Every call must use the event loop to which the queue's connections belong; whether that runs in a background
    thread or only during the call is the caller's choice, but the unack handler works only while it runs.
    """

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


class AsyncQueue(ExtendableQueue, RepairableQueue, Protocol[Size_co, Unacks_co]):
    """A delay queue of shards with leases, for instance ``zonelab.engine.dyno.DynoQueue``: more than a program has to
    have.
    """

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
    async def start(self) -> None:
        """Begin what works in the background."""

    async def close(self) -> None:
        """Stop what works in the background. Leases and messages stay as they are."""


class AsyncDynoQueue(AsyncQueue[Size_co, Unacks_co], Protocol[Size_co, Unacks_co]):
    """``AsyncQueue`` with the further operations of ``zonelab.engine.dyno.DynoQueue``."""

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


class Facade:
    """Calls operations of ``queue`` as ordinary functions, each executed by ``run``."""

    def __init__(self, queue: Any, run: CoroutineRunner) -> None:
        self._queue = queue
        self._run = run


def blocking(
    operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Facade, P], T]:
    """The operation of this name and these parameters, as an ordinary call."""

    @wraps(operation)
    def call(self: Facade, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._run(getattr(self._queue, operation.__name__)(*args, **kwargs))
        return result

    return call


class StartableFacade(Facade):
    """``Facade`` of what is started and closed: by calls of the same names, or by a ``with`` block."""

    start = blocking(AsyncQueue.start)
    close = blocking(AsyncQueue.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockingQueue(StartableFacade, Generic[Size_co, Unacks_co]):
    """The operations of ``queue`` as ordinary calls, each executed by ``run``.

    Meaning, results and errors are those of the queue. As a context manager it starts and closes the queue.
    """

    def __init__(self, queue: AsyncQueue[Size_co, Unacks_co], run: CoroutineRunner) -> None:
        super().__init__(queue, run)
        self._typed = queue

    @property
    def name(self) -> str:
        return self._typed.name

    push = blocking(AsyncQueue.push)
    pop = blocking(AsyncQueue.pop)
    ack = blocking(AsyncQueue.ack)
    ack_all = blocking(AsyncQueue.ack_all)
    peek = blocking(AsyncQueue.peek)
    get = blocking(AsyncQueue.get)
    set_unack_timeout = blocking(AsyncQueue.set_unack_timeout)
    set_timeout = blocking(AsyncQueue.set_timeout)
    remove = blocking(AsyncQueue.remove)
    ensure = blocking(AsyncQueue.ensure)
    size = blocking(AsyncQueue.size)
    clear = blocking(AsyncQueue.clear)

    def shard_sizes(self) -> Mapping[str, Size_co]:
        return self._run(self._typed.shard_sizes())

    def process_unacks(self) -> Unacks_co:
        return self._run(self._typed.process_unacks())


class BlockingDynoQueue(BlockingQueue[Size_co, Unacks_co]):
    """``BlockingQueue`` with the further operations of ``zonelab.engine.dyno.DynoQueue``."""

    def __init__(self, queue: AsyncDynoQueue[Size_co, Unacks_co], run: CoroutineRunner) -> None:
        super().__init__(queue, run)
        self._dyno = queue

    bulk_pop = blocking(AsyncDynoQueue.bulk_pop)
    unsafe_pop_all_shards = blocking(AsyncDynoQueue.unsafe_pop_all_shards)
    unsafe_bulk_pop = blocking(AsyncDynoQueue.unsafe_bulk_pop)
    pop_with_id = blocking(AsyncDynoQueue.pop_with_id)
    unsafe_pop_with_id_all_shards = blocking(AsyncDynoQueue.unsafe_pop_with_id_all_shards)
    pop_msg_with_predicate = blocking(AsyncDynoQueue.pop_msg_with_predicate)
    unsafe_peek_all_shards = blocking(AsyncDynoQueue.unsafe_peek_all_shards)
    local_get = blocking(AsyncDynoQueue.local_get)
    get_all_messages = blocking(AsyncDynoQueue.get_all_messages)
    get_msg_with_predicate = blocking(AsyncDynoQueue.get_msg_with_predicate)
    contains_predicate = blocking(AsyncDynoQueue.contains_predicate)
    find_stale_messages = blocking(AsyncDynoQueue.find_stale_messages)
    atomic_remove = blocking(AsyncDynoQueue.atomic_remove)

    def atomic_process_unacks(self) -> Unacks_co:
        return self._run(self._dyno.atomic_process_unacks())
