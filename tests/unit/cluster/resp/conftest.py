"""A RESP port in the test's own loop, with a coordinator that the test plays itself."""

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from functools import partial

import hiredis
import pytest
import uvloop
from support.coroutines import until, within

from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import table_from
from zonelab.cluster.resp.protocol.upstream import GatheredWrites
from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import PipelineFailure
from zonelab.cluster.zone import Address
from zonelab.engine.ports import ServerError

DEADLINE_S = 30.0

COMMANDS = [
    # name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands
    ["get", 2, ["readonly", "fast"], 1, 1, 1, ["@read"], [], [], []],
    ["set", -3, ["write", "denyoom"], 1, 1, 1, ["@write"], [], [], []],
    ["mset", -3, ["write", "denyoom"], 1, -1, 2, ["@write"], [], [], []],
    ["mget", -2, ["readonly", "fast"], 1, -1, 1, ["@read"], [], [], []],
    ["smembers", 2, ["readonly"], 1, 1, 1, ["@read"], [], [], []],
    ["sort", -2, ["write", "denyoom", "movablekeys"], 1, 1, 1, ["@write"], [], [], []],
    ["hstrlen", 3, ["readonly", "fast"], 1, 1, 1, ["@read"], [], [], []],
    ["hgetall", 2, ["readonly"], 1, 1, 1, ["@read"], [], [], []],
    ["dbsize", 1, ["readonly", "fast"], 0, 0, 0, ["@read"], [], [], []],
    ["zunion", -3, ["readonly", "movablekeys"], 0, 0, 0, ["@read"], [], [], []],
    ["ttl", 2, ["readonly", "fast"], 1, 1, 1, ["@read"], [], [], []],
    ["eval", -3, ["noscript", "stale", "movablekeys"], 0, 0, 0, ["@scripting"], [], [], []],
    ["ping", -1, ["fast"], 0, 0, 0, ["@connection"], [], [], []],
    ["publish", 3, ["pubsub", "fast"], 0, 0, 0, ["@pubsub"], [], [], []],
    ["subscribe", -2, ["pubsub", "noscript"], 0, 0, 0, ["@pubsub"], [], [], []],
    ["unsubscribe", -1, ["pubsub", "noscript"], 0, 0, 0, ["@pubsub"], [], [], []],
    ["punsubscribe", -1, ["pubsub", "noscript"], 0, 0, 0, ["@pubsub"], [], [], []],
    ["info", -1, ["loading", "stale"], 0, 0, 0, ["@slow"], [], [], []],
    ["blpop", -3, ["write", "blocking"], 1, -2, 1, ["@list"], [], [], []],
    ["blnew", -3, ["write", "blocking"], 1, -2, 1, ["@list"], [], [], []],
    ["multi", 1, ["noscript", "no_multi"], 0, 0, 0, ["@transaction"], [], [], []],
    ["exec", 1, ["noscript"], 0, 0, 0, ["@transaction"], [], [], []],
    ["discard", 1, ["noscript"], 0, 0, 0, ["@transaction"], [], [], []],
    ["watch", -2, ["noscript", "no_multi"], 1, -1, 1, ["@transaction"], [], [], []],
    ["unwatch", 1, ["noscript"], 0, 0, 0, ["@transaction"], [], [], []],
    ["shutdown", -1, ["admin", "noscript"], 0, 0, 0, ["@admin"], [], [], []],
    ["wait", 3, ["blocking"], 0, 0, 0, ["@blocking"], [], [], []],
    ["auth", -2, ["no_auth"], 0, 0, 0, ["@connection"], [], [], []],
    ["hello", -1, ["no_auth"], 0, 0, 0, ["@connection"], [], [], []],
    ["quit", -1, ["no_auth"], 0, 0, 0, ["@connection"], [], [], []],
    ["reset", 1, ["no_auth"], 0, 0, 0, ["@connection"], [], [], []],
    ["select", 2, ["fast"], 0, 0, 0, ["@connection"], [], [], []],
    ["echo", 2, ["fast"], 0, 0, 0, ["@connection"], [], [], []],
    [
        "config", -2, [], 0, 0, 0, ["@slow"], [], [],
        [
            ["config|get", -3, ["admin", "noscript"], 0, 0, 0, ["@admin"], [], [], []],
            ["config|set", -4, ["admin", "noscript"], 0, 0, 0, ["@admin"], [], [], []],
        ],
    ],
    [
        "script", -2, [], 0, 0, 0, ["@slow"], [], [],
        [
            ["script|load", 3, ["noscript"], 0, 0, 0, ["@scripting"], [], [], []],
            ["script|flush", -2, ["noscript"], 0, 0, 0, ["@scripting"], [], [], []],
        ],
    ],
    [
        "client", -2, [], 0, 0, 0, ["@slow"], [], [],
        [
            ["client|setname", 3, ["noscript"], 0, 0, 0, ["@connection"], [], [], []],
            ["client|getname", 2, ["noscript"], 0, 0, 0, ["@connection"], [], [], []],
            ["client|list", -2, ["noscript"], 0, 0, 0, ["@connection"], [], [], []],
            ["client|reply", 3, ["noscript"], 0, 0, 0, ["@connection"], [], [], []],
        ],
    ],
]  # fmt: skip


