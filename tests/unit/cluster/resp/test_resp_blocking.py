"""Goal: clients wait at the port, which looks at the own zone often and at the level rarely, and takes at the level.

Method: a real socket, a coordinator by hand.
"""

import asyncio
import time

from support.coroutines import coroutine

from zonelab.cluster.resp.commands import blocking
from zonelab.cluster.votes.levels import Level

from .conftest import Call, PlayedCoordinator, error, on_port, opened, until


@on_port(level=Level.DC_QUORUM)
async def test_a_blocking_pop_looks_at_the_own_zone_and_takes_at_the_level(port):
    port.server.read_level = Level.DC_ONE
    client = await port.client()
    client.send(b"BLPOP", b"p", b"q", b"0")
    client.send(b"ECHO", b"afterwards")
    for exists in (b":0\r\n", b":0\r\n", b":0\r\n"):
        call = await port.coordinator.call()
        assert call.words[0][0] == b"EXISTS"
        assert call.commands[0] == ("PING",), "a local read"
        call.answer(exists)
    (await port.coordinator.call()).answer(b":1\r\n")
    pop = await port.coordinator.call()
    assert (pop.words, pop.level) == ([[b"LPOP", b"q"]], Level.DC_QUORUM)
    pop.answer(b"$1\r\nx\r\n")
    assert await client.reply() == [b"q", b"x"]
    assert await client.reply() == b"afterwards"
    client.send(b"BLPOP", b"p", b"0.05")
    port.coordinator.reply = b":0\r\n"
    while port.coordinator.calls:
        port.coordinator.calls.popleft().answer(b":0\r\n")
    assert await client.reply() is None
    assert error(await client.ask(b"BLPOP", b"p", b"-1")) == "ERR timeout is negative"
    assert error(await client.ask(b"BLPOP", b"p", b"x")).startswith("ERR timeout is not")


class ZoneBehind(PlayedCoordinator):
    """Its own zone has nothing and the level has ``left`` elements wherever it is asked, in keys called ``has…``."""

    def __init__(self, *, left=3):
        super().__init__(reply=None)
        self.left = left
        self.looked = []

    def submit(self, level, commands, done, *, packed=None):
        call = Call(level, commands, done, packed)
        replies = [self._reply(level, example[0], words) for example, words in zip(commands, call.words, strict=True)]
        self.asked += len(replies)
        asyncio.get_running_loop().call_soon(call.answer, *replies)

    def _reply(self, level, example, words):
        there = self.left and words[1].startswith(b"has")
        if words[0] == b"EXISTS" and example == "GET":
            self.looked.append((level, *words[1:]))
        if words[0] == b"EXISTS":
            return b":%d\r\n" % (example == "GET" and bool(there))
        if not there:
            return b"$-1\r\n"
        self.left -= 1
        return b"$1\r\nj\r\n"


@coroutine
async def test_what_the_own_zone_has_missed_is_popped_at_the_level_once_a_look_has_seen_it():
    coordinator = ZoneBehind()
    async with opened(coordinator=coordinator, level=Level.DC_QUORUM) as port:
        client = await port.client()
        assert [await client.ask(b"BLPOP", b"empty", b"has it", b"0") for _ in range(3)] == [[b"has it", b"j"]] * 3
        assert coordinator.looked.count((Level.DC_QUORUM, b"has it")) == 1, "what is known is taken without a look"
        assert await client.ask(b"BLPOP", b"has it", b"0.01") is None


@coroutine
async def test_clients_of_different_levels_do_not_share_looks_and_at_one_zone_there_are_none():
    coordinator = ZoneBehind(left=0)
    async with opened(coordinator=coordinator, level=Level.DC_QUORUM) as port:
        for level in (b"DC_ONE", b"DC_QUORUM", b"DC_QUORUM", b"DC_SAFE_QUORUM"):
            client = await port.client()
            assert await client.ask(b"DYNO_CONFIG:CONN_CONSISTENCY", level) == b"OK"
            client.send(b"BLPOP", b"q", b"0")
        begin_s = time.monotonic()
        await until(lambda: len(set(coordinator.looked)) == 2)
        await until(lambda begun=coordinator.asked: coordinator.asked > begun + 40)
        assert set(coordinator.looked) == {(Level.DC_QUORUM, b"q"), (Level.DC_SAFE_QUORUM, b"q")}
        assert len(coordinator.looked) <= 2 + (time.monotonic() - begin_s)


@coroutine
async def test_many_clients_that_wait_look_together_no_more_often_than_is_allowed(monkeypatch):
    monkeypatch.setattr(blocking, "LOOKS_PER_S", 100)
    async with opened(reply=b":0\r\n") as port:
        begin_s = time.monotonic()
        for _ in range(50):
            (await port.client()).send(b"BLPOP", b"q", b"0")
        await until(lambda: port.coordinator.asked >= 150)
        looks = port.coordinator.asked
        assert looks <= 50 + 100 * (time.monotonic() - begin_s) + 50


@coroutine
async def test_a_long_command_that_waits_looks_less_often():
    async with opened(reply=b":0\r\n") as port:
        begin_s = time.monotonic()
        (await port.client()).send(b"BLPOP", bytes(1_000_000), b"0")
        await until(lambda: port.coordinator.asked >= 4)
        assert time.monotonic() - begin_s >= 3 * 1_000_000 / blocking.LOOK_BYTES / blocking.LOOKS_PER_S


@on_port()
async def test_a_client_that_leaves_while_it_waits_is_waited_for_no_more(port):
    client = await port.client()
    client.send(b"BLPOP", b"q", b"0")
    (await port.coordinator.call()).answer(b":0\r\n")
    client.close()
    await until(lambda: not port.server.clients)
    (await port.client()).send(b"BLPOP", b"other", b"0")
    asked = []
    while asked.count(b"other") < 5:  # whoever waited for q would have asked about as often
        call = await port.coordinator.call()
        asked += [words[1] for words in call.words]
        call.answer(*[b":0\r\n"] * len(call.commands))
    assert asked.count(b"q") <= 1
