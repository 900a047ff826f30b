"""Goal: ``QueueMachine`` passes where dyno-queues is safe, and finds what is broken. Method: planted bugs, known gaps.

Each bug is a subclass of the engine, each gap of the engine a set of troubles under which it is known to break its
promises. Searches have fixed seeds.
"""

import pytest
from hypothesis import strategies as st
from support.own_queues.leased import ForgetsExtensions, GrantsWhatHasEnded, LeasedMachine
from support.studies.state_machines import GONE, hunt, kind_found, nothing_found, promises_kept

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.cluster.zone import Persistence
from zonelab.engine.dyno import DynoQueue
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.scores import due_score, eligible_until
from zonelab.engine.message import Delivery, Receipt
from zonelab.studies.properties import DynoQueueMachine, Trouble

ONE_ZONE = {"zones": ("a",), "commands": {"push": 2, "pop": 4, "ack": 2, "process_unacks": 5}}
STALLS = {**ONE_ZONE, "troubles": frozenset({Trouble.STALL}), "delays_ms": (0,), "lags": st.just("0")}


class OwnPop(DynoQueue):
    """Like the original pop; subclasses take a message in their own way."""

    async def pop(self, count, *, wait_ms=0):
        until = eligible_until(self._clock.now_ms())
        found = await self._local.ids_up_to(self.keys.queue_of(self.settings.shard), until, limit=count)
        return [delivery for message_id in found if (delivery := await self._lease(message_id))]

    async def _lease(self, message_id):
        start_ms = self._clock.now_ms()
        end_ms = start_ms + self.settings.unack_ms
        taken = await self.take(message_id, self.keys.unack(self.settings.shard), end_ms)
        leased_ms = self._clock.now_ms()
        raw = await self._quorum.hget(self.keys.messages, message_id) if taken else None
        if raw is None:
            return None
        return Delivery(
            message=decode(raw, message_id=message_id),
            shard=self.settings.shard,
            lease_start_ms=start_ms,
            leased_ms=leased_ms,
            lease_end_ms=end_ms,
        )

    async def take(self, message_id, unack, end_ms):
        added = await self._quorum.zadd(unack, end_ms, message_id, flag="NX")
        return added and await self._quorum.zrem(self.keys.queue_of(self.settings.shard), message_id)


class RemovesBeforeItLeases(OwnPop):
    async def take(self, message_id, unack, end_ms):
        removed = await self._quorum.zrem(self.keys.queue_of(self.settings.shard), message_id)
        return removed and await self._quorum.zadd(unack, end_ms, message_id, flag="NX")


class LeasesOverALease(OwnPop):
    async def take(self, message_id, unack, end_ms):
        await self._quorum.zadd(unack, end_ms, message_id)
        return await self._quorum.zrem(self.keys.queue_of(self.settings.shard), message_id)


class AckDeletesThePayloadAlone(DynoQueue):
    async def ack(self, message_id):
        return await self._quorum.hdel(self.keys.messages, message_id) > 0


class AckDeletesThePayloadFirst(DynoQueue):
    async def ack(self, message_id):
        await self._quorum.hdel(self.keys.messages, message_id)
        removed = [await self._quorum.zrem(self.keys.unack(shard), message_id) for shard in self.settings.shards]
        return any(removed)


class NeverLooksForEndedLeases(DynoQueue):
    async def process_unacks(self):
        return None


class ListsTheIdBeforeThePayload(DynoQueue):
    async def _push_one(self, message, raw):
        shard = self._strategy.next_shard(self.settings.shards, message)
        due_ms = self._clock.now_ms() + message.timeout_ms
        await self._quorum.zadd(self.keys.queue_of(shard), due_score(due_ms, priority=message.priority), message.id)
        await self._quorum.hset(self.keys.messages, message.id, raw)
        return Receipt(id=message.id, shard=shard, due_ms=due_ms)


class DeliversEarly(OwnPop):
    async def pop(self, count, *, wait_ms=0):
        found = await self._local.ids_up_to(self.keys.queue_of(self.settings.shard), 10**14, limit=count)
        return [delivery for message_id in found if (delivery := await self._lease(message_id))]


class RequeuesLiveLeases(DynoQueue):
    async def process_unacks(self):
        unack = self.keys.unack(self.settings.shard)
        for message_id, _ in await self._local.scored_ids_up_to(unack, 10**14, limit=10):
            await self._quorum.zadd(self.keys.queue_of(self.settings.shard), self._clock.now_ms(), message_id)
            await self._quorum.zrem(unack, message_id)


class ForgetsTheAck(DynoQueue):
    async def ack(self, message_id):
        return await self._quorum.zscore(self.keys.unack(self.settings.shard), message_id) is not None


