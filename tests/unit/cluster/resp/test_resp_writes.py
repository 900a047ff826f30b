"""Goal: what a port sends in one piece costs one write to each server, and servers that come back get scripts first.

Method: connections that note writes; a server that keeps what it is sent.
"""

import asyncio

import hiredis
import pytest
from support.coroutines import coroutine

from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.resp.protocol import remembered_scripts, wire
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Address

from .conftest import opened, until

SET, GET, SCRIPT = (wire.command(*line.split()) for line in (b"SET k v", b"GET k", b"EVAL return 0"))


class NotingTransport:
    def __init__(self):
        self.written = []
        self.closing = False

    def is_closing(self):
        return self.closing

    def write(self, data):
        self.written.append(data)


class Server:
    """A zone's server, as far as it is written to."""

    connected = True

    def __init__(self, writes):
        self._writes = writes
        self.transport = NotingTransport()

    def submit(self, batch, done):
        self._writes.write(self.transport, batch.packed)


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        pytest.param([SET + GET + SCRIPT + GET], [SET + GET + SCRIPT + GET], id="by one client"),
        pytest.param([SET, GET], [SET + GET], id="by two clients in one turn of the loop"),
    ],
)
@coroutine
async def test_commands_of_several_kinds_leave_in_one_write(sent, arrives):
    writes = GatheredWrites()
    servers = {zone: Server(writes) for zone in "abc"}
    coordinator = PlainCoordinator(zone="a", channels=servers, runtime=SimRuntime(seed=1))
    async with opened(coordinator=coordinator, writes=writes, level=Level.DC_QUORUM) as port:
        for _ in sent:
            await (await port.client()).ask(b"ECHO", b"here")
        for session, data in zip(port.server.clients, sent, strict=True):
            session.data_received(data)
        await until(lambda: servers["c"].transport.written)
        assert [server.transport.written for server in servers.values()] == [arrives] * 3


def test_what_is_large_is_not_copied_and_keeps_its_place():
    writes, server = GatheredWrites(), NotingTransport()
    large = wire.command(b"SET", b"k", bytes(1_000_000))
    with writes:
        for data in (SET, GET, large, GET, SET):
            writes.write(server, data)
    assert server.written == [SET + GET, large, GET + SET]
    assert server.written[1] is large


def test_nothing_is_written_to_a_connection_that_has_been_dropped_meanwhile():
    writes, gone, there = GatheredWrites(), NotingTransport(), NotingTransport()
    with writes:
        for transport in (gone, there):
            writes.write(transport, SET)
        with writes:
            writes.write(there, GET)
        gone.closing = True
    writes.write(there, SET)
    assert (gone.written, there.written) == ([], [SET + GET, SET])


def loaded(scripts):
    packed, count = scripts.loading()
    reader = hiredis.Reader()
    reader.feed(packed)
    commands = [reader.gets() for _ in range(count)]
    assert reader.gets() is False
    assert all(command[:2] == [b"SCRIPT", b"LOAD"] for command in commands)
    return [command[2] for command in commands]


@coroutine
async def test_scripts_are_remembered_however_they_are_sent_and_forgotten_when_clients_flush_them():
    scripts = RememberedScripts()
    async with opened(reply=b"+OK\r\n", scripts=scripts) as port:
        client, other = await port.client(), await port.client()
        await client.ask(b"SCRIPT", b"LOAD", b"return 1")
        assert loaded(scripts) == [b"return 1"]
        await client.ask(b"eval", b"return 2", b"0")
        await other.ask(b"GET", b"k")
        client.send_raw(wire.command(b"EVAL", b"return 3", b"0") + wire.command(b"EVAL", b"return 1", b"0"))
        await client.reply()
        await client.reply()
        await client.ask(b"MULTI")
        await client.ask(b"EVAL", b"return 4", b"0")
        await client.ask(b"DISCARD")
        assert loaded(scripts) == [b"return 2", b"return 3", b"return 1", b"return 4"]
        await client.ask(b"SCRIPT", b"FLUSH")
        assert loaded(scripts) == []


@pytest.mark.parametrize(("most", "most_bytes"), [(2, 1_000), (1_000, 20)])
def test_the_scripts_that_were_used_last_are_kept_within_the_bounds(most, most_bytes, monkeypatch):
    monkeypatch.setattr(remembered_scripts, "SCRIPTS_MAX", most)
    monkeypatch.setattr(remembered_scripts, "SCRIPTS_BYTES_MAX", most_bytes)
    scripts = RememberedScripts()
    for name in (b"a", b"b", b"a", b"c"):
        scripts.note("EVAL", [b"EVAL", b"return '%b'" % name])
    assert loaded(scripts) == [b"return 'a'", b"return 'c'"]
    scripts.note("EVAL", [b"EVAL", b"x" * 1_001])
    assert len(loaded(scripts)) <= 2
    assert sum(map(len, loaded(scripts))) <= most_bytes


@coroutine
async def test_a_server_that_comes_back_has_the_scripts_before_anything_else():
    received = []

    async def serve(reader, writer):
        received.append(b"")
        while data := await reader.read(65536):
            received[-1] += data
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = Address(*server.sockets[0].getsockname()[:2])
    scripts = RememberedScripts()
    upstream = RawUpstream(
        address,
        loop=asyncio.get_running_loop(),
        backlog_bytes=1_000_000,
        writes=GatheredWrites(),
        password="secret",
        scripts=scripts,
    )
    for _ in range(2):
        is_open = asyncio.Event()
        upstream.open(on_open=is_open.set, on_close=lambda: None)
        await is_open.wait()
        scripts.note("EVAL", [b"EVAL", b"return 1"])
    greeting = wire.command(b"AUTH", b"secret")
    await until(lambda: received == [greeting, greeting + wire.command(b"SCRIPT", b"LOAD", b"return 1")])
    upstream.close()
    server.close()
    await server.wait_closed()
