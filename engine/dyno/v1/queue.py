"""The dyno-queues V1 queue: a delay queue with one shard per zone.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue``: same keys, same JSON, same commands in the same
order, one round trip each. docs/dyno-queues.md lists where the default departs from it and why.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES, operation
from zonelab.engine.common.lifecycle import BackgroundQueue
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.common.timings import MetricsSource, QueueMetrics, one, timed
from zonelab.engine.dyno.errors import ack_failure, push_failure
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.message_json import decode, encode
from zonelab.engine.dyno.results import Counters, ShardSize, UnackResult
from zonelab.engine.dyno.scores import due_score
from zonelab.engine.dyno.sharding import RoundRobin, ShardingStrategy, chosen_shard
from zonelab.engine.dyno.v1 import peek
from zonelab.engine.dyno.v1 import search as patterns
from zonelab.engine.dyno.v1.ack import Acks
from zonelab.engine.dyno.v1.commands import V1Commands
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.dyno.v1.keys import QueueKeys
from zonelab.engine.dyno.v1.lease import lease_chosen
from zonelab.engine.dyno.v1.pop import make_poppers
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.dyno.v1.unack import UnackHandler, atomic_process_unacks, process_unacks, waiting_total
from zonelab.engine.message import Delivery, Message, Receipt, id_of
from zonelab.engine.ports import Clock, Connection, Runtime


class DynoQueue(BackgroundQueue):
    """One instance of the queue ``name``, which pops from and looks after the shard ``settings.shard``.

    ``quorum`` carries the writes and the point reads, ``local`` the reads whose answer may be old: ranges, sizes,
    ``peek``, and the payload in ``set_timeout``. While it is open it runs ``process_unacks``, or its script if
    ``single_ring`` is set, every ``settings.unack_interval_ms``::

        settings = DynoSettings(prefix="shop", shards=("a", "b", "c"), shard="a", unack_ms=30_000)
        async with DynoQueue("mail", runtime=…, clock=…, quorum=…, local=…, settings=settings) as queue:
            await queue.push([Message(id="1", payload="Dear …", timeout_ms=500)])
            for delivery in await queue.pop(10, wait_ms=1_000):
                …  # what is not acknowledged within 30 s is delivered again
                await queue.ack(delivery.message.id)

    Raises: every operation may raise ``Unavailable`` (certainly without effect), ``Indeterminate`` (nobody knows, or
    partly done) or ``ServerError`` (refused, without effect). What a failed ``pop`` leased comes back when the lease
    ends.
    """

    def __init__(
        self,
        name: str,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        local: Connection,
        settings: DynoSettings,
        strategy: ShardingStrategy | None = None,
        metrics: MetricsSource | None = None,
    ) -> None:
        if not name:
            raise ValueError(f"name must be a non-empty string, got {name!r}")
        self.name = name
        self.settings = settings
        self.keys = QueueKeys(prefix=settings.prefix, queue=name)
        counters = Counters()
        self._context = Context(
            runtime=runtime,
            clock=clock,
            quorum=V1Commands(quorum),
            local=V1Commands(local),
            keys=self.keys,
            settings=settings,
            counters=counters,
            metrics=None
            if metrics is None
            else metrics.add(
                QueueMetrics(
                    queue_name=name, shard=settings.shard, runtime=runtime, counters=counters, whole_ms=settings.compat
                )
            ),
        )
        self._clock = clock
        self._quorum = self._context.quorum
        self._local = self._context.local
        self._strategy = RoundRobin() if strategy is None else strategy
        self._acks = Acks(self._context)
        poppers = make_poppers(self._context)
        self._popper = poppers.own
        self._bulk_popper = poppers.own_bulk
        self._every_shard_popper = poppers.every
        self._every_shard_bulk_popper = poppers.every_bulk
        self.unack_handler = UnackHandler(self._context)

    @property
    def counters(self) -> Counters:
        return self._context.counters

    @property
    def metrics(self) -> QueueMetrics | None:
        return self._context.metrics

    @timed("push", messages=len)
    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Put ``messages`` into the queue, one after the other; receipts in their order.

        An id that is already there is moved to its new due time if the strategy chooses the same shard, and doubled if
        not. Raises ``PushFailure`` (which is also the port's or the server's error) with the receipts so far, and
        ``ValueError`` if the strategy chooses none of the shards: the message is listed nowhere, only its payload is
        stored. With ``compat`` it is listed in that shard, which nobody serves.
        """
        receipts: list[Receipt] = []
        for message, raw in [(message, encode(message)) for message in messages]:
            try:
                receipts.append(await self._push_one(message, raw))
            except COMMAND_FAILURES as error:
                raise push_failure(error, receipts=tuple(receipts), failed_id=message.id) from error
        return receipts

    @timed("pop", messages=int)
    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Lease up to ``count`` due messages of the own shard, waiting up to ``wait_ms`` until so many are due.

        Fewer than ``count`` come back only when the wait is over, when other consumers took some, or when an error cut
        the call short after at least one lease (with ``compat`` the error is raised and those leases are lost to the
        caller). A stored payload that is no message raises ``PayloadError``.
        """
        return await self._popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    @timed("pop", messages=int)
    async def bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """``pop`` that leases by one script instead of three commands a message.

        The script runs on every replica by itself: where they differ each may lease other messages, those that the
        vote does not return come back when their lease ends, and at DC_SAFE_QUORUM the call then fails.
        """
        return await self._bulk_popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    @timed("pop", messages=int)
    async def unsafe_pop_all_shards(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """``pop`` from every shard, the own first.

        Unsafe: the zones whose shards these are pop from them, too, each by what its own replica lists, and an expired
        lease in another shard is brought back by that zone's handler only.
        """
        return await self._every_shard_popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    @timed("pop", messages=int)
    async def unsafe_bulk_pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """``bulk_pop`` from every shard; unsafe as ``unsafe_pop_all_shards``."""
        return await self._every_shard_bulk_popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    @timed("pop", messages=one)
    async def pop_with_id(self, message_id: str) -> Delivery | None:
        """Lease ``message_id`` if it is due in the own shard; with ``compat`` also if it is not due yet."""
        return await lease_chosen(self._context, message_id, shard=self.settings.shard)

    @timed("pop", messages=one)
    async def unsafe_pop_with_id_all_shards(self, message_id: str) -> Delivery | None:
        """``pop_with_id`` in each shard until it is found; unsafe as ``unsafe_pop_all_shards``."""
        for shard in self.settings.shards:
            delivery = await lease_chosen(self._context, message_id, shard=shard)
            if delivery is not None:
                return delivery
        return None

    @timed("pop", messages=one)
    async def pop_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> Delivery | None:
        """Lease the first due message whose stored JSON matches the Lua pattern ``pattern``, in any shard or the own.

        With ``compat`` the payload of the message is its whole JSON, as in the original.
        """
        return await patterns.pop(self._context, pattern, own_shard_only=own_shard_only)

    @timed("ack")
    async def ack(self, message_id: str | Delivery) -> bool:
        """Delete a leased message. False if no shard has a lease on it: it was acknowledged before, or came back.

        As in the original the id decides: a delivery stands for that of its message.
        """
        return await self._acks.ack(id_of(message_id))

    async def ack_all(self, message_ids: Sequence[str]) -> list[bool]:
        """``ack`` one by one. Raises ``AckFailure`` with the answers so far."""
        acked: list[bool] = []
        for message_id in message_ids:
            try:
                acked.append(await self.ack(message_id))
            except COMMAND_FAILURES as error:
                raise ack_failure(error, acked=tuple(acked), failed_id=message_id) from error
        return acked

    @timed("peek")
    async def peek(self, count: int) -> list[Message]:
        """Up to ``count`` due messages of the own shard, in order, without leasing them.

        Ids without payload are left out; with ``compat`` one of them raises ``PayloadError``.
        """
        return await peek.peek(self._context, count)

    @timed("peek")
    async def unsafe_peek_all_shards(self, count: int) -> list[Message]:
        """``peek`` into every shard, in order of due time.

        With ``compat`` in no order, and up to twice as many. Unsafe: what is seen of the other shards is what the local
        replica has of them.
        """
        return await peek.unsafe_peek_all_shards(self._context, count)

    @timed("get")
    async def get(self, message_id: str) -> Message | None:
        """The stored message, whether waiting, leased or listed nowhere."""
        raw = await self._quorum.hget(self.keys.messages, message_id)
        return None if raw is None else decode(raw, message_id=message_id)

    @timed("get")
    async def local_get(self, message_id: str) -> Message | None:
        """``get`` as the local replica has it."""
        raw = await self._local.hget(self.keys.messages, message_id)
        return None if raw is None else decode(raw, message_id=message_id)

    async def get_all_messages(self) -> list[Message]:
        """Every stored message as the local replica has it, whether waiting, leased or listed nowhere.

        With ``compat`` the payload of each is its whole JSON, as in the original.
        """
        stored = await self._local.hgetall(self.keys.messages)
        if self.settings.compat:
            return [Message(id=message_id, payload=raw.decode()) for message_id, raw in stored.items()]
        return [decode(raw, message_id=message_id) for message_id, raw in stored.items()]

    async def get_msg_with_predicate(self, pattern: str, *, own_shard_only: bool = False) -> str | None:
        """Id of a message whose stored JSON matches the Lua pattern ``pattern``; which of several is arbitrary.

        Any stored message is looked at, or those that wait in the own shard.
        """
        return await patterns.find(self._context, pattern, own_shard_only=own_shard_only)

    async def contains_predicate(self, pattern: str, *, own_shard_only: bool = False) -> bool:
        """Return whether ``get_msg_with_predicate`` finds a message."""
        return await self.get_msg_with_predicate(pattern, own_shard_only=own_shard_only) is not None

    async def find_stale_messages(self) -> list[Message]:
        """Messages, of which only the id is known, that wait without a payload; among the first ten due of every shard.

        Nothing is removed. The answer is as old as the call: look again, or ask whoever pushed it, before acting on it.
        """
        return [Message(id=message_id) for message_id in await peek.find_stale(self._context)]

    @timed("ack")
    async def set_unack_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Let the lease of ``message_id`` end ``timeout_ms`` from now. False if no shard has a lease on it."""
        for shard in self.settings.shards:
            key = self.keys.unack(shard)
            if await self._quorum.zscore(key, message_id) is not None:
                await self._quorum.zadd(key, self._clock.now_ms() + timeout_ms, message_id)
                return True
        return False

    async def set_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Make a waiting message due ``timeout_ms`` from now. False if it is not waiting, for instance leased.

        Its priority is kept; with ``compat`` its score loses it.
        """
        raw = await self._local.hget(self.keys.messages, message_id)
        if raw is None:
            return False
        message = replace(decode(raw, message_id=message_id), timeout_ms=timeout_ms)
        for shard in self.settings.shards:
            if await self._quorum.zscore(self.keys.queue_of(shard), message_id) is not None:
                await self._reschedule(message, shard)
                return True
        return False

    @timed("remove")
    async def remove(self, message_id: str) -> bool:
        """Take ``message_id`` out of every shard, waiting or leased, and delete its payload.

        True if there was anything to remove. With ``compat`` as the original: it ends at the first shard where the
        message is waiting, and for a leased message it leaves the payload and says False.
        """
        if self.settings.compat:
            return await self._remove_waiting(message_id)
        self._acks.forget(message_id)
        with operation(f"remove of {message_id!r}") as effects:
            for shard in self.settings.shards:
                effects.count += await self._quorum.zrem(self.keys.unack(shard), message_id)
                effects.count += await self._quorum.zrem(self.keys.queue_of(shard), message_id)
            effects.count += await self._quorum.hdel(self.keys.messages, message_id)
        return effects.count > 0

    @timed("remove")
    async def atomic_remove(self, message_id: str) -> bool:
        """``remove`` by one script, on each replica whole or not at all. True if there was anything to remove."""
        keys = self._context.keys_of(self.settings.shards)
        removed = await self._quorum.eval(self._context.script("atomic_remove"), keys, [message_id])
        self._acks.forget(message_id)
        return bool(removed == 1)

    async def ensure(self, message: Message) -> bool:
        """Push ``message`` unless its id is waiting or leased in some shard. True if it was pushed."""
        for shard in self.settings.shards:
            for key in (self.keys.queue_of(shard), self.keys.unack(shard)):
                if await self._quorum.zscore(key, message.id) is not None:
                    return False
        await self.push([message])
        return True

    @timed("size")
    async def size(self) -> int:
        """Messages waiting or delayed in all shards; leased ones are not counted."""
        return await waiting_total(self._context)

    @timed("size")
    async def shard_sizes(self) -> dict[str, ShardSize]:
        """Return how many messages of each shard wait and are leased."""
        sizes = {}
        for shard in self.settings.shards:
            waiting = await self._local.zcard(self.keys.queue_of(shard))
            sizes[shard] = ShardSize(waiting=waiting, unacked=await self._local.zcard(self.keys.unack(shard)))
        return sizes

    async def clear(self) -> None:
        """Delete every key of the queue."""
        self._acks.forget_all()
        with operation(f"clear of {self.name!r}") as effects:
            for shard in self.settings.shards:
                effects.count += await self._quorum.delete(self.keys.queue_of(shard))
                effects.count += await self._quorum.delete(self.keys.unack(shard))
            await self._quorum.delete(self.keys.messages)

    async def process_unacks(self) -> UnackResult:
        """Bring back the messages of the own shard whose lease has ended."""
        return await process_unacks(self._context)

    async def atomic_process_unacks(self) -> UnackResult:
        """``process_unacks`` by a script, which leaves a lease alone that was extended or ended since it was read.

        With ``compat`` the script looks at nothing again. It needs all keys of a zone on one server.
        """
        return await atomic_process_unacks(self._context)

    @property
    def _periodics(self) -> tuple[Periodic, ...]:
        return (self.unack_handler,)

    async def _push_one(self, message: Message, raw: bytes) -> Receipt:
        self._acks.forget(message.id)
        payload_first = self.settings.has(DynoMechanism.PAYLOAD_BEFORE_ID)
        if payload_first:
            await self._quorum.hset(self.keys.messages, message.id, raw)
        choose = self._strategy.next_shard if self.settings.compat else partial(chosen_shard, self._strategy)
        shard = choose(self.settings.shards, message)
        due_ms = self._clock.now_ms() + message.timeout_ms
        await self._quorum.zadd(self.keys.queue_of(shard), due_score(due_ms, priority=message.priority), message.id)
        if not payload_first:
            await self._quorum.hset(self.keys.messages, message.id, raw)
        return Receipt(id=message.id, shard=shard, due_ms=due_ms)

    async def _reschedule(self, message: Message, shard: str) -> None:
        due_ms = self._clock.now_ms() + message.timeout_ms
        score = due_score(due_ms, priority=0 if self.settings.compat else message.priority)
        with operation(f"set_timeout of {message.id!r}") as effects:
            await self._quorum.zadd(self.keys.queue_of(shard), score, message.id, flag="XX")
            effects.count += 1
            await self._quorum.hset(self.keys.messages, message.id, encode(message))

    async def _remove_waiting(self, message_id: str) -> bool:
        with operation(f"remove of {message_id!r}") as effects:
            for shard in self.settings.shards:
                effects.count += await self._quorum.zrem(self.keys.unack(shard), message_id)
                if await self._quorum.zrem(self.keys.queue_of(shard), message_id):
                    effects.count += 1
                    await self._quorum.hdel(self.keys.messages, message_id)
                    return True
        return False
