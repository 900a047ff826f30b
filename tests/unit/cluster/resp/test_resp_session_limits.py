"""Goal: no client takes more of the port than its limits allow. Method: a real socket, a coordinator by hand."""

import asyncio
from contextlib import suppress
from itertools import pairwise

import pytest
from support.coroutines import coroutine

from zonelab.cluster.resp.commands.client_list import TURN_CLIENTS
from zonelab.cluster.resp.commands.connection_commands import NAME_BYTES_MAX
from zonelab.cluster.resp.commands.dispatch import ARGUMENTS_MAX, WAITING_BYTES_MAX
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.session import GUEST_BYTES_MAX
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.resp.turn_shares import TURN_MAX

from .conftest import DEADLINE_S, error, on_port, opened, until

OK = b"+OK\r\n"


@on_port(in_flight_max=10)
async def test_a_client_with_too_much_under_way_is_not_read_from(port):
    client = await port.client()
    command = wire.command(b"SET", b"k", b"v" * 1000)
    total = 20_000
    sending = asyncio.ensure_future(_send(client, command * total))
    handed = 0
    first = await port.coordinator.call()
    [session] = port.server.clients
    await until(lambda: not session.transport.is_reading())
    other = await port.client()
    for _ in range(50):  # turns of the loop, in each of which a client whose turn is over is read from again
        await other.ask(b"ECHO", b"x")
    assert not session.transport.is_reading()
    assert len(first.commands) <= 10
    assert not port.coordinator.calls
    assert not sending.done(), "20 MB were taken from a client whose commands wait"
    assert session._scanner.held < 600_000
    call = first
    while handed < total:
        handed += len(call.commands)
        call.answer(*[OK] * len(call.commands))
        if handed < total:
            call = await port.coordinator.call()
    await sending
    assert [await client.reply() for _ in range(total)] == [b"OK"] * total


@pytest.mark.parametrize(
    ("command", "most"),
    [
        pytest.param(wire.command(b"ECHO", b"x"), 2 * TURN_MAX, id="answered by the port"),
        pytest.param(wire.command(b"GET", b"k"), 16 * TURN_MAX, id="forwarded and answered at once"),
    ],
)
@coroutine
async def test_what_one_client_gets_in_a_turn_of_the_loop_is_bounded(command, most):
    total = 8_000
    async with opened(reply=b"$1\r\nx\r\n") as port:
        client = await port.client()
        assert await client.ask(b"ECHO", b"first") == b"first"
        [session] = port.server.clients
        client.send_raw(command * total)
        turns, before = [], session.commands
        async with asyncio.timeout(DEADLINE_S):
            while sum(turns) < total:
                await asyncio.sleep(0)
                turns.append(session.commands - before)
                before = session.commands
        assert max(turns) <= most
        assert [await client.reply() for _ in range(total)] == [b"x"] * total


