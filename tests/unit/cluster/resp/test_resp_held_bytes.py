"""Goal: what is held for all clients of a port stays within one bound. Method: a real socket, a coordinator by hand."""

import asyncio

import pytest

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.resp.settings import PortSettings

from .conftest import on_port, until

OK = b"+OK\r\n"
MB = 1_000_000
LARGE = wire.bulk(bytes(12 * MB))
LIMITS = CommandLimits(argument_bytes=64 * MB, command_bytes=64 * MB)
GET = wire.command(b"GET", b"k")

HOLDING = {
    "unfinished commands": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30000000\r\n" + bytes(12 * MB),
    "queues of MULTI": wire.command(b"MULTI") + wire.command(b"SET", b"k", bytes(MB)) * 12,
    "replies not taken": GET,
}


@pytest.mark.parametrize("what", HOLDING)
@on_port(reply=LARGE, held_bytes_max=40 * MB, commands=LIMITS)
async def test_at_the_bound_clients_are_closed_until_the_others_fit_again(port, what):
    clients = [await port.client(limit=1024) for _ in range(8)]
    for client in clients:
        client.send_raw(HOLDING[what])
    await until(lambda: port.server.statistics.over_memory >= 4 and len(port.server.clients) <= 4)
    assert port.server.counts()["over_memory"] == 8 - len(port.server.clients)
    assert 8 * MB < port.server.memory.total == port.server.counts()["held_bytes"] <= 40 * MB
    well = await port.client()
    assert await well.ask(b"ECHO", b"well") == b"well"
    for client in clients:
        client.close()
    await until(lambda: len(port.server.clients) == 1)
    assert port.server.memory.total == 0


