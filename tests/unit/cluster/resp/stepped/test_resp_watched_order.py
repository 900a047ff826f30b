"""Goal: what one client sends keeps its order around WATCH and EXEC. Method: a port in virtual time, zones that stall.

WATCH and EXEC have connections of their own to each zone; a zone that goes on after a stall takes its connections in
any order.
"""

import asyncio
from functools import partial

import pytest
from support.cluster.stepped_port import in_virtual_time, until

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

from ..conftest import COMMANDS

STALL_S = 0.5
TIME_OUT_S = 5.0


class Store:
    """What a server has executed, in order, and its values."""

    def __init__(self):
        self.executed = []
        self.values = {}

    def __call__(self, words, protocol):
        name, *rest = words
        self.executed.append(name.decode())
        if name == b"SET":
            self.values[rest[0]] = rest[1]
            return wire.OK
        if name in (b"GET", b"HGETALL"):
            return wire.bulk(self.values[rest[0]]) if rest[0] in self.values else wire.NIL[protocol]
        return b"+PONG\r\n" if name == b"PING" else wire.OK


def play(test, *, level=Level.DC_QUORUM):
    stores = [Store() for _ in range(3)]
    in_virtual_time(lambda port: test(port, stores), COMMANDS, stores, level=level)


async def transaction(client, *, value=b"1"):
    """A watched transaction up to the reply to EXEC."""
    assert await client.ask(b"WATCH", b"k") == b"OK"
    assert await client.ask(b"MULTI") == b"OK"
    assert await client.ask(b"SET", b"k", value) == b"QUEUED"
    client.send(wire.command(b"EXEC"))


def test_what_follows_exec_does_not_overtake_it_in_a_zone_that_is_late():
    async def test(port, stores):
        client, late = port.client(), port.servers["a"]
        await transaction(client)
        late.pause()
        assert await client.reply() == [b"OK"], "two zones are enough for the answer"
        port.loop.call_later(STALL_S, late.resume)
        assert await client.ask(b"HGETALL", b"k") == b"1", "read in the own zone"
        assert port.loop.time() > STALL_S

    play(test)


@pytest.mark.parametrize("newest_first", [False, True])
def test_watch_and_exec_do_not_overtake_what_the_client_wrote_before(newest_first):
    async def test(port, stores):
        client, late = port.client(), port.servers["c"]
        for number, command in enumerate((b"WATCH", b"EXEC")):
            if command == b"EXEC":
                assert await client.ask(b"WATCH", b"k") == b"OK"
            late.pause()
            assert await client.ask(b"SET", b"k", b"before") == b"OK"
            port.loop.call_later(STALL_S, partial(late.resume, newest_first=newest_first))
            if command == b"WATCH":
                assert await client.ask(b"WATCH", b"k") == b"OK"
                assert await client.ask(b"UNWATCH") == b"OK"
                assert stores[2].executed[-3:-1] == ["SET", "PING"]
            else:
                await client.ask(b"MULTI")
                await client.ask(b"SET", b"k", b"after")
                assert await client.ask(b"EXEC") == [b"OK"]
                await asyncio.sleep(STALL_S)
            assert port.loop.time() > (number + 1) * STALL_S
        assert [store.values for store in stores] == [{b"k": b"after"}] * 3

    play(test)


def test_who_has_only_read_before_waits_for_nothing():
    async def test(port, stores):
        client = port.client()
        await client.ask(b"GET", b"k")
        await transaction(client)
        await client.reply()
        once = ["GET", "WATCH", "SET", "PING"]
        assert [store.executed for store in stores] == [once] * 3
        await transaction(client)
        assert await client.reply() == [b"OK"]
        assert stores[0].executed == once + once[1:], "the last EXEC is in order already"

    play(test)


def test_what_a_client_sends_behind_exec_before_it_leaves_is_carried_out():
    async def test(port, stores):
        client, late = port.client(), port.servers["c"]
        await transaction(client)
        late.pause()
        assert await client.reply() == [b"OK"]
        client.send(wire.command(b"SET", b"k", b"2"))
        client.leave()
        await asyncio.sleep(STALL_S)
        assert stores[0].values == {b"k": b"1"}
        late.resume()
        await until(lambda: not port.host.clients)
        await asyncio.sleep(STALL_S)
        assert [store.values for store in stores] == [{b"k": b"2"}] * 3
        port.nothing_held()

    play(test)


@pytest.mark.parametrize("level", [Level.DC_ONE, Level.DC_QUORUM])
def test_a_zone_that_says_nothing_holds_the_next_command_up_to_its_time_out(level):
    async def test(port, stores):
        client = port.client()
        await transaction(client)
        port.servers["c"].pause()
        begin_s = port.loop.time()
        assert await client.reply() == [b"OK"]
        assert port.loop.time() < begin_s + STALL_S
        assert await client.ask(b"GET", b"k") == b"1"
        assert begin_s + TIME_OUT_S <= port.loop.time() < begin_s + TIME_OUT_S + STALL_S
        port.servers["c"].resume()
        client.leave()
        await asyncio.sleep(STALL_S)
        port.nothing_held()

    play(test, level=level)
