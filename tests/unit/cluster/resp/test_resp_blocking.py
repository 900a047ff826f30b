"""Goal: clients wait at the port, which looks at the own zone often and at the level rarely, and takes at the level.

Method: a real socket, a coordinator by hand.
"""

import asyncio
import time

import pytest
from support.cluster.port_lines import recorded_commands
from support.coroutines import coroutine

from zonelab.cluster.client import waiting
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import table_from
from zonelab.cluster.votes.levels import Level

from .conftest import Call, PlayedCoordinator, error, on_port, opened, until

WHOLE = table_from(recorded_commands())
LONG = "COUNT -1 COUNT -1 COUNT -1"
"""Makes every form of a stream's command long enough, and changes nothing."""


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
    monkeypatch.setattr(waiting, "LOOKS_PER_S", 100)
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
        assert time.monotonic() - begin_s >= 3 * 1_000_000 / waiting.LOOK_BYTES / waiting.LOOKS_PER_S


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


class Zones(PlayedCoordinator):
    """Answers each command with what ``said`` has for its name, and notes at which level it was asked what."""

    def __init__(self, said):
        super().__init__()
        self.said = said
        self.sent = []

    def submit(self, level, commands, done, *, packed=None):
        call = Call(level, commands, done, packed)
        self.sent += [(level, b" ".join(words).decode()) for words in call.words]
        replies = [self.said[words[0].upper()].pop(0) for words in call.words]
        asyncio.get_running_loop().call_soon(call.answer, *replies)


ONE, NONE, NIL = b":1\r\n", b":0\r\n", b"$-1\r\n"
ITEM = wire.bulk(b"x")
PAIR = wire.array([wire.bulk(b"m"), wire.bulk(b"1")])


