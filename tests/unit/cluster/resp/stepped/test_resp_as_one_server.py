"""Goal: the port over three zones answers as one plain server did. Method: recorded lines that one or two clients send.

The port is in virtual time, its zones are models of servers, and reads have the level of writes or a lower one.
"""

import asyncio
from random import Random

import pytest
from support.cluster.port_lines import SAME, TWO_CLIENTS, recorded_commands, recorded_lines
from support.cluster.stepped_port import in_virtual_time

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError

COMMANDS = recorded_commands()
RECORDED = recorded_lines()
LONG_S = 3600
STATUSES = (b"OK", b"PONG", b"string", b"none")
NOT_MODELLED = (b"SORT", b"XREAD", b"COMMAND", b"HELLO", b"SUBSCRIBE")


class Zone:
    """A model of a server, and of as much as the port asks of commands that the model has not."""

    def __init__(self):
        self.model = RedisModel(clock_us=lambda: 0, random=Random(1))

    def __call__(self, words, protocol):
        name = words[0].upper()
        if name in (b"WATCH", b"UNWATCH"):
            return wire.OK
        if name == b"BLPOP":  # in a transaction, where it waits for nothing
            found = self.model.execute(("LPOP", words[1]))
            return wire.NIL_ARRAY[2] if found is None else as_wire([words[1], found])
        if name in (b"LMPOP", b"ZMPOP"):
            return self.popped_of_many(name, *words[1:])
        return as_wire(self.model.execute(tuple(words)))

    def value_of(self, key):
        return self.model.execute(("GET", key))

    def popped_of_many(self, name, count, *rest):
        if not (count.isdigit() and not count.startswith(b"0")):
            return wire.error("ERR numkeys should be greater than 0")
        keys, end, options = rest[: int(count)], rest[int(count) : int(count) + 1], rest[int(count) + 1 :]
        pops = {b"LEFT": "LPOP", b"RIGHT": "RPOP"} if name == b"LMPOP" else {b"MIN": "ZPOPMIN", b"MAX": "ZPOPMAX"}
        pop = pops.get(b"".join(end).upper())
        if pop is None or len(options) not in (0, 2) or (options and options[0].upper() != b"COUNT"):
            return wire.error("ERR syntax error")
        if options and not (options[1].isdigit() and int(options[1])):
            return wire.error("ERR count should be greater than 0")
        for key in keys:
            found = self.model.execute((pop, key, options[1] if options else 1))
            if isinstance(found, ServerError):
                return as_wire(found)
            if found:
                pairs = (
                    found if name == b"LMPOP" else [list(pair) for pair in zip(found[::2], found[1::2], strict=True)]
                )
                return as_wire([key, pairs])
        return wire.NIL_ARRAY[2]


def as_wire(reply):
    """``reply`` in RESP2."""
    if isinstance(reply, ServerError):
        return wire.error(str(reply))
    if isinstance(reply, list):
        return wire.array(map(as_wire, reply))
    if isinstance(reply, int):
        return wire.integer(reply)
    if reply is None:
        return wire.NIL[2]
    return wire.status(reply.decode()) if reply in STATUSES else wire.bulk(reply)


@pytest.mark.parametrize("read_level", [Level.DC_QUORUM, Level.DC_ONE])
def test_the_port_answers_what_a_plain_server_answered(read_level):
    zones = [Zone() for _ in range(3)]
    lines = {line: [b"0 " + words for words in line.split(b"; ")] for line in SAME}
    lines |= {line: line.split(b"; ") for line in TWO_CLIENTS}

    async def test(port):
        port.host.read_level = read_level
        for server, zone in zip(port.servers.values(), zones, strict=True):
            server.value_of = zone.value_of
        for line, commands in lines.items():
            if not any(name in words for name in NOT_MODELLED for words in commands):
                assert await said(port, commands) == RECORDED[line], line
                await asyncio.sleep(1)
                for zone in zones:
                    zone.model.execute(("FLUSHALL",))
        await asyncio.sleep(LONG_S)
        port.nothing_held()

    in_virtual_time(test, COMMANDS, zones, level=Level.DC_QUORUM)


async def said(port, commands):
    clients, found = [port.client(), port.client()], []
    for words in commands:
        number, command = words.split(b" ", 1)
        client = clients[int(number)]
        client.heard = b""
        await client.ask(*command.split(b" "))
        found.append(client.heard)
    for client in clients:
        client.leave()
    return found


@pytest.mark.parametrize("read_level", [Level.DC_QUORUM, Level.DC_ONE])
def test_who_waits_for_nothing_is_told_so_when_its_time_is_over(read_level):
    async def test(port):
        port.host.read_level = read_level
        client = port.client()
        for words, timeout_s in (
            (b"BLPOP k 0.5", 0.5),
            (b"BRPOP k l 7", 7),
            (b"BLMOVE k l LEFT LEFT 3", 3),
            (b"BZMPOP 2 1 z MIN", 2),
            (b"XREAD BLOCK 1500 STREAMS s 0", 1.5),
        ):
            begin_s = port.loop.time()
            assert await client.ask(*words.split(b" ")) is None
            assert timeout_s <= port.loop.time() - begin_s < timeout_s + 0.1, words
            assert port.host.room.waiting == 0

    in_virtual_time(test, COMMANDS, [NoStream() for _ in range(3)], level=Level.DC_QUORUM)


class NoStream(Zone):
    def __call__(self, words, protocol):
        return wire.NIL_ARRAY[2] if words[0] == b"XREAD" else super().__call__(words, protocol)
