"""The hardened queue: dyno-queues that keeps its promises when replicas, consumers and clocks fail.

docs/hardened.md has the design: what each mechanism guarantees, against which fault, and what it costs.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.lifecycle import BackgroundQueue
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.common.timings import MetricsSource, QueueMetrics, timed
from zonelab.engine.dyno.errors import PayloadError, batch_ack_failure, batch_push_failure
from zonelab.engine.dyno.hardened.batch_decisions import decided_each
from zonelab.engine.dyno.hardened.context import HardenedContext, HardenedCounters, totals_of
from zonelab.engine.dyno.hardened.held_leases import HeldLeases
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.pop import HardenedPopper
from zonelab.engine.dyno.hardened.records.steps import HardenedLease, PutRequest, in_steps
from zonelab.engine.dyno.hardened.settings import HardenedSettings
from zonelab.engine.dyno.hardened.upkeep.keeper import Keeper
from zonelab.engine.dyno.hardened.upkeep.replica_repair import ReplicaRepair
from zonelab.engine.dyno.hardened.upkeep.shard_takeover import ServedShards
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.results import ShardSize
from zonelab.engine.dyno.sharding import RoundRobin, ShardingStrategy, chosen_shard
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Clock, Connection, Indeterminate, PortError, Runtime, ServerError

HEARTBEATS = 3
"""Within the length of a lease."""


class HardenedQueue(BackgroundQueue):
    """One instance of the queue ``name`` in the zone that ``settings.shard`` names.

    ``quorum``: writes at the level of the user's choice. ``safe``: a connection at DC_SAFE_QUORUM, for decisions.
    ``local``: the own zone alone (DC_ONE). ``zones``: for reading one zone alone, a connection to each, by name; the
    own zone among them. While it is open it keeps leases alive, compares the zones and serves shards::

        settings = HardenedSettings(prefix="shop", shards=("a", "b", "c"), shard="a", instance="host1-4711-09:00")
        connections = {"quorum": …, "safe": …, "local": …, "zones": {"a": …, "b": …, "c": …}}
        async with HardenedQueue("mail", runtime=…, clock=…, settings=settings, **connections) as queue:
            await queue.push([Message(id="1", priority=5)])
            for delivery in await queue.pop(10, wait_ms=1_000):
                …
                await queue.ack(delivery)  # the delivery, not the id: its token says whose lease it is

    Raises: every operation may raise what ``Connection.execute`` raises; a failed ``pop`` leaves leases that end.
    """

    def __init__(
        self,
        name: str,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        safe: Connection,
        local: Connection,
        zones: Mapping[str, Connection],
        settings: HardenedSettings,
        strategy: ShardingStrategy | None = None,
        metrics: MetricsSource | None = None,
    ) -> None:
        self._context = HardenedContext.of(
            name,
            runtime=runtime,
            clock=clock,
            quorum=quorum,
            safe=safe,
            local=local,
            zones=zones,
            settings=settings,
        )
        self.name = name
        self.settings = settings
        self.keys = self._context.keys
        self.metrics: QueueMetrics | None = None
        if metrics is not None:
            self.metrics = metrics.add(
                QueueMetrics(
                    queue_name=name,
                    shard=settings.shard,
                    runtime=runtime,
                    counters=self.counters,
                    whole_ms=False,
                    totals=totals_of(self.counters),
                )
            )
        self._steps = self._context.steps
        self._clock = clock
        self._strategy = RoundRobin() if strategy is None else strategy
        self._held_leases = HeldLeases(self._context)
        self._replica_repair = ReplicaRepair(self._context)
        served = ServedShards(self._context)
        self._popper = HardenedPopper(
            self._context, held_leases=self._held_leases, replica_repair=self._replica_repair, served=served
        )
        self._keeper = Keeper(self._context, replica_repair=self._replica_repair, served=served)
        self.keeper = self._periodic("keeper", self._keeper.round, settings.keeper_interval_ms)
        self.server = self._periodic("server", served.renew, served.interval_ms)
        self.heartbeat = self._periodic("heartbeat", self._beat, max(1, settings.lease_ms // HEARTBEATS))

    @property
    def counters(self) -> HardenedCounters:
        return self._context.counters

    def tell_extensions(self, heard: Callable[[str, int], None]) -> None:
        """``heard`` is called with the id and the new end, in ms, of every lease that the heartbeat moves
        from now on.
        """
        self._held_leases.on_extended = heard

    @timed("push", messages=len)
    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Put ``messages`` into the queue; receipts in their order.

        An id that the queue knows, be it acknowledged, stays as it is, and the receipt says where. Raises
        ``BatchPushFailure`` (which is also the port's or the server's error) with the receipts so far; what is neither
        in them nor among its ``failed_ids`` was not tried. Raises ``ValueError``, before anything is pushed, if the
        strategy chooses none of the shards or a string cannot be written as UTF-8.
        """
        now_ms = self._clock.now_ms()
        puts = [self._put(message, now_ms=now_ms) for message in messages]
        receipts: list[Receipt] = []
        for batch in in_steps(puts):
            try:
                answers = await self._steps.put(batch)
            except COMMAND_FAILURES as error:
                failed_ids = tuple(put.id for put in batch)
                raise batch_push_failure(error, receipts=tuple(receipts), failed_ids=failed_ids) from error
            receipts += [
                Receipt(id=put.id, shard=shard, due_ms=math.floor(score))
                for put, (shard, score) in zip(batch, answers, strict=True)
            ]
        return receipts

    async def push_new(self, messages: Sequence[Message]) -> dict[str, Receipt | None]:
        """``push`` of ids that the queue does not know: by id a receipt, or None where two zones knew it.

        Raises as ``push``. Where one is refused the zones are compared, since some may have kept its payload.
        """
        now_ms = self._clock.now_ms()
        puts = [self._put(message, now_ms=now_ms) for message in messages]
        receipts: dict[str, Receipt | None] = {}
        for batch in in_steps(puts):
            try:
                listed = await self._steps.put_new(batch)
            except COMMAND_FAILURES as error:
                done, failed_ids = tuple(one for one in receipts.values() if one), tuple(put.id for put in batch)
                raise batch_push_failure(error, receipts=done, failed_ids=failed_ids) from error
            for put, new in zip(batch, listed, strict=True):
                receipts[put.id] = Receipt(id=put.id, shard=put.shard, due_ms=math.floor(put.score)) if new else None
        if refused := [message_id for message_id, receipt in receipts.items() if receipt is None]:
            self._replica_repair.repair_beside(refused)
        return receipts

    @timed("pop", messages=int)
    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Lease up to ``count`` due messages, waiting up to ``wait_ms`` for the first.

        Their leases are kept alive until they are acknowledged or given back, or for ``hold_max_ms``, while the queue
        is open.
        """
        return await self._popper.pop(count, wait_ms=wait_ms) if count > 0 else []

    def holds(self, delivery: Delivery) -> bool:
        """Return whether this object made ``delivery`` and its lease was not given up yet."""
        return self._held_leases.of(delivery.message.id, delivery.token) is not None

    async def ack(self, delivery: Delivery) -> bool:
        """The work is done: the message is not delivered again. False if the lease was lost before: then it may be."""
        return (await self.ack_all([delivery]))[0]

    @timed("ack")
    async def ack_all(self, deliveries: Sequence[Delivery]) -> list[bool]:
        """``ack`` in one command for every 500. Raises ``BatchAckFailure``; a retry is safe while the lease lasts."""
        now_ms = self._clock.now_ms()
        rested = [self._rested(delivery) for delivery in deliveries]
        valid = {one: None for one in rested if one is not None and self._is_valid(one, now_ms)}
        if not valid:
            self.counters.refused += len(deliveries)
            return [False] * len(deliveries)
        leases = list(valid)
        answers = dict(zip(leases, await decided_each(partial(self._steps.ack, now_ms=now_ms), leases), strict=True))
        failed = {one.id: answer for one, answer in answers.items() if isinstance(answer, Exception)}
        for one, answer in answers.items():
            if not isinstance(answer, Exception):
                self._held_leases.drop(one)
        if failed:
            # One class for all: if one of them may be applied, none is reported as certainly not applied.
            errors = list(failed.values())
            error = next((one for one in errors if isinstance(one, Indeterminate)), errors[0])
            acked_ids = tuple(one.id for one, answer in answers.items() if answer is True)
            raise batch_ack_failure(error, failed_ids=tuple(failed), acked_ids=acked_ids) from error
        acked = [one is not None and answers.get(one) is True for one in rested]
        self.counters.refused += acked.count(False)
        return acked

    @timed("ack")
    async def extend(self, delivery: Delivery, *, lease_ms: int) -> bool:
        """Let the lease end ``lease_ms`` from now, if that is later. False if the lease was lost before."""
        held = self._held_leases.of(delivery.message.id, delivery.token)
        now_ms = self._clock.now_ms()
        if held is None or not self._is_valid(held.lease, now_ms):
            self.counters.refused += 1
            return False
        ends_ms = now_ms + lease_ms
        (extended,) = await self._steps.extend([held.lease], ends_ms=ends_ms)
        if extended:
            later_ms = max(ends_ms, held.lease.ends_ms)
            held.lease = HardenedLease(delivery.message.id, delivery.token, later_ms)
            held.asked_ms = later_ms
        else:
            self.counters.refused += 1
        return extended

    async def give_back(self, delivery: Delivery) -> None:
        """End the lease of ``delivery``, so that somebody else can have the message now."""
        held = self._held_leases.of(delivery.message.id, delivery.token)
        if held is not None:
            self._held_leases.drop(held.lease)
        await self._steps.release([delivery.message.id], token=delivery.token, delivered=True)

    @timed("get")
    async def get(self, message_id: str) -> Message | None:
        """The message, waiting, leased or set aside; None if it is unknown or acknowledged."""
        raw = await self._steps.payload(message_id)
        return None if raw is None else decode(raw, message_id=message_id)

    async def remove(self, message_id: str) -> bool:
        """Take the message out of the queue, whoever has it. False if it was not in it."""
        (removed,) = await self.remove_all([message_id])
        return removed

    @timed("remove")
    async def remove_all(self, message_ids: Sequence[str]) -> list[bool]:
        """``remove`` for a batch; true for those that were in the queue.

        Raises ``Indeterminate`` where an error comes after the first 500: those are removed already.
        """
        now_ms = self._clock.now_ms()
        removed: list[bool] = []
        for ids in in_steps(message_ids):
            try:
                removed += await self._steps.remove(ids, now_ms=now_ms)
            except (PortError, ServerError) as error:
                if not removed:
                    raise
                raise Indeterminate(*error.args) from error
        return removed

    async def dead_letters(self, count: int) -> list[Message]:
        """Messages that were delivered ``deliveries_max`` times or cannot be read, the oldest first.

        What cannot be read has as payload all that is stored. ``remove`` ends a dead letter.
        """
        ids = (await self._steps.local(("ZRANGE", self.keys.dead, 0, count - 1)))[0] if count > 0 else []
        letters = []
        for part in in_steps(ids):
            (payloads,) = await self._steps.local(("HMGET", self.keys.messages, *part))
            pairs = zip(part, payloads, strict=True)
            letters += [_readable(raw, message_id=one.decode()) for one, raw in pairs if raw is not None]
        return letters

    @timed("size")
    async def shard_sizes(self) -> dict[str, ShardSize]:
        """Return the sizes of all shards as the own zone has them."""
        sizes = {}
        for shard in self.settings.shards:
            sets = (self.keys.queue_of(shard), self.keys.ready(shard), self.keys.unack(shard))
            delayed, ready, leased = await self._steps.local(*(("ZCARD", key) for key in sets))
            sizes[shard] = ShardSize(waiting=delayed + ready, unacked=leased)
        return sizes

    async def size(self) -> int:
        """Messages waiting or delayed in all shards, as the own zone has them."""
        return sum(size.waiting for size in (await self.shard_sizes()).values())

    async def compare(self) -> None:
        """Compare the zones once, as happens by itself while the queue is open. Raises ``PortError``."""
        await self._keeper.round()

    @property
    def _periodics(self) -> tuple[Periodic, ...]:
        return self.keeper, self.server, self.heartbeat

    def _periodic(self, what: str, action: Callable[[], Awaitable[None]], interval_ms: int) -> Periodic:
        name = f"{what} {self.name} {self.settings.instance}"
        return Periodic(action, interval_ms=interval_ms, runtime=self._context.runtime, name=name, spread=True)

    def _put(self, message: Message, *, now_ms: int) -> PutRequest:
        shard = chosen_shard(self._strategy, self.settings.shards, message)
        due_ms = now_ms + message.timeout_ms
        return PutRequest.of(message, shard=shard, due_ms=due_ms, now_ms=now_ms, settings=self.settings)

    async def _beat(self) -> None:
        if self.settings.has(Hardening.LEASE_HEARTBEAT):
            await self._held_leases.beat()

    def _rested(self, delivery: Delivery) -> HardenedLease | None:
        """Mark the lease of ``delivery`` as no longer worked on, and return it; None if it has ended."""
        held = self._held_leases.of(delivery.message.id, delivery.token)
        if held is not None:
            held.resting = True
            return held.lease
        if self.settings.has(Hardening.DELIVERY_TOKENS):
            return None
        return HardenedLease(delivery.message.id, delivery.token, delivery.lease_end_ms)

    def _is_valid(self, lease: HardenedLease, now_ms: int) -> bool:
        return now_ms <= lease.ends_ms or not self.settings.has(Hardening.DELIVERY_TOKENS)


def _readable(raw: bytes, *, message_id: str) -> Message:
    try:
        return decode(raw, message_id=message_id)
    except PayloadError:
        return Message(id=message_id, payload=raw.decode(errors="replace"))