@pytest.mark.parametrize("empty", [b"\r\n", b"*0\r\n"])
@on_port()
async def test_empty_commands_count_in_the_turn_and_what_follows_them_is_answered(port, empty):
    client = await port.client()
    assert await client.ask(b"ECHO", b"first") == b"first"
    [session] = port.server.clients
    session.data_received(empty * (40_000 // len(empty)) + wire.command(b"ECHO", b"last"))
    held = [session._scanner.held]
    async with asyncio.timeout(DEADLINE_S):
        while session._scanner.held:
            await asyncio.sleep(0)
            held.append(session._scanner.held)
    assert max(before - after for before, after in pairwise(held)) <= 2 * 4096
    assert await client.reply() == b"last"


@coroutine
async def test_clients_that_all_have_much_to_do_share_a_turn_of_the_loop():
    count, total = 64, 600
    async with opened() as port:
        clients = [await port.client() for _ in range(count)]
        await until(lambda: len(port.server.clients) == count)
        for client in clients:
            client.send_raw(wire.command(b"ECHO", b"x") * total)
        sessions, shared = port.server.clients, []
        before = [0] * count
        async with asyncio.timeout(DEADLINE_S):
            while sum(before) < count * total:
                await asyncio.sleep(0)
                now = [session.commands for session in sessions]
                if min(before) >= TURN_MAX and max(now) < total:
                    shared.append(sum(now) - sum(before))
                before = now
        assert max(shared) <= 16 * TURN_MAX < count * TURN_MAX


@on_port(reply=OK, password="sesame")
async def test_who_does_not_log_in_is_read_from_for_so_many_bytes_only(port):
    stranger, guest = await port.client(), await port.client()
    stranger.send_raw(b"x\n" * GUEST_BYTES_MAX)
    said = []
    with suppress(EOFError, ConnectionError):
        while True:
            said.append(error(await stranger.reply()))
    assert len(said) <= 4 * TURN_MAX
    assert said[0].startswith("NOAUTH")
    assert said[-1] == f"ERR Protocol error: more than {GUEST_BYTES_MAX} bytes before AUTH"
    assert port.server.statistics.protocol_errors == 1
    guest.send_raw(wire.command(b"AUTH", b"sesame") + wire.command(b"SET", b"k", bytes(2 * GUEST_BYTES_MAX)))
    assert [await guest.reply(), await guest.reply()] == [b"OK", b"OK"]


async def _send(client, data):
    client.send_raw(data)
    await client.writer.drain()


@on_port(reply_bytes=2_000_000)
async def test_a_client_that_does_not_read_its_answers_holds_up_itself_only(port):
    greedy = await port.client(limit=1024)
    greedy.send_raw(wire.command(b"GET", b"k") * 10_000)
    reply = wire.bulk(bytes(1_000_000))
    given, answered = 0, 0
    with suppress(TimeoutError):
        while answered < 10_000:
            async with asyncio.timeout(0.5):
                call = await port.coordinator.call()
            call.answer(*[reply] * len(call.commands))
            answered += len(call.commands)
            given = answered * len(reply)
    [session] = port.server.clients
    buffered = session.transport.get_write_buffer_size()
    # The first commands are under way before the size of a reply is known.
    assert given <= 2 * PortSettings().in_flight_begin * len(reply)
    assert buffered <= given
    other = await port.client()
    assert await other.ask(b"ECHO", b"well") == b"well"


@on_port(reply_bytes=1_000_000, in_flight_max=512)
async def test_large_replies_narrow_the_window_and_small_ones_widen_it_again(port):
    client = await port.client()
    client.send_raw(wire.command(b"GET", b"k") * 2_000)
    sizes = []
    answered = 0
    while answered < 2_000:
        call = await port.coordinator.call()
        sizes.append(len(call.commands))
        reply = wire.bulk(bytes(400_000)) if answered < 70 else b"$1\r\nv\r\n"
        call.answer(*[reply] * len(call.commands))
        answered += len(call.commands)
        for _ in call.commands:
            await client.reply()
    assert sizes[0] == PortSettings().in_flight_begin
    assert set(sizes[1:4]) == {1}
    assert max(sizes) > 64


@pytest.mark.parametrize(("value_bytes", "most"), [(10, 500), (10_000, 100 + 50)])
@on_port(in_flight_max=500, in_flight_begin=500, reply_bytes=1_000_000)
async def test_a_port_may_begin_with_many_commands_under_way_within_the_same_memory(port, value_bytes, most):
    client = await port.client()
    sending = asyncio.ensure_future(_send(client, wire.command(b"SET", b"k", bytes(value_bytes)) * 2_000))
    await until(lambda: port.coordinator.asked >= 0.6 * most)
    other = await port.client()
    for _ in range(50):  # turns of the loop, in which more would be taken
        await other.ask(b"ECHO", b"x")
    assert port.coordinator.asked <= most  # one read of the socket goes beyond the memory
    sending.cancel()


@on_port(reply=OK, clients_max=2)
async def test_more_clients_than_allowed_are_turned_away_with_a_reason(port):
    first, second = await port.client(), await port.client()
    await first.ask(b"SET", b"k", b"v")
    await second.ask(b"SET", b"k", b"v")
    third = await port.client()
    assert error(await third.reply()) == "ERR max number of clients reached"
    assert await third.closed()
    first.close()
    await until(lambda: len(port.server.clients) == 1)
    fourth = await port.client()
    assert await fourth.ask(b"SET", b"k", b"v") == b"OK"


@on_port()
async def test_clients_that_list_each_other_hold_up_nobody(port):
    count = 3 * TURN_CLIENTS
    clients = [await port.client() for _ in range(count)]
    for client in clients:
        client.send_raw(wire.command(b"CLIENT", b"LIST", b"ID", b"1", b"2", b"1") + wire.command(b"ECHO", b"x"))
    most = listed = 0
    while listed < count:
        await asyncio.sleep(0)
        now = sum(session.commands > 1 for session in port.server.clients)
        most, listed = max(most, now - listed), now
    assert most <= 1, "so many lists were ended in one turn of the loop"
    for client in clients[::50]:
        assert (await client.reply()).count(b"\n") == 2
        assert await client.reply() == b"x"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([b"BLPOP", *[b"k"] * ARGUMENTS_MAX, b"0"], id="keys"),
        pytest.param([b"BLPOP", bytes(WAITING_BYTES_MAX), b"0"], id="bytes"),
        pytest.param([b"CLIENT", b"LIST", b"ID", *[b"1"] * ARGUMENTS_MAX], id="identities"),
        pytest.param([b"CLIENT", b"SETNAME", b"n" * (NAME_BYTES_MAX + 1)], id="name"),
    ],
)
@on_port()
async def test_what_the_port_would_take_apart_or_repeat_may_not_be_long(port, words):
    client = await port.client()
    assert "is not available here" in error(await client.ask(*words)).replace("are not", "is not")
    assert not port.coordinator.calls


@on_port()
async def test_of_a_long_unknown_command_the_beginning_is_told(port):
    client = await port.client()
    told = error(await client.ask(b"nosuch", *[b"ab"] * (ARGUMENTS_MAX + 1)))
    assert told == "ERR unknown command 'nosuch', with args beginning with: " + "'ab' " * 26


@on_port()
async def test_a_command_that_waits_may_be_as_long_as_is_said_and_no_longer(port):
    client = await port.client()
    around = len(wire.command(b"BLPOP", bytes(WAITING_BYTES_MAX), b"0")) - WAITING_BYTES_MAX
    client.send(b"BLPOP", bytes(WAITING_BYTES_MAX - around), b"0")
    assert (await port.coordinator.call()).words[0][0] == b"EXISTS"
    other = await port.client()
    told = error(await other.ask(b"BLPOP", bytes(WAITING_BYTES_MAX + 1 - around), b"0"))
    said = f"ERR BLPOP of more than {WAITING_BYTES_MAX} bytes is not available here, got {WAITING_BYTES_MAX + 1}"
    assert told == said
