"""The dyno-queues V2 queue: one shard of a delay queue, one pipeline per step.

Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue``: same keys, same JSON, same commands in the
same order. docs/dyno-v2.md lists where the default departs from it and why.
"""

from collections.abc import Sequence
from dataclasses import replace

from zonelab.engine.common.failures import operation
from zonelab.engine.common.lifecycle import BackgroundQueue
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.common.pipelines import read, write
from zonelab.engine.common.timings import MetricsSource, QueueMetrics, record, timed
from zonelab.engine.dyno.errors import PayloadError, UnsupportedOperation
from zonelab.engine.dyno.message_json import decode, encode
from zonelab.engine.dyno.results import Counters, ShardSize, UnackResult
from zonelab.engine.dyno.scores import due_score, eligible_until
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.ack import BatchAcks
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.dyno.v2.keys import PipelinedKeys
from zonelab.engine.dyno.v2.pop import V2FreshPopper, V2OriginalPopper
from zonelab.engine.dyno.v2.push import push_batch
from zonelab.engine.dyno.v2.settings import PipelinedSettings
from zonelab.engine.dyno.v2.unack import original_process_unacks, process_unacks, waiting_count
from zonelab.engine.dyno.v2.unsupported import Unsupported
from zonelab.engine.message import Delivery, Message, Receipt, id_of
from zonelab.engine.ports import Clock, Command, Connection, Runtime


