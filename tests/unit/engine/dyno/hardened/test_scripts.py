"""Goal: each script of hardened mode decides by the record that its server has, and by nothing else.

Method: the steps one by one on one simulated server, with times and tokens of the test's own; or three zones of which
one was tampered with.
"""

import asyncio

import pytest
from support.cluster.sim_lab import simulated_lab
from support.engine.dyno_bench import ids
from support.engine.hardened import KEYS, ZONES, leased, message

from zonelab.cluster.links.link import Cut
from zonelab.engine.dyno.hardened import HardenedSettings
from zonelab.engine.dyno.hardened.batch_decisions import decided_each
from zonelab.engine.dyno.hardened.records.steps import HardenedLease, PutRequest, Steps
from zonelab.engine.dyno.message_json import encode
from zonelab.engine.ports import Indeterminate, Unavailable

MARGIN_MS = 20
OLD, NEW = HardenedLease("m", "old", 500), HardenedLease("m", "new", 900)


class OneServer:
    """The message ``m`` on one server."""

    def __init__(self, lab):
        self.lab = lab
        self.direct = lab.direct("a")
        settings = HardenedSettings(prefix="test", shards=ZONES, shard="a", instance="i", margin_ms=MARGIN_MS)
        self.steps = Steps(
            level=self.direct, safe=self.direct, local=self.direct, others=(), keys=KEYS, settings=settings
        )
        self("FLUSHALL")
        self.run(self.steps.put([PutRequest("m", b"work", "a", 100.0, 100.0, due=True)]))

    def __call__(self, *command):
        return self.lab.run(self.direct.execute(command))[0]

    def run(self, step):
        return self.lab.run(step)

    def lease(self, held, *, now_ms):
        return self.run(self.steps.lease({"m": b""}, token=held.token, now_ms=now_ms, ends_ms=held.ends_ms))

    def record(self):
        """Status, end of the last lease, and its token."""
        status, *_, ends, token = self("HGET", KEYS.records, "m").decode().split(" ")
        return status, int(ends), token


@pytest.fixture
def steps():
    with simulated_lab("a", lag="0") as one_zone:
        yield OneServer(one_zone)


def test_a_lease_is_another_ones_until_the_margin_after_its_end_is_over(steps):
    assert steps.lease(OLD, now_ms=300) == ["G"]
    assert steps.lease(NEW, now_ms=OLD.ends_ms + MARGIN_MS) == ["L"]
    assert steps.lease(NEW, now_ms=OLD.ends_ms + MARGIN_MS + 1) == ["G"]
    assert steps.record() == ("l", 900, "new")


def test_a_lease_that_comes_after_a_newer_one_is_refused_even_if_that_was_given_back(steps):
    assert steps.lease(NEW, now_ms=300) == ["G"]
    steps.run(steps.steps.release(["m"], token="new", delivered=True))
    assert steps.lease(OLD, now_ms=300) == ["L"]
    assert steps.record() == ("w", 900, "new")


def test_to_give_back_a_lease_that_is_no_more_leaves_the_newer_one(steps):
    steps.lease(OLD, now_ms=300)
    steps.lease(NEW, now_ms=600)
    steps.run(steps.steps.release(["m"], token="old", delivered=True))
    assert steps.record() == ("l", 900, "new")


def test_an_extension_takes_nothing_from_who_leased_the_message_since(steps):
    steps.lease(OLD, now_ms=300)
    steps.lease(NEW, now_ms=600)
    assert steps.run(steps.steps.extend([OLD], ends_ms=2_000)) == [False]
    assert steps.record() == ("l", 900, "new")
    assert steps.run(steps.steps.extend([NEW], ends_ms=2_000)) == [True]
    assert steps.record() == ("l", 2_000, "new")


def test_an_extension_that_comes_after_the_ack_revives_nothing(steps):
    steps.lease(OLD, now_ms=300)
    assert steps.run(steps.steps.ack([OLD], now_ms=400)) == [True]
    assert steps.run(steps.steps.extend([OLD], ends_ms=2_000)) == [False]
    assert steps.record() == ("d", 500, "old")


def test_of_two_deliveries_whose_leases_end_together_one_is_acknowledged(steps):
    twin = HardenedLease("m", "twin", OLD.ends_ms)
    steps.lease(OLD, now_ms=300)
    assert steps.run(steps.steps.ack([OLD], now_ms=400)) == [True]
    assert steps.run(steps.steps.ack([twin], now_ms=400)) == [False]
    assert steps.run(steps.steps.ack([OLD], now_ms=400)) == [True]


def test_an_ack_of_a_lease_that_is_no_more_is_refused(steps):
    steps.lease(OLD, now_ms=300)
    steps.lease(NEW, now_ms=600)
    assert steps.run(steps.steps.ack([OLD], now_ms=650)) == [False]
    assert steps.record() == ("l", 900, "new")


def test_a_shard_is_its_servers_until_the_margin_after_the_end_of_its_lease(steps):
    async def serve(zone, now_ms):
        return await steps.steps.serve("b", zone, now_ms=now_ms, ends_ms=now_ms + 200)

    steps("DEL", KEYS.servers)
    assert steps.run(serve("c", 300)) is True
    assert steps.run(serve("a", 500 + MARGIN_MS)) is False
    assert steps.run(serve("a", 500 + MARGIN_MS + 1)) is True
    assert steps.run(serve("c", 530)) is False
    assert steps.run(serve("b", 530)) is True  # the own zone is never refused


async def test_what_cannot_be_copied_whole_is_not_copied(lab):
    """Listed without its payload it would be a phantom, which nobody can deliver."""
    queue = lab.queue("a")
    await queue.push([message()])
    for zone in ZONES:
        await lab.ask(zone, "HDEL", KEYS.messages, "m")
    await lab.ask("c", "FLUSHALL")
    for _ in range(4):
        await queue.compare()
    await lab.sleep(20)
    assert await lab.statuses("m") == ["w", "w", "-"]


async def test_an_orphan_is_left_while_the_only_zone_with_its_tombstone_does_not_answer(lab):
    """Two zones took the ack; then one of them came back empty, and the other is cut off."""
    queue = lab.queue("a")
    delivery = await leased(queue)
    assert await queue.ack(delivery) is True
    await lab.sleep(20)
    await lab.ask("a", "HDEL", KEYS.records, "m")
    await lab.ask("a", "ZREM", KEYS.tombstones, "m")
    await lab.ask("a", "HSET", KEYS.messages, "m", encode(message()))
    await lab.ask("b", "FLUSHALL")
    lab.cluster.links["a", "c"].cut(Cut.DROP)
    async with lab.queue("a", grace_ms=100) as keeper:
        await lab.sleep(2_000)
        assert keeper.counters.adopted == 0
        assert await keeper.pop(1) == []
    assert await lab.statuses("m") == ["-", "-", "d"]


async def test_a_lease_whose_answer_takes_longer_than_it_lasts_is_no_delivery(lab):
    queue = lab.queue("a", lease_ms=1)
    await queue.push([message()])
    for zone in ZONES:
        await lab.cluster.zones[zone].slow_down(1_000)
    assert ids(await queue.pop(1)) == []
    assert await lab.statuses("m") == ["l", "l", "l"]


def test_what_the_first_attempt_may_have_done_is_not_told_as_certainly_not_done():
    async def decide(held):
        if len(held) > 1:
            raise Indeterminate("no quorum")
        raise Unavailable("down")

    answers = asyncio.run(decided_each(decide, [OLD, HardenedLease("n", "t", 1)]))
    assert [type(answer) for answer in answers] == [Indeterminate, Indeterminate]
