"""Goal: of commands sent together each is answered once it and those before it are decided, and in their order.

Method: a port over a real coordinator of three zones, whose answers the test gives by hand. Netflix Dynomite at 2046b05
answers so (measured on 22 November 2026).
"""

from functools import partial
from random import Random

import pytest
from support.coroutines import coroutine

from zonelab.cluster.admin.latency import LatencyProbe
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.options.read_repair.coordinator import RepairingCoordinator
from zonelab.cluster.options.strict.door import StrictDoor
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError

from .conftest import error, opened, until

A, B, C = (wire.bulk(value) for value in (b"a", b"b", b"c"))


class HeldChannel:
    connected = True

    def __init__(self):
        self.waiting = []

    def submit(self, batch, done):
        self.waiting.append((batch, done))

    def answer(self, *replies):
        self.waiting.pop(0)[1](list(replies))


class QuorumPort:
    """A port at DC_QUORUM, and its zones."""

    def __init__(self, *, option=None):
        self.zones = [HeldChannel() for _ in "abc"]
        made = partial(RepairingCoordinator, now_ms=lambda: 1, codec=WireCodec()) if option == "read repair" else None
        channels = dict(zip("abc", self.zones, strict=True))
        self.coordinator = (made or PlainCoordinator)(zone="a", channels=channels, runtime=SimRuntime(seed=1))
        if option == "strict":
            count = self.coordinator.statistics.count
            self.coordinator.door = StrictDoor(zones=3, data_centres=1, codec=WireCodec(), count=count)

    def open(self):
        return opened(coordinator=self.coordinator, level=Level.DC_QUORUM)

    async def asked(self, batches=1):
        await until(lambda: len(self.zones[2].waiting) == batches)

    def answer(self, *answers):
        for zone, replies in zip(self.zones, answers, strict=False):
            zone.answer(*replies)


def gets(count):
    return wire.command(b"GET", b"k") * count


async def two_come_before_the_third_zone(quorum, client, a, b, c):
    """Of four GETs, of which the third has no majority until the third zone has answered."""
    client.send_raw(gets(4))
    await quorum.asked()
    quorum.answer([a, a, b, a], [a, a, c, a])
    assert [await client.reply(), await client.reply()] == [b"a", b"a"]
    quorum.zones[2].answer(a, a, c, a)
    assert [await client.reply(), await client.reply()] == [b"c", b"a"]


@pytest.mark.parametrize("sampled", [False, True])
@coroutine
async def test_what_is_decided_is_answered_before_what_comes_after_it(sampled):
    quorum = QuorumPort()
    async with quorum.open() as port:
        if sampled:
            LatencyProbe(random=Random(1)).attach(port.server)
        client = await port.client()
        await two_come_before_the_third_zone(quorum, client, A, B, C)
        assert await client.ask(b"ECHO", b"hi") == b"hi"


@pytest.mark.parametrize("option", ["strict", "read repair"])
@coroutine
async def test_so_it_is_where_what_zones_answer_is_looked_at(option):
    quorum = QuorumPort(option=option)
    versioned = (wire.array([wire.bulk(b"E"), wire.integer(1), value]) for value in (A, B, C))
    a, b, c = versioned if option == "read repair" else (A, B, C)
    async with quorum.open() as port:
        await two_come_before_the_third_zone(quorum, await port.client(), a, b, c)


@coroutine
async def test_what_strict_mode_refuses_is_answered_with_what_is_decided_before_it():
    quorum = QuorumPort(option="strict")
    async with quorum.open() as port:
        client = await port.client()
        client.send_raw(gets(1) + wire.command(b"GET", b"") + gets(1))
        await quorum.asked()
        quorum.answer([A, B], [A, C])
        assert await client.reply() == b"a"
        assert "an empty key" in error(await client.reply())
        quorum.zones[2].answer(A, C)
        assert await client.reply() == b"c"


@coroutine
async def test_first_answers_wait_for_those_to_commands_of_another_kind_before_them():
    quorum = QuorumPort()
    async with quorum.open() as port:
        client = await port.client()
        client.send_raw(wire.command(b"SET", b"k", b"v") + gets(2))
        await quorum.asked(2)
        (_, told_a), (_, told_b) = (zone.waiting.pop() for zone in quorum.zones[:2])
        told_a([ServerError("ERR that"), B])
        told_b([ServerError("ERR that"), C])
        quorum.answer([wire.OK], [wire.OK])
        assert await client.reply() == b"OK"
        assert error(await client.reply()) == "ERR that"
        _, told_c = quorum.zones[2].waiting.pop()
        told_c([A, C])
        assert await client.reply() == b"c"


@coroutine
async def test_first_answers_to_a_client_that_has_left_go_nowhere():
    quorum = QuorumPort()
    async with quorum.open() as port:
        client, other = await port.client(), await port.client()
        client.send_raw(gets(2))
        await quorum.asked()
        port.server.clients[0].connection_lost(None)
        quorum.answer([A, B], [A, C], [A, C])
        other.send_raw(gets(1))
        await quorum.asked()
        quorum.answer([A], [A])
        assert await other.reply() == b"a"