class PipelinedQueue(BackgroundQueue, Unsupported):
    """The shard ``settings.shard`` of the queue ``name``; ``zonelab.engine.dyno.v2.multi.MultiQueue`` puts several
    together.

    ``quorum`` carries the writes and the point reads, ``local`` the reads whose answer may be old: ranges, sizes and
    ``peek``; with ``compat`` only sizes. While it is open it runs ``process_unacks`` every
    ``settings.unack_interval_ms``. ``zonelab.engine.dyno.v2.builder.build_queue`` makes one from hosts; by hand::

        settings = PipelinedSettings(prefix="shop", shard="a", unack_ms=30_000)
        async with PipelinedQueue("mail", runtime=…, clock=…, quorum=…, local=…, settings=settings) as queue:
            await queue.push([Message(id="1"), Message(id="2")])
            deliveries = await queue.pop(10, wait_ms=1_000)
            await queue.ack_all([delivery.message.id for delivery in deliveries])

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
        settings: PipelinedSettings,
        metrics: MetricsSource | None = None,
    ) -> None:
        if not name:
            raise ValueError(f"name must be a non-empty string, got {name!r}")
        self.name = name
        self.settings = settings
        self.keys = PipelinedKeys(prefix=settings.prefix, queue=name, shard=settings.shard)
        self._context = PipelinedContext(
            runtime=runtime, clock=clock, quorum=quorum, local=local, keys=self.keys, settings=settings
        )
        self.metrics: QueueMetrics | None = None
        if metrics is not None:
            self.metrics = metrics.add(
                QueueMetrics(
                    queue_name=self.keys.tag,
                    shard=settings.shard,
                    runtime=runtime,
                    counters=self.counters,
                    whole_ms=settings.compat,
                )
            )
        self._clock = clock
        self._quorum = quorum
        self._local = local
        self._acks = BatchAcks(self._context)
        self._popper = (V2OriginalPopper if settings.compat else V2FreshPopper)(self._context)
        self.unack_handler = Periodic(
            self.process_unacks,
            interval_ms=settings.unack_interval_ms,
            runtime=runtime,
            name=f"unack {self.keys.tag}",
            dies_on_error=settings.compat,
        )

    @property
    def counters(self) -> Counters:
        return self._context.counters

    @timed("push", messages=len)
    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Put ``messages`` into the shard, all in one pipeline; receipts in their order.

        An id that is already there is moved to its new due time. Raises ``BatchPushFailure`` (which is also the port's
        or the server's error): a pipeline without an answer leaves all its messages indeterminate. With ``compat`` a
        message that the server refused counts as pushed.
        """
        receipts = await push_batch(self._context, messages)
        for message in messages:
            self._acks.forget(message.id)
        return receipts

    @timed("pop", messages=int)
    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Lease up to ``count`` due messages, waiting up to ``wait_ms`` until so many are due.

        Fewer than ``count`` come back only when the wait is over, when other consumers took some, or when an error cut
        the call short after at least one lease (with ``compat`` the error is raised and those leases are lost to the
        caller). A stored payload that is no message raises ``PayloadError`` in the same way.
        """
        return await self._popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    @timed("ack")
    async def ack(self, message_id: str | Delivery) -> bool:
        """Delete a leased message. False if it has no lease in this shard: it was acknowledged before, or came back.

        As in the original the id decides: a delivery stands for that of its message.
        """
        return (await self._acks.ack([id_of(message_id)]))[0]

    @timed("ack")
    async def ack_all(self, message_ids: Sequence[str]) -> list[bool]:
        """``ack`` for a batch, in two pipelines. Raises ``BatchAckFailure``."""
        return await self._acks.ack(message_ids) if message_ids else []

    async def ack_messages(self, messages: Sequence[Message]) -> list[bool]:
        """``ack_all`` of their ids, whatever shard they name."""
        return await self.ack_all([message.id for message in messages])

    @timed("peek")
    async def peek(self, count: int) -> list[Message]:
        """Up to ``count`` due messages, in order, without leasing them.

        Ids without payload are left out; with ``compat`` one of them raises ``PayloadError``.
        """
        if count < 1:
            return []
        context, connection = self._context, self._context.ranges
        until = eligible_until(self._clock.now_ms())
        ids = await steps.due_ids(connection, self.keys, until=until, limit=count)
        if self.settings.compat:
            raws = [(await steps.payloads(connection, self.keys, [each]))[0] for each in ids]
        else:
            raws = await steps.payloads(context.local, self.keys, ids)
        missing = [each for each, raw in zip(ids, raws, strict=True) if raw is None]
        if missing and self.settings.compat:
            raise PayloadError(f"no payload is stored for {missing[0]!r}")
        return [decode(raw, message_id=each) for each, raw in zip(ids, raws, strict=True) if raw is not None]

    @timed("get")
    async def get(self, message_id: str) -> Message | None:
        """The stored message, whether waiting, leased or listed nowhere."""
        (raw,) = await steps.payloads(self._quorum, self.keys, [message_id])
        return None if raw is None else decode(raw, message_id=message_id)

    @timed("ack")
    async def set_unack_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Let the lease of ``message_id`` end ``timeout_ms`` from now. False if it has none in this shard."""
        key = self.keys.lease_of(message_id)
        (score,) = await read(self._quorum, [("ZSCORE", key, message_id)])
        if score is None:
            return False
        await write(self._quorum, [("ZADD", key, self._clock.now_ms() + timeout_ms, message_id)], name="extension")
        return True

    async def set_timeout(self, message_id: str, *, timeout_ms: int) -> bool:
        """Make a waiting message due ``timeout_ms`` from now. False if it is not waiting, for instance leased.

        With ``compat`` a message that is popped meanwhile is listed again, and its payload comes back.
        """
        (raw,) = await steps.payloads(self._quorum, self.keys, [message_id])
        if raw is None:
            return False
        message = replace(decode(raw, message_id=message_id), timeout_ms=timeout_ms)
        (score,) = await steps.waiting_scores(self._quorum, self.keys, [message_id])
        return score is not None and await self._reschedule(message)

    @timed("remove")
    async def remove(self, message_id: str) -> bool:
        """Take ``message_id`` out of the shard, waiting or leased, and delete its payload.

        True if there was anything to remove; with ``compat`` only if it was waiting and had a payload.
        """
        self._acks.forget(message_id)
        with operation(f"remove of {message_id!r}") as effects:
            (leased,) = await steps.end_leases(self._quorum, self.keys, [message_id])
            effects.count += leased
            (waiting,) = await steps.unlist(self._quorum, self.keys, [message_id])
            effects.count += waiting
            (stored,) = await steps.delete_payloads(self._quorum, self.keys, [message_id])
        return waiting and stored if self.settings.compat else leased or waiting or stored

    async def ensure(self, message: Message) -> bool:
        """Push ``message`` unless its id is waiting or leased here. True if it was pushed.

        Raises ``UnsupportedOperation`` with ``compat``: the original has no such operation in this queue.
        """
        if self.settings.compat:
            raise UnsupportedOperation("ensure does not exist in the pipelined queue of the original")
        if await self.lists(message.id):
            return False
        await self.push([message])
        return True

    async def lists(self, message_id: str) -> bool:
        """Return whether ``message_id`` is waiting or leased here."""
        scores = await read(
            self._quorum,
            [("ZSCORE", self.keys.waiting, message_id), ("ZSCORE", self.keys.lease_of(message_id), message_id)],
        )
        return any(score is not None for score in scores)

    @timed("size")
    async def size(self) -> int:
        """Messages waiting or delayed in the shard; leased ones are not counted."""
        return await waiting_count(self._context)

    @timed("size")
    async def shard_sizes(self) -> dict[str, ShardSize]:
        waiting, *leased = await self._each(
            self._local, [("ZCARD", key) for key in (self.keys.waiting, *self.keys.leases)]
        )
        return {self.settings.shard: ShardSize(waiting=waiting, unacked=sum(leased))}

    async def clear(self) -> None:
        """Delete every key of the shard."""
        self._acks.forget_all()
        keys = [
            self.keys.waiting,
            *(key for pair in zip(self.keys.leases, self.keys.payloads, strict=True) for key in pair),
        ]
        with operation(f"clear of {self.name!r}") as effects:
            if not self.settings.compat:
                await write(self._quorum, [("DEL", key) for key in keys], name="clear")
                return
            for key in keys:
                effects.count += (await write(self._quorum, [("DEL", key)], name="clear"))[0]

    @timed("processUnack")
    async def process_unacks(self) -> UnackResult:
        """Bring back the messages whose lease has ended."""
        run = original_process_unacks if self.settings.compat else process_unacks
        result = await run(self._context)
        record(self, "queueDepth", result.queue_depth)
        return result

    @property
    def _periodics(self) -> tuple[Periodic, ...]:
        return (self.unack_handler,)

    async def _reschedule(self, message: Message) -> bool:
        """List the message with its new due time if it still waits, then write the payload that says so."""
        score = due_score(self._clock.now_ms() + message.timeout_ms, priority=message.priority)
        flags = () if self.settings.compat else ("XX", "CH")
        moved: Command = ("ZADD", self.keys.waiting, *flags, score, message.id)
        stored: Command = ("HSET", self.keys.payload_of(message.id), message.id, encode(message))
        with operation(f"set_timeout of {message.id!r}") as effects:
            (changed,) = await write(self._quorum, [moved], name="set_timeout")
            if not (changed or self.settings.compat or await self._waits(message.id)):
                return False
            effects.count += 1
            await write(self._quorum, [stored], name="set_timeout")
        return True

    async def _waits(self, message_id: str) -> bool:
        """A score that did not change may be an equal one, or that of a message which was popped meanwhile."""
        (score,) = await steps.waiting_scores(self._quorum, self.keys, [message_id])
        return score is not None

    async def _each(self, connection: Connection, commands: Sequence[Command]) -> list[int]:
        """Return the replies to ``commands``, sent in one pipeline; with ``compat`` in one round trip each."""
        if not self.settings.compat:
            return await read(connection, commands)
        return [(await read(connection, [command]))[0] for command in commands]