@on_port(reply=OK, held_bytes_max=4 * MB, commands=LIMITS)
async def test_it_is_the_client_that_holds_most_that_is_closed(port):
    clients = [await port.client() for _ in range(3)]
    for client, size in zip(clients, (1, 2, 1), strict=True):
        held = port.server.memory.total
        client.send_raw(HOLDING["unfinished commands"][: size * MB])
        await until(lambda held=held, size=size: port.server.memory.total >= held + size * MB)
    clients[2].send_raw(bytes(MB // 2))
    assert await clients[1].closed()
    assert [session.identity for session in port.server.clients] == [1, 3]
    assert port.server.statistics.over_memory == 1


@on_port(reply=OK)
async def test_a_queue_of_many_small_commands_counts_with_what_each_of_them_takes_beside_its_bytes(port):
    client = await port.client()
    client.send_raw(wire.command(b"MULTI") + GET * 1_000)
    await until(lambda: port.server.memory.total >= 1_000 * (len(GET) + 100))
    assert (await client.reply(), await client.reply()) == (b"OK", b"QUEUED")
    client.send(b"DISCARD")
    await until(lambda: port.server.memory.total == 0)


async def _replies(client, count):
    return [await client.reply() for _ in range(count)]


@on_port(reply_bytes=3 * MB)
async def test_large_replies_of_all_clients_together_are_asked_for_as_far_as_they_fit(port):
    reply = wire.bulk(bytes(9 * MB // 10))
    clients = [await port.client() for _ in range(5)]
    for client in clients:
        client.send_raw(GET)
        (await port.coordinator.call()).answer(reply)
        await client.reply()
    for client in clients:
        client.send_raw(GET * 4)
    await until(lambda: port.coordinator.calls)
    clients[4].close()
    reading = asyncio.gather(*[_replies(client, 4) for client in clients[:4]])
    while not reading.done() or len(port.server.clients) > 4 or port.coordinator.calls:
        assert sum(len(call.commands) for call in port.coordinator.calls) <= 3
        if port.coordinator.calls:
            call = port.coordinator.calls.popleft()
            call.answer(*[reply] * len(call.commands))
        await asyncio.sleep(0)
    assert [list(map(len, values)) for values in await reading] == [[9 * MB // 10] * 4] * 4
    assert port.server.memory.expected == 0


BEYOND = MB // 10
"""A command may be as much larger than the room that is left, and what is read behind it."""

SENT = {
    "one command after another": wire.command(b"SET", b"k", bytes(MB)) * 3,
    "many smaller ones": wire.command(b"SET", b"k", bytes(MB // 100)) * 300,
    "of many kinds": (wire.command(b"SET", b"k", bytes(MB // 100)) + wire.command(b"MGET", bytes(MB // 100))) * 150,
    "a transaction": wire.command(b"MULTI") + wire.command(b"SET", b"k", bytes(MB // 3)) * 9 + wire.command(b"EXEC"),
}


@pytest.mark.parametrize("what", SENT)
@on_port(reply_bytes=2 * MB)
async def test_large_commands_of_all_clients_together_are_handed_on_as_far_as_they_fit(port, what):
    """Else they fill what may wait for a zone's server, whose connection then breaks for everybody."""
    clients = [await port.client() for _ in range(8)]
    reading = [asyncio.ensure_future(client.closed()) for client in clients]
    good = await port.client()
    for client in clients:
        client.send_raw(SENT[what] + wire.command(b"QUIT"))
    most, under_way = 0, port.coordinator.calls
    while len(port.server.clients) > 1:
        before = len(under_way)
        asked = asyncio.ensure_future(good.ask(b"SET", b"good", b"good"))
        await until(lambda before=before: any(b"good" in call.packed for call in list(under_way)[before:]))
        most = max(most, sum(len(call.packed) for call in under_way))
        for call in [under_way.popleft() for _ in range(len(under_way))]:
            call.answer(*[OK] * len(call.commands))
        assert await asked == b"OK"
    assert 2 * MB - BEYOND < most < 2 * MB + (3 * MB if what == "a transaction" else MB) + BEYOND
    assert await asyncio.gather(*reading) == [True] * 8
    assert port.server.memory.expected == 0


@on_port()
async def test_clients_of_which_nothing_is_known_share_what_may_be_under_way(port):
    count = 20
    clients = [await port.client() for _ in range(count)]
    await until(lambda: len(port.server.clients) == count)
    for client in clients:
        client.send_raw(GET * 10)
    await until(lambda: sum(session.commands > 0 for session in port.server.clients) == count)
    await asyncio.sleep(0)
    handed = sum(len(call.commands) for call in port.coordinator.calls)
    assert count <= handed <= count + 2 * PortSettings().in_flight_begin
    reading = asyncio.gather(*[_replies(client, 10) for client in clients])
    while not reading.done():
        if port.coordinator.calls:
            call = port.coordinator.calls.popleft()
            call.answer(*[OK] * len(call.commands))
        await asyncio.sleep(0)
    assert await reading == [[b"OK"] * 10] * count
    assert port.server.memory.strangers == 0


@on_port(reply=b":0\r\n")
async def test_a_command_that_waits_counts_as_long_as_it_waits(port):
    client = await port.client()
    client.send(b"BLPOP", bytes(MB), b"0")
    await until(lambda: port.server.memory.total >= MB)
    client.close()
    await until(lambda: port.server.memory.total == 0)


@on_port()
async def test_of_what_the_port_asks_for_a_client_only_large_commands_count_and_only_while_they_are_under_way(port):
    around = len(wire.command(b"EXISTS", bytes(20_000))) - 20_000
    for size in (15_000, 16_384, 16_385, 20_000):
        client = await port.client()
        client.send(b"BLPOP", bytes(size - around), b"0")
        look = await port.coordinator.call()
        assert len(look.packed) == size
        assert port.server.memory.expected == (size if size > 16_384 else 0)
        look.answer(b":1\r\n")
        pop = await port.coordinator.call()
        assert port.server.memory.expected == (len(pop.packed) if len(pop.packed) > 16_384 else 0)
        pop.answer(b"$1\r\nx\r\n")
        assert (await client.reply())[1] == b"x"
        assert port.server.memory.expected == 0