class Call:
    """What a port has handed to the coordinator."""

    def __init__(self, level, commands, done, packed):
        self.level = level
        self.commands = commands
        self.packed = packed
        self._done = done

    @property
    def words(self):
        reader = hiredis.Reader()
        reader.feed(self.packed)
        found = []
        while (one := reader.gets()) is not False:
            found.append(one)
        return found

    def answer(self, *replies):
        self._done(list(replies))

    def fail(self, *answers):
        self._done(PipelineFailure(None, list(answers)))


class PlayedCoordinator:
    """Keeps what it gets; the test answers. With ``reply`` it answers at once, every command the same."""

    zones = ("a", "b", "c")

    door = None

    def __init__(self, *, reply=None):
        self.calls = deque()
        self.reply = reply
        self.asked = 0

    def submit(self, level, commands, done, *, packed=None):
        self.asked += len(commands)
        call = Call(level, commands, done, packed)
        if self.reply is None:
            self.calls.append(call)
        else:
            call.answer(*[self.reply] * len(commands))

    def submit_together(self, level, members, commands, packed):
        def done(replies):
            begin = 0
            for own, told in members:
                told(replies[begin : begin + len(own)])
                begin += len(own)

        self.submit(level, commands, done, packed=packed)

    async def call(self):
        """The next call, once it is there."""
        await until(lambda: self.calls)
        return self.calls.popleft()


class Client:
    """A connection to the port that sends bytes and reads replies."""

    def __init__(self, reader, writer):
        self._reader = reader
        self.writer = writer
        self._parser = hiredis.Reader(replyError=ServerError)

    def send(self, *words):
        self.writer.write(wire.command(*words))

    def send_raw(self, data):
        self.writer.write(data)

    async def reply(self):
        """The next reply; raises ``EOFError`` if the port has closed the connection."""
        async with asyncio.timeout(DEADLINE_S):
            while (found := self._parser.gets()) is False:
                data = await self._reader.read(65536)
                if not data:
                    raise EOFError
                self._parser.feed(data)
            return found

    async def raw_reply(self):
        """All that comes in one piece, unparsed."""
        async with asyncio.timeout(DEADLINE_S):
            return await self._reader.read(65536)

    async def ask(self, *words):
        self.send(*words)
        return await self.reply()

    async def closed(self):
        try:
            while True:
                await self.reply()
        except (EOFError, ConnectionError):
            return True

    def close(self):
        self.writer.close()


class Port:
    def __init__(self, server, coordinator):
        self.server = server
        self.coordinator = coordinator
        self._clients = []

    async def client(self, **options):
        address = self.server.address
        client = Client(*await asyncio.open_connection(address.host, address.port, **options))
        self._clients.append(client)
        return client

    def close(self):
        for client in self._clients:
            client.close()


def error(reply):
    """The text of a reply that has to be an error."""
    assert isinstance(reply, ServerError), reply
    return str(reply)


@asynccontextmanager
async def opened(
    *, reply=None, level=Level.DC_ONE, own=None, coordinator=None, writes=None, scripts=None, table=None, **settings
):
    coordinator = coordinator or PlayedCoordinator(reply=reply)
    runtime = RealRuntime(seed=0)

    async def lease(watch):
        return coordinator

    server = RespServer(
        coordinator=coordinator,
        table=table or table_from(COMMANDS),
        own_address=own or Address("127.0.0.1", 1),
        settings=PortSettings(**settings),
        level=level,
        lease=lease,
        release=lambda _: None,
        writes=writes or GatheredWrites(),
        runtime=runtime,
        scripts=scripts,
    )
    await server.start()
    port = Port(server, coordinator)
    try:
        yield port
    finally:
        port.close()
        await server.stop()
        await runtime.close()


def on_port(**settings):
    """A decorator for a coroutine, which is run with an opened port of these settings, its ``port``."""
    return within("port", partial(opened, **settings))


@pytest.fixture
def run(runner):
    return runner.run


@pytest.fixture(scope="session")
def runner():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as one:
        yield one