@pytest.mark.parametrize("level", LEVELS_OF_ONE_DC)
def test_dyno_queues_keeps_its_promises_while_no_write_is_missed(level):
    checked, delivered = promises_kept(DynoQueueMachine, level=level, examples=20)
    assert checked > 100
    assert delivered > 20


def test_the_queue_that_the_bugs_are_planted_in_is_sound():
    class Machine(DynoQueueMachine):
        queue_class = OwnPop

    nothing_found(Machine, examples=20)


@pytest.mark.parametrize(
    ("queue", "changes", "kinds"),
    [
        (RemovesBeforeItLeases, {}, GONE),
        (LeasesOverALease, {**STALLS, "programs_per_zone": 4}, GONE),
        (AckDeletesThePayloadAlone, {}, {MessageClass.PHANTOM}),
        (AckDeletesThePayloadFirst, ONE_ZONE, GONE),
        (NeverLooksForEndedLeases, {}, GONE),
        (ListsTheIdBeforeThePayload, STALLS, GONE),
        (DeliversEarly, {}, {MessageClass.EARLY}),
        (RequeuesLiveLeases, ONE_ZONE, {MessageClass.CONCURRENT, MessageClass.STUCK}),
        (ForgetsTheAck, {}, {MessageClass.RESURRECTED}),
    ],
)
def test_a_planted_bug_is_found(queue, changes, kinds):
    assert kind_found(DynoQueueMachine, queue_class=queue, **changes) in kinds


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        pytest.param({"troubles": {Trouble.KILL_KEEP}}, GONE, id="a zone comes back with old files"),
        pytest.param({"troubles": {Trouble.KILL_WIPE}}, GONE, id="a zone comes back empty"),
        pytest.param({"troubles": {Trouble.KILL_WIPE}, "level": Level.DC_ONE}, GONE, id="the same at DC_ONE"),
        pytest.param({"troubles": {Trouble.KILL_WARM}}, GONE, id="a zone comes back with a copy of another's data"),
        pytest.param(
            {"troubles": {Trouble.POWER_FAILURE}, "zones": ("a",), "persistence": Persistence.AOF_NO},
            GONE,
            id="the power fails before the file is flushed",
        ),
        pytest.param({"troubles": {Trouble.DROP}}, GONE, id="connections are reset"),
        pytest.param({"troubles": {Trouble.COORDINATOR_CRASH}}, GONE, id="a coordinator dies"),
        pytest.param(
            {**STALLS, "stalls_ms": (40_000,)}, {*GONE, MessageClass.CONCURRENT}, id="a pop outlives its lease"
        ),
        pytest.param(
            {**STALLS, "repairs_together": True},
            {*GONE, MessageClass.CONCURRENT},
            id="two programs of a zone look for ended leases",
        ),
        pytest.param(
            {"zones": ("a",), "troubles": frozenset(), "extends_any_time": True},
            {MessageClass.CONCURRENT},
            id="whoever held a lease before extends that of another",
        ),
    ],
)
def test_a_known_gap_of_dyno_queues_is_found(changes, kinds):
    assert kind_found(DynoQueueMachine, **changes) in kinds


@pytest.mark.parametrize("trouble", [Trouble.KILL_KEEP, Trouble.POWER_FAILURE])
def test_one_zone_that_flushes_every_write_loses_nothing_however_it_dies(trouble):
    class Machine(DynoQueueMachine):
        zones = ("a",)
        persistence = Persistence.AOF_ALWAYS
        troubles = frozenset({trouble})

    nothing_found(Machine, examples=20)


@pytest.mark.parametrize("queue", [GrantsWhatHasEnded, ForgetsExtensions])
def test_a_queue_whose_extensions_do_not_hold_is_found_and_one_whose_do_is_not(queue):
    assert kind_found(LeasedMachine, queue_class=queue) is MessageClass.CONCURRENT
    nothing_found(LeasedMachine, examples=20)


def test_a_violation_tells_the_life_of_its_message():
    class Machine(DynoQueueMachine):
        queue_class = NeverLooksForEndedLeases

    violation = hunt(Machine)
    assert violation is not None
    first, *story = str(violation).splitlines()
    assert first.startswith(f"{violation.message_id} is stuck: ")
    assert "push begins" in story[0]
    assert any("push is ok, into " in line for line in story)


def test_one_seed_finds_the_same_every_time():
    class Machine(DynoQueueMachine):
        queue_class = ForgetsTheAck

    hunt(Machine)  # what it imports decides a few draws of Hypothesis
    assert str(hunt(Machine)) == str(hunt(Machine))
