"""Several pipelined queues, one a shard, behind one queue.

Source: https://github.com/Netflix/dyno-queues, ``v2/MultiRedisQueue``. docs/dyno-v2.md lists where the default departs
from it and why.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from zonelab.engine.common.failures import COMMAND_FAILURES, operation
from zonelab.engine.common.lifecycle import Startable, close_all
from zonelab.engine.dyno.errors import (
    BatchAckFailure,
    BatchPushFailure,
    BatchPushUnavailable,
    UnsupportedOperation,
    batch_ack_failure,
    batch_push_failure,
)
from zonelab.engine.dyno.results import ShardSize, UnackResult
from zonelab.engine.dyno.sharding import RoundRobin, ShardingStrategy, chosen_shard
from zonelab.engine.dyno.v2.queue import PipelinedQueue
from zonelab.engine.dyno.v2.unsupported import Unsupported
from zonelab.engine.message import Delivery, Message, Receipt, id_of


class MultiQueue(Startable, Unsupported):
    """Pushes to every shard of ``queues``, pops from ``shard`` alone, and looks for a message in all of them.

    ``strategy`` chooses the shard of each message; the default, in turn, passes over a shard that certainly took
    nothing. The unack handler looks after ``shard`` only. With ``compat``, as in the original, a push is cut into equal
    parts that go to the shards in turn, whatever ``strategy`` says, and every instance requeues for all the shards.

    Raises ``ValueError`` if ``shard`` is none of ``queues``, or if they do not agree on ``compat``.
    """

    def __init__(
        self,
        name: str,
        *,
        shard: str,
        queues: Mapping[str, PipelinedQueue],
        strategy: ShardingStrategy | None = None,
    ) -> None:
        if shard not in queues:
            raise ValueError(f"shard must be one of {', '.join(queues)}, got {shard!r}")
        modes = [queue.settings.compat for queue in queues.values()]
        if any(mode is not modes[0] for mode in modes):
            raise ValueError(f"the queues must agree on compat, got {dict(zip(queues, modes, strict=True))}")
        self.name = name
        self.shard = shard
        self.queues = dict(queues)
        self.compat = modes[0]
        self._shards = tuple(queues)
        self._own = queues[shard]
        self._strategy = RoundRobin() if strategy is None else strategy
        self._turn = 0

    @property
    def unack_ms(self) -> int:
        return self._own.settings.unack_ms

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Put ``messages`` into the shards, one pipeline for each shard that gets some; receipts in their order.

        The shards are served one after the other. Raises ``BatchPushFailure`` with the receipts so far; messages of
        the shards after it were not tried. A message that is pushed again may land in another shard, where it is
        another message, unless the strategy goes by its id. A strategy that chooses no shard of this queue raises
        ``ValueError`` before anything is pushed.
        """
        parts = self._parts_in_turn(messages) if self.compat else self._parts_of_strategy(messages)
        receipts: dict[int, Receipt] = {}
        for shard, positions in parts:
            part = [messages[position] for position in positions]
            try:
                receipts |= zip(positions, await self._push_part(shard, part), strict=True)
            except BatchPushFailure as failure:
                pushed = tuple(receipts[position] for position in sorted(receipts))
                raise _after(pushed, failure) from failure.__cause__
        return [receipts[position] for position in sorted(receipts)]

    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Pop from the own shard; see ``PipelinedQueue.pop``."""
        return await self._own.pop(count, wait_ms=wait_ms)

    async def peek(self, count: int) -> list[Message]:
        """Peek at the own shard; see ``PipelinedQueue.peek``."""
        return await self._own.peek(count)

    async def ack(self, message_id: str | Delivery) -> bool:
        """Delete a leased message, in the first shard that has a lease on it. False if none has."""
        return await self._first(lambda queue: queue.ack(id_of(message_id)))

    async def ack_all(self, message_ids: Sequence[str]) -> list[bool]:
        """``ack`` for a batch, two pipelines a shard, until every id is found. Raises ``BatchAckFailure``."""
        return await self._ack_anywhere(message_ids, before=())

    async def ack_messages(self, messages: Sequence[Message]) -> list[bool]:
        """``ack`` for delivered messages, whose ``shard`` says where they are: two pipelines for each shard of them.

        A message without a shard of this queue is searched for; with ``compat`` it raises ``ValueError``.
        """
        by_shard: dict[str, dict[str, None]] = {}
        homeless: list[str] = []
        for message in messages:
            if message.shard in self.queues:
                by_shard.setdefault(str(message.shard), {})[message.id] = None
            elif self.compat:
                raise ValueError(f"shard must be one of {', '.join(self._shards)}, got {message.shard!r}")
            else:
                homeless.append(message.id)
        found: dict[str, dict[str, bool]] = {}
        before: list[str] = []
        for shard, ids in by_shard.items():
            found[shard] = dict(zip(ids, await _ack_after(before, self.queues[shard], list(ids)), strict=True))
            before += _acked(found[shard])
        searched = dict(zip(homeless, await self._ack_anywhere(homeless, before=before), strict=True))
        return [found.get(str(each.shard), searched)[each.id] for each in messages]

    async def set_unack_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Do ``PipelinedQueue.set_unack_timeout`` in the first shard that has a lease on the message."""
        return await self._first(lambda queue: queue.set_unack_timeout(message_id, timeout_ms=timeout_ms))

    async def set_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Do ``PipelinedQueue.set_timeout`` in the first shard where the message waits."""
        return await self._first(lambda queue: queue.set_timeout(message_id, timeout_ms=timeout_ms))

    async def remove(self, message_id: str) -> bool:
        """Take ``message_id`` out of every shard; with ``compat`` only as far as the first one that says true."""
        if self.compat:
            return await self._first(lambda queue: queue.remove(message_id))
        with operation(f"remove of {message_id!r}") as effects:
            for queue in self.queues.values():
                effects.count += await queue.remove(message_id)
        return effects.count > 0

    async def get(self, message_id: str) -> Message | None:
        """The stored message, of the first shard that has it."""
        for queue in self._search():
            message = await queue.get(message_id)
            if message is not None:
                return message
        return None

    async def ensure(self, message: Message) -> bool:
        """Push ``message`` unless its id is waiting or leased in some shard. True if it was pushed.

        Raises ``UnsupportedOperation`` with ``compat``.
        """
        if self.compat:
            raise UnsupportedOperation("ensure does not exist in the multi-shard queue of the original")
        if await self._first(lambda queue: queue.lists(message.id)):
            return False
        await self.push([message])
        return True

    async def size(self) -> int:
        """Messages waiting or delayed in all shards; leased ones are not counted."""
        return sum([await queue.size() for queue in self.queues.values()])

    async def shard_sizes(self) -> dict[str, ShardSize]:
        sizes: dict[str, ShardSize] = {}
        for queue in self.queues.values():
            sizes |= await queue.shard_sizes()
        return sizes

    async def clear(self) -> None:
        """Delete every key of every shard."""
        with operation(f"clear of {self.name!r}") as effects:
            for queue in self.queues.values():
                await queue.clear()
                effects.count += 1

    async def process_unacks(self) -> UnackResult:
        """Bring back messages whose lease has ended: those of the own shard, with ``compat`` of all."""
        results = [await queue.process_unacks() for queue in self._looked_after()]
        return UnackResult(
            requeued=sum(result.requeued for result in results),
            stale=sum(result.stale for result in results),
            queue_depth=sum(result.queue_depth for result in results),
        )

    async def start(self) -> None:
        """Run the unack handler of the own shard, with ``compat`` those of all shards."""
        for queue in self._looked_after():
            await queue.start()

    async def close(self) -> None:
        """Stop the unack handlers. Leases and messages stay as they are."""
        await close_all(self.queues.values())

    async def _first(self, ask: Callable[[PipelinedQueue], Awaitable[bool]]) -> bool:
        """Return whether ``ask`` is true for some shard; the shards after it are not asked."""
        for queue in self._search():
            if await ask(queue):
                return True
        return False

    async def _ack_anywhere(self, message_ids: Sequence[str], *, before: Sequence[str]) -> list[bool]:
        """Shard after shard, as long as an id is left. ``before``: ids that the same call has acknowledged."""
        acked: dict[str, bool] = dict.fromkeys(message_ids, False)
        for queue in self._search():
            left = [each for each, done in acked.items() if not done]
            if not left:
                break
            acked |= zip(left, await _ack_after([*before, *_acked(acked)], queue, left), strict=True)
        return [acked[each] for each in message_ids]

    def _search(self) -> Sequence[PipelinedQueue]:
        """The shards in the order in which a message is looked for: the own first, since pops are served from there."""
        queues = list(self.queues.values())
        return queues if self.compat else [self._own, *(queue for queue in queues if queue is not self._own)]

    def _looked_after(self) -> Sequence[PipelinedQueue]:
        """With every instance of every zone at every shard, handlers race and deliver twice (docs/dyno-v2.md)."""
        return list(self.queues.values()) if self.compat else [self._own]

    def _parts_of_strategy(self, messages: Sequence[Message]) -> Iterable[tuple[str, list[int]]]:
        """Shards, each with the positions of its messages."""
        parts: dict[str, list[int]] = {}
        for position, message in enumerate(messages):
            parts.setdefault(chosen_shard(self._strategy, self._shards, message), []).append(position)
        return parts.items()

    def _parts_in_turn(self, messages: Sequence[Message]) -> Iterator[tuple[str, list[int]]]:
        """Equal parts for the next shards, and what is left over for the last of them; parts may be empty.

        A shard's turn is over when its part is asked for, so after a failure the next push begins elsewhere.
        """
        count = len(self._shards)
        size = len(messages) // count
        bounds = [*(number * size for number in range(count)), len(messages)]
        for span in pairwise(bounds):
            yield self._next_shard(), list(range(*span))

    def _next_shard(self) -> str:
        self._turn += 1
        if self._turn >= len(self._shards):
            self._turn = 0
        return self._shards[self._turn]

    async def _push_part(self, shard: str, part: Sequence[Message]) -> list[Receipt]:
        """Push to ``shard``, or in turn to the next one that does not certainly refuse."""
        first = self._shards.index(shard)
        alternatives = len(self._shards) - 1 if self._passes_over else 0
        for step in range(alternatives):
            with suppress(BatchPushUnavailable):
                return await self.queues[self._shards[(first + step) % len(self._shards)]].push(part)
        return await self.queues[self._shards[(first + alternatives) % len(self._shards)]].push(part)

    @property
    def _passes_over(self) -> bool:
        """Any shard is as good as another only to a strategy that takes them in turn."""
        return not self.compat and isinstance(self._strategy, RoundRobin)


def _after(pushed: tuple[Receipt, ...], failure: BatchPushFailure) -> BatchPushFailure:
    cause = failure.__cause__
    assert isinstance(cause, COMMAND_FAILURES), cause
    return batch_push_failure(cause, receipts=(*pushed, *failure.receipts), failed_ids=failure.failed_ids)


def _acked(answers: Mapping[str, bool]) -> list[str]:
    return [each for each, done in answers.items() if done]


async def _ack_after(before: Sequence[str], queue: PipelinedQueue, ids: Sequence[str]) -> list[bool]:
    """Acknowledge ``ids`` in one shard, after others; a failure reports those as well."""
    try:
        return await queue.ack_all(ids)
    except BatchAckFailure as failure:
        cause = failure.__cause__
        assert isinstance(cause, COMMAND_FAILURES), cause
        raise batch_ack_failure(cause, failed_ids=failure.failed_ids, acked_ids=tuple(before)) from cause