@pytest.mark.parametrize(
    ("asked", "said", "sent", "answer"),
    [
        ("BLPOP a 0", {"EXISTS": [ONE], "LPOP": [ITEM]}, "EXISTS a; LPOP a", [b"a", b"x"]),
        ("BRPOP a b 0", {"EXISTS": [NONE, ONE], "RPOP": [ITEM]}, "EXISTS a; EXISTS b; RPOP b", [b"b", b"x"]),
        (
            "BLPOP a b 0",
            {"EXISTS": [ONE, ONE], "LPOP": [NIL, ITEM]},
            "EXISTS a; LPOP a; EXISTS b; LPOP b",
            [b"b", b"x"],
        ),
        ("BZPOPMIN z 0", {"EXISTS": [ONE], "ZPOPMIN": [PAIR]}, "EXISTS z; ZPOPMIN z", [b"z", b"m", b"1"]),
        ("BZPOPMAX z 0", {"EXISTS": [ONE], "ZPOPMAX": [PAIR]}, "EXISTS z; ZPOPMAX z", [b"z", b"m", b"1"]),
        ("BLMOVE a b LEFT right 0", {"EXISTS": [ONE], "LMOVE": [ITEM]}, "EXISTS a; LMOVE a b LEFT right", b"x"),
        ("BRPOPLPUSH a b 0", {"EXISTS": [ONE], "RPOPLPUSH": [ITEM]}, "EXISTS a; RPOPLPUSH a b", b"x"),
        ("BLMPOP 0 2 a b LEFT", {"EXISTS": [ONE], "LMPOP": [PAIR]}, "EXISTS a b; LMPOP 2 a b LEFT", [b"m", b"1"]),
        (
            "BZMPOP 0 1 z min count 2",
            {"EXISTS": [ONE], "ZMPOP": [PAIR]},
            "EXISTS z; ZMPOP 1 z min count 2",
            [b"m", b"1"],
        ),
        ("BLPOP a 0", {"EXISTS": [b"-ERR no\r\n"]}, "EXISTS a", "ERR no"),
        ("BLPOP a b 0", {"EXISTS": [ONE], "LPOP": [b"-WRONGTYPE it\r\n"]}, "EXISTS a; LPOP a", "WRONGTYPE it"),
        # what is wrong with it a zone says, and nobody waits
        ("BLMPOP 0 2 a LEFT", {"LMPOP": [b"-ERR syntax\r\n"]}, "LMPOP 2 a LEFT", "ERR syntax"),
        ("BLMOVE a b UP left x", {"LMOVE": [b"-ERR syntax\r\n"]}, "LMOVE a b UP left", "ERR syntax"),
        # streams
        ("XREAD STREAMS s 0", {"XREAD": [PAIR]}, f"XREAD {LONG} STREAMS s 0", [b"m", b"1"]),
        ("XREAD BLOCK 0 STREAMS s 0", {"XREAD": [PAIR]}, f"XREAD {LONG} STREAMS s 0", [b"m", b"1"]),
        ("XREAD block 5 COUNT 2 streams s 0", {"XREAD": [PAIR]}, f"XREAD {LONG} COUNT 2 streams s 0", [b"m", b"1"]),
        ("XREAD BLOCK 9 BLOCK 0 STREAMS s 0", {"XREAD": [PAIR]}, f"XREAD {LONG} STREAMS s 0", [b"m", b"1"]),
        (
            "XREADGROUP GROUP g c BLOCK 5 NOACK STREAMS s >",
            {"XREADGROUP": [PAIR]},
            f"XREADGROUP {LONG} GROUP g c NOACK STREAMS s >",
            [b"m", b"1"],
        ),
        ("XREAD BLOCK x STREAMS s 0", {"XREAD": [b"-ERR t\r\n"]}, f"XREAD {LONG} BLOCK x", "ERR t"),
        ("XREAD BLOCK 01 STREAMS s 0", {"XREAD": [b"-ERR t\r\n"]}, f"XREAD {LONG} BLOCK 01", "ERR t"),
        ("XREAD BLOCK 5 OTHER s 0", {"XREAD": [b"-ERR t\r\n"]}, f"XREAD {LONG} OTHER", "ERR t"),
        ("XREAD BLOCK 5 STREAMS s 0 1", {"XREAD": [b"-ERR t\r\n"]}, f"XREAD {LONG} STREAMS s 0 1", "ERR t"),
        ("XREAD COUNT 1 BLOCK", {"XREAD": [b"-ERR t\r\n"]}, f"XREAD {LONG} COUNT 1 BLOCK", "ERR t"),
        (
            "XREAD BLOCK 0 STREAMS s t $ 0-1",
            {"XREVRANGE": [wire.array([wire.array([wire.bulk(b"7-2"), PAIR])])], "XREAD": [b"*-1\r\n", PAIR]},
            f"XREVRANGE s + - COUNT 1; XREAD {LONG} STREAMS s t 7-2 0-1; XREAD {LONG} STREAMS s t 7-2 0-1",
            [b"m", b"1"],
        ),
        (
            "XREAD BLOCK 0 STREAMS s $",
            {"XREVRANGE": [b"*0\r\n"], "XREAD": [PAIR]},
            f"XREVRANGE s + - COUNT 1; XREAD {LONG} STREAMS s 0-0",
            [b"m", b"1"],
        ),
    ],
)
@coroutine
async def test_zones_are_asked_without_waiting_in_the_form_that_takes_the_same(asked, said, sent, answer):
    zones = Zones({name.encode(): replies for name, replies in said.items()})
    async with opened(coordinator=zones, table=WHOLE) as port:
        client = await port.client()
        found = await client.ask(*asked.encode().split())
        assert (error(found) if isinstance(answer, str) else found) == answer
        assert [words for _, words in zones.sent] == sent.split("; ")
        assert (port.server.room.waiting, any(zones.said.values())) == (0, False)


@coroutine
async def test_the_last_entry_of_a_stream_is_the_later_one_of_the_own_zone_and_the_level():
    last = [wire.array([wire.array([wire.bulk(name), PAIR])]) for name in (b"9-1", b"10-0")]
    for said in (last, last[::-1]):
        zones = Zones({b"XREVRANGE": list(said), b"XREAD": [PAIR]})
        async with opened(coordinator=zones, table=WHOLE, level=Level.DC_QUORUM) as port:
            client = await port.client()
            await client.ask(b"XREAD", b"BLOCK", b"0", b"STREAMS", b"s", b"$")
            assert zones.sent[-1] == (Level.DC_QUORUM, f"XREAD {LONG} STREAMS s 10-0")
            assert len(zones.sent) == 3


@pytest.mark.parametrize(
    ("timeout", "told"),
    [
        (b"9.2e15", None),
        (b"9.3e15", "ERR timeout is out of range"),
        (b"inf", "ERR timeout is out of range"),
        (b"-0", None),
        (b"-0.001", "ERR timeout is negative"),
        (b"1_0", "ERR timeout is not a float or out of range"),
        (b"nan", "ERR timeout is not a float or out of range"),
        (b"0x10", None),
    ],
)
@coroutine
async def test_a_time_out_is_a_number_as_c_reads_it(timeout, told):
    zones = Zones({b"EXISTS": [ONE], b"LPOP": [ITEM]})
    async with opened(coordinator=zones) as port:
        found = await (await port.client()).ask(b"BLPOP", b"a", timeout)
        assert (found if told is None else error(found)) == ([b"a", b"x"] if told is None else told)
