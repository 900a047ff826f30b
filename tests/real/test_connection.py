"""Goal: a connection to a real server keeps order, survives large values, and tells truly how commands ended.

Method: a Valkey process that is killed, paused and restarted, and small servers that speak badly.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvloop
from support.cluster.real import outcome, until
from support.coroutines import coroutine

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import STORAGE_REFUSED
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.zones import ProcessZone
from zonelab.cluster.zone import Address, Restart
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

pytestmark = pytest.mark.real

PATIENT = Timeouts(datastore_ms=60_000, reconnect_ms=(50,))


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


@pytest.fixture
def run(runner):
    return runner.run


@pytest.fixture(scope="module")
def zone(runner):
    zone = ProcessZone("a")
    runner.run(zone.start())
    yield zone
    runner.run(zone.stop())


@asynccontextmanager
async def connected(address, timeouts=PATIENT, *, wait=True):
    runtime = RealRuntime(seed=1)
    upstream = RedisUpstream(address, loop=asyncio.get_running_loop())
    server = ServerConnection(upstream=upstream, runtime=runtime, timeouts=timeouts)
    server.open()
    try:
        if wait:
            await until(lambda: server.connected, "a connection")
        yield DirectConnection(server, runtime=runtime)
    finally:
        server.close()
        await runtime.close()


@coroutine
async def test_a_pipeline_is_answered_in_order(zone):
    async with connected(zone.address) as client:
        returned = await client.execute(
            ("DEL", "k", "n", "z"),
            ("SET", "k", b"\x00\r\n\xff"),
            ("GET", b"k"),
            ("INCR", "n"),
            ("ZADD", "z", "NX", 1.5, "m"),
            ("ZSCORE", "z", "m"),
            ("ZRANGE", "z", 0, -1),
            ("GET", "absent"),
        )
    assert returned[1:] == [b"OK", b"\x00\r\n\xff", 1, 1, b"1.5", [b"m"], None]


@coroutine
async def test_commands_that_are_packed_already_are_sent_as_they_are(zone):
    async with connected(zone.address) as client:
        replies = asyncio.get_running_loop().create_future()
        packed = b"*2\r\n$4\r\necho\r\n$2\r\nhi\r\n" * 2
        commands = [("echo", "not sent")] * 2
        client.server.submit(Batch(commands, writes=False, packed=packed), replies.set_result)
        assert await replies == [b"hi", b"hi"]


@coroutine
async def test_errors_of_the_server_are_values_wherever_they_stand(zone):
    async with connected(zone.address) as client:
        ok, wrong, nested, text = await client.execute(
            ("SET", "k", "text"),
            ("INCR", "k"),
            ("EVAL", "return {1, redis.error_reply('MINE bad')}", 0),
            ("GET", "k"),
        )
    assert (ok, text) == (b"OK", b"text")
    assert isinstance(wrong, ServerError)
    assert str(wrong) == "ERR value is not an integer or out of range"
    assert nested == [1, ServerError("MINE bad")]


@coroutine
async def test_values_of_five_megabytes_pass_both_ways_with_small_commands_around_them(zone):
    value = bytes(range(256)) * (5 * 1024 * 4)
    async with connected(zone.address) as client:
        replies = await asyncio.gather(
            client.execute(("SET", "before", 1)),
            client.execute(("SET", "large", value), ("GET", "large"), ("STRLEN", "large")),
            client.execute(("GET", "before")),
            client.execute(("GET", "large")),
            client.execute(("SET", "after", 2)),
        )
        await client.execute(("DEL", "large"))
        assert replies == [[b"OK"], [b"OK", value, len(value)], [b"1"], [value], [b"OK"]]


@coroutine
async def test_a_thousand_callers_at_once_get_their_own_answers_in_the_order_of_sending(zone):
    async with connected(zone.address) as client:
        await client.execute(("DEL", "n"))
        replies = await asyncio.gather(*(client.execute(("INCR", "n"), ("ECHO", n)) for n in range(1_000)))
        in_flight = client.server.in_flight
    assert replies == [[n + 1, str(n).encode()] for n in range(1_000)]
    assert in_flight == 0


@coroutine
async def test_a_server_that_is_killed_with_commands_in_flight_leaves_them_indeterminate(zone):
    async with connected(zone.address) as client:
        await zone.pause()
        calls = [asyncio.ensure_future(outcome(client, ("INCR", "n"))) for _ in range(3)]
        read = asyncio.ensure_future(outcome(client, ("GET", "n")))
        await until(lambda: client.server.in_flight == 4, "four commands in flight")
        await zone.kill()
        ended = await asyncio.gather(*calls, read)
        refused = await outcome(client, ("INCR", "n"))
        await zone.restart(Restart.KEEP)
        await until(lambda: client.server.connected, "a new connection")
        replies = await client.execute(("INCR", "n"))
    assert ended == [(Indeterminate, STORAGE_REFUSED)] * 3 + [(Unavailable, STORAGE_REFUSED)]
    assert refused == (Unavailable, STORAGE_REFUSED)
    assert replies == [1]


@coroutine
async def test_a_connection_that_is_closed_while_it_is_made_calls_nobody(zone):
    called = []
    upstream = RedisUpstream(zone.address, loop=asyncio.get_running_loop())
    for turns in range(5):
        upstream.open(on_open=lambda: called.append("open"), on_close=lambda: called.append("close"))
        for _ in range(turns):
            await asyncio.sleep(0)
        upstream.close()
        called.clear()  # it may have been open before it was closed
        await asyncio.sleep(0.02)
        assert called == []


class BadServer:
    """Sends ``greeting`` to whoever connects, ``answers`` to what it receives one by one, then closes."""

    def __init__(self, *answers, greeting=b""):
        self.greeting = greeting
        self.answers = answers
        self.connections = 0

    @asynccontextmanager
    async def listening(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        try:
            yield Address(*server.sockets[0].getsockname())
        finally:
            server.close()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            writer.write(self.greeting)
            for answer in self.answers:
                await reader.read(1_000_000)
                writer.write(answer)
                await writer.drain()
            if not self.answers:
                await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.mark.parametrize(
    "answers",
    [
        [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
        [b"+OK\r\nrubbish\r\n"],
        [b"$5\r\nab"],
        [b"+OK\r\n"],
        [b""],
    ],
    ids=["http", "rubbish", "half a reply", "a reply too few", "silence"],
)
@coroutine
async def test_a_server_that_speaks_badly_leaves_the_pipeline_indeterminate_and_is_given_up(answers):
    server = BadServer(*answers)
    async with server.listening() as address, connected(address) as client:
        assert await outcome(client, ("INCR", "n"), ("INCR", "n")) == (Indeterminate, STORAGE_REFUSED)
        await until(lambda: server.connections > 1, "another attempt")


@coroutine
async def test_a_server_that_talks_unasked_is_given_up_before_that_passes_for_an_answer():
    server = BadServer(greeting=b"+unasked\r\n")
    async with server.listening() as address, connected(address, wait=False):
        await until(lambda: server.connections > 2, "a connection that was given up, twice")


@coroutine
async def test_one_reply_too_many_is_not_taken_for_the_answer_to_the_next_command():
    server = BadServer(b":1\r\n:99\r\n", b":2\r\n")
    async with server.listening() as address, connected(address) as client:
        first = await outcome(client, ("INCR", "n"))
        await until(lambda: server.connections > 1 and client.server.connected, "a new connection")
        assert first == [1]
