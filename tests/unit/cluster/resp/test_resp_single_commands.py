"""Goal: single commands of many clients go together, and none can tell. Method: a real socket, a played coordinator."""

import asyncio

import pytest
from support.coroutines import coroutine

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS
from zonelab.cluster.resp.protocol.upstream import GatheredWrites
from zonelab.cluster.resp.turn_batch import TurnBatch
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError

from .conftest import error, on_port, until

OK = b"+OK\r\n"
SET, GET = wire.command(b"SET", b"k", b"v"), wire.command(b"GET", b"k")


async def quiet_clients(port, count):
    """Clients that have had one command answered each, and their sessions."""
    clients = [await port.client() for _ in range(count)]
    for client in clients:
        client.send(b"SET", b"first", b"v")
        (await port.coordinator.call()).answer(OK)
        assert await client.reply() == b"OK"
    return clients, port.server.clients


@on_port()
async def test_single_commands_of_several_clients_travel_by_kind(port):
    clients, sessions = await quiet_clients(port, 4)
    for session, command in zip(sessions, (SET, GET, SET, GET), strict=True):
        session.data_received(command)
    calls = [await port.coordinator.call() for _ in range(2)]
    assert [call.packed for call in calls] == [SET * 2, GET * 2]
    calls[1].answer(b"$1\r\na\r\n", b"$1\r\nb\r\n")
    calls[0].answer(OK, OK)
    assert [await client.reply() for client in clients] == [b"OK", b"a", b"OK", b"b"]
    assert [session.commands for session in sessions] == [2] * 4


@on_port()
async def test_kinds_of_one_client_keep_their_order_while_others_send_single_commands(port):
    clients, sessions = await quiet_clients(port, 2)
    sessions[0].data_received(GET)
    sessions[1].data_received(SET)
    sessions[1].data_received(GET + wire.command(b"ECHO", b"hi"))
    calls = [await port.coordinator.call() for _ in range(3)]
    assert [call.packed for call in calls] == [GET, SET, GET]
    for call, reply in zip(calls, (b"$1\r\na\r\n", OK, b"$1\r\nb\r\n"), strict=True):
        call.answer(reply)
    assert await clients[0].reply() == b"a"
    assert [await clients[1].reply() for _ in range(3)] == [b"OK", b"b", b"hi"]


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        pytest.param(b"*1\r\n$1073741824\r\n", "ERR Protocol error", id="no RESP"),
        pytest.param(wire.command(b"FROB"), "ERR unknown command", id="unknown"),
        pytest.param(b"FROB it\r\n", "ERR unknown command", id="inline"),
        pytest.param(wire.command(b"WAIT", b"1", b"0"), "ERR WAIT is not", id="refused"),
        pytest.param(wire.command(b"FROB") + SET, "ERR unknown command", id="more than one"),
    ],
)
@on_port()
async def test_anything_else_that_one_client_sends_changes_nothing_for_the_others(port, odd, said):
    clients, sessions = await quiet_clients(port, 3)
    for session, data in zip(sessions, (GET, odd, GET), strict=True):
        session.data_received(data)
    await until(lambda: sum(call.packed.count(GET) for call in port.coordinator.calls) == 2)
    for call in port.coordinator.calls:
        call.answer(*[b"$1\r\nv\r\n"] * len(call.commands))
    assert [await clients[0].reply(), await clients[2].reply()] == [b"v", b"v"]
    assert error(await clients[1].reply()).startswith(said)


@on_port()
async def test_a_single_command_of_a_client_that_leaves_is_carried_out(port):
    _, sessions = await quiet_clients(port, 2)
    sessions[0].data_received(SET)
    sessions[0].connection_lost(None)
    (await port.coordinator.call()).answer(OK)
    await until(lambda: port.server.clients == sessions[1:])


@on_port()
async def test_errors_and_large_replies_to_single_commands_are_answered_as_others(port):
    clients, sessions = await quiet_clients(port, 2)
    for reply in (wire.bulk(bytes(100_000)), b"$1\r\nv\r\n"):
        sessions[0].data_received(GET)
        (await port.coordinator.call()).answer(reply)
        assert wire.bulk(await clients[0].reply()) == reply
    sessions[1].data_received(GET)
    (await port.coordinator.call()).fail(port_error := ServerError("ERR that"))
    assert error(await clients[1].reply()) == str(port_error)


@pytest.mark.parametrize("odd", [None, wire.command(b"FROB"), wire.command(b"ECHO", b"hi")], ids=["", "unknown", "own"])
@on_port()
async def test_of_those_that_are_sent_on_every_third_is_measured_wherever_a_turn_ends(port, odd):
    clients, sessions = await quiet_clients(port, 8)
    measured = []

    def sampler(level, reads, done):
        measured.append(sessions.index(done.__self__))
        port.server.until_sample = 3
        return done

    port.server.sampler, port.server.until_sample = sampler, 3
    for _ in range(3):
        for number, session in enumerate(sessions):
            session.data_received(GET if number or odd is None else odd)
        left = 8 if odd is None else 7
        while left:
            call = await port.coordinator.call()
            call.answer(*[b"$1\r\nv\r\n"] * len(call.commands))
            left -= len(call.commands)
        for client in clients:
            await client.reply()
    if odd is None:
        assert measured == [*range(8), *range(8), *range(8)][2::3]
    else:
        assert len(measured) == 3 * 7 // 3, "what is not sent on does not count"


class Departures:
    """A coordinator that notes how many commands it was handed at once, and whether it is called within a call."""

    def __init__(self):
        self.counts = []

    def submit(self, level, commands, done, *, packed):
        self.counts.append(len(commands))

    def submit_together(self, level, members, commands, packed):
        assert len(commands) == sum(len(own) for own, _ in members)
        assert packed == b"".join([SET] * len(commands))
        self.counts.append(len(commands))


@coroutine
async def test_of_a_busy_turn_as_many_commands_depart_each_time_and_none_is_left():
    departures = Departures()
    turn = TurnBatch(departures, clients="ab", writes=GatheredWrites())
    for _ in range(300):
        turn.gather(KINDS[CommandRoute.WRITE], Level.DC_ONE, 2, SET, 1, lambda outcome: None, ordered=False)
    at_once = departures.counts[0]
    assert 100 < at_once <= 129
    assert departures.counts == [at_once] * (300 // at_once)
    await asyncio.sleep(0)
    assert sum(departures.counts) == 300
    for _ in range(2):
        turn.gather(KINDS[CommandRoute.WRITE], Level.DC_ONE, 2, SET, 1, lambda outcome: None, ordered=False)
        await asyncio.sleep(0)
    assert departures.counts[-2:] == [1, 1]


@on_port(reply=OK)
async def test_of_many_clients_in_one_turn_128_single_commands_travel_together(port):
    count = 2 * 128 + 1
    clients = [await port.client() for _ in range(count)]
    for client in clients:
        assert await client.ask(b"SET", b"first", b"v") == b"OK"
    port.coordinator.reply = None
    for session in port.server.clients:
        session.data_received(SET)
    calls = [await port.coordinator.call() for _ in range(3)]
    assert [len(call.commands) for call in calls] == [128, 128, 1]
    for call in calls:
        call.answer(*[OK] * len(call.commands))
    for client in clients:
        assert await client.reply() == b"OK"
