"""Goal: what a client has sent before it leaves is carried out. Method: a real socket, a coordinator by hand.

A client of Dynomite that closes or half-closes after 3,000 pipelined SETs has all of them applied (measured 22 November
2026, commit 2046b05).
"""

import asyncio
import fcntl
import struct
import termios

import pytest

from zonelab.cluster.resp.protocol import wire

from .conftest import on_port, until

OK = b"+OK\r\n"
NEVER = wire.command(b"SET", b"k", b"never")
DEADLINE_S = 30


def sets(count):
    return [wire.command(b"SET", b"k", b"%d" % number) for number in range(count)]


async def answered(port, ended):
    """Answer what is handed on, one after another with turns of the loop between, until ``ended``; what it was."""
    raws = []
    async with asyncio.timeout(DEADLINE_S):
        while not ended(raws):
            if port.coordinator.calls:
                call = port.coordinator.calls.popleft()
                raws += [wire.command(*words) for words in call.words]
                call.answer(*[OK] * len(call.commands))
            await asyncio.sleep(0.002)
    return raws


def unsent(client):
    """Bytes that have not arrived in the buffers of the port's side."""
    socket = client.writer.get_extra_info("socket")
    queued = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4)))[0]
    return queued + client.writer.transport.get_write_buffer_size()


@pytest.mark.parametrize("count", [60, 200])
@pytest.mark.parametrize(
    ("last", "told"),
    [
        (b"", []),
        (wire.command(b"MULTI") + NEVER, [b"OK", b"QUEUED"]),
        (wire.command(b"BLPOP", b"q", b"0"), []),
        (wire.command(b"QUIT") + NEVER, [b"OK"]),
        (wire.command(b"RESET") + wire.command(b"ECHO", b"x") + wire.command(b"RESET"), [b"RESET", b"x", b"RESET"]),
        (wire.command(b"UNSUBSCRIBE"), [[b"unsubscribe", None, 0]]),
        (wire.command(b"PUNSUBSCRIBE", b"p", b"q"), [[b"punsubscribe", b"p", 0], [b"punsubscribe", b"q", 0]]),
    ],
    ids=["nothing", "half a transaction", "what would wait", "QUIT", "RESET", "UNSUBSCRIBE", "PUNSUBSCRIBE"],
)
@on_port()
async def test_a_client_that_half_closes_is_answered_up_to_what_would_wait_and_then_closed(port, count, last, told):
    client = await port.client()
    client.send_raw(b"".join(sets(count)) + last)
    client.writer.write_eof()
    assert await answered(port, lambda raws: len(raws) == count) == sets(count)
    assert [await client.reply() for _ in range(count + len(told))] == [b"OK"] * count + told
    assert await client.closed()
    await until(lambda: not port.server.clients)
    assert NEVER not in [call.packed for call in port.coordinator.calls]


@pytest.mark.parametrize(
    "last",
    [b"", wire.command(b"BLPOP", b"q", b"0") + NEVER, wire.command(b"WATCH", b"k") + NEVER, b"*x\r\n" + NEVER],
    ids=["nothing", "BLPOP", "WATCH", "no command"],
)
@on_port(in_flight_max=50)
async def test_what_was_received_of_a_client_that_is_gone_is_carried_out_up_to_what_would_wait(port, last):
    client = await port.client()
    client.send_raw(b"".join(sets(200)) + last)
    await until(lambda: port.coordinator.calls)
    client.writer.transport.abort()
    raws = await answered(port, lambda raws: not port.server.clients and not port.coordinator.calls)
    assert raws == sets(200)


@on_port(in_flight_max=50)
async def test_what_has_reached_the_port_and_was_not_read_yet_is_carried_out_as_well(port):
    client = await port.client()
    client.send_raw(b"".join(sets(3_000)))
    await client.writer.drain()
    await until(lambda: unsent(client) == 0)
    client.writer.transport.abort()
    raws = await answered(port, lambda raws: not port.server.clients and not port.coordinator.calls)
    assert raws == sets(3_000)


@on_port(reply=b":0\r\n")
async def test_a_client_that_half_closes_while_it_waits_is_let_go(port):
    client = await port.client()
    client.send(b"BLPOP", b"q", b"0")
    await until(lambda: port.coordinator.asked)
    client.writer.write_eof()
    assert await client.closed()
    await until(lambda: not port.server.clients)
