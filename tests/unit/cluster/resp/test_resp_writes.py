"""Goal: what a port sends in one piece costs one write to each server. Method: connections that note writes."""

import pytest
from support.coroutines import coroutine

from cluster.coordinators.plain import PlainCoordinator
from cluster.resp.protocol import wire
from cluster.resp.protocol.upstream import GatheredWrites
from cluster.sim.runtime import SimRuntime
from cluster.votes.levels import Level

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
