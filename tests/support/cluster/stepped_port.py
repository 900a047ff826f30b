"""A RESP port in virtual time: its loop, servers that die at a given command, and clients, without sockets."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import hiredis

from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.commands.dispatch import dispatch
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import table_from
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Address
from zonelab.engine.ports import ServerError

Execute = Callable[[list[bytes], int], bytes]
"""What a server replies to a command, given the RESP version of its connection."""

HOST = "virtual"


async def until(condition: Callable[[], Any], *, within_s: float = 60) -> None:
    """Return once ``condition`` holds, or after so long in virtual time."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    while not condition() and loop.time() < end_s:  # noqa: ASYNC110 (conditions have no event)
        await asyncio.sleep(0.001)


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose time passes only while nothing is ready, and that connects to ``servers``, by port."""

    def __init__(self) -> None:
        super().__init__()
        self.servers: dict[int, SteppedServer] = {}
        self.turns = 0
        self.after_turn: Callable[[], None] = lambda: None
        self._now_s = 0.0
        self._selector = SimpleNamespace(select=self._pass_time)

    def time(self) -> float:
        return self._now_s

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        await asyncio.sleep(0)
        server = self.servers[port]
        if not server.up:
            raise ConnectionRefusedError(f"{host}:{port}")
        protocol = factory()
        protocol.connection_made(_ServerSide(server, protocol))
        return None, protocol

    def _pass_time(self, timeout_s: float | None) -> list[Any]:
        assert timeout_s is not None, "nobody waits for anything that could happen"
        self.turns += 1
        self.after_turn()
        self._now_s += timeout_s
        return []

    def _process_events(self, event_list: Any) -> None:
        pass


class SteppedServer:
    """A zone's server. It dies at the commands with the numbers in ``dies_at``, before it executes them."""

    def __init__(self, loop: VirtualLoop, execute: Execute) -> None:
        self.loop = loop
        self.execute = execute
        self.up = True
        self.paused = False
        self.taken = 0
        self.dies_at: dict[int, float] = {}
        """Number of a command, and how long the server is away then."""
        self.value_of: Callable[[bytes], Any] = lambda key: None
        """Tells whether a key that is watched has changed."""
        self.sides: list[_ServerSide] = []

    def kill(self, *, away_s: float | None = None) -> None:
        self.up = False
        for side in self.sides[:]:
            side.break_off()
        if away_s is not None:
            self.loop.call_later(away_s, self.start)

    def start(self) -> None:
        self.up = True

    def pause(self) -> None:
        self.paused = True

    def resume(self, *, newest_first: bool = False) -> None:
        """Go on; connections are looked at one after another."""
        self.paused = False
        for side in sorted(self.sides, key=self.sides.index, reverse=newest_first):
            side.work()


class _ServerSide:
    """A connection to a server, as the transport of the port's protocol."""

    def __init__(self, server: SteppedServer, protocol: Any) -> None:
        self._server = server
        self._protocol = protocol
        self._sent: deque[bytes] = deque()
        self._arrived: deque[list[bytes]] = deque()
        self._reader = hiredis.Reader()
        self._version = 2
        self._queued: list[list[bytes]] | None = None
        self._watched: dict[bytes, Any] = {}
        self._open = True
        server.sides.append(self)

    def is_closing(self) -> bool:
        return not self._open

    def set_write_buffer_limits(self, **_: Any) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.break_off()

    def break_off(self) -> None:
        if self._open:
            self._open = False
            self._server.sides.remove(self)
            self._server.loop.call_soon(self._protocol.connection_lost, None)

    def write(self, data: bytes) -> None:
        self._sent.append(data)  # timers of the same time have no order
        self._server.loop.call_later(0.001, self._take)

    def _take(self) -> None:
        self._reader.feed(self._sent.popleft())
        while (words := self._reader.gets()) is not False:
            self._arrived.append(words)
        self.work()

    def work(self) -> None:
        """Execute what has arrived."""
        server = self._server
        said = []
        while self._arrived and self._open and not server.paused:
            server.taken += 1
            away_s = server.dies_at.pop(server.taken, None)
            if away_s is not None:
                server.kill(away_s=away_s)
                break
            said.append(self._reply(self._arrived.popleft()))
        if said:
            server.loop.call_soon(self._say, b"".join(said))

    def _say(self, data: bytes) -> None:
        if self._open:
            self._protocol.data_received(data)

    def _reply(self, words: list[bytes]) -> bytes:
        name = words[0].upper()
        if name == b"HELLO":
            self._version = int(words[1])
            return wire.OK
        if name == b"MULTI":
            self._queued = []
            return wire.OK
        if name == b"EXEC":
            queued, self._queued = self._queued or [], None
            watched, self._watched = self._watched, {}
            if any(self._server.value_of(key) != value for key, value in watched.items()):
                return wire.NIL_ARRAY[self._version]
            return wire.array([self._server.execute(each, self._version) for each in queued])
        if self._queued is not None:
            self._queued.append(words)
            return wire.QUEUED
        if name == b"WATCH":
            self._watched |= {key: self._server.value_of(key) for key in words[1:]}
        elif name == b"UNWATCH":
            self._watched = {}
        return self._server.execute(words, self._version)


class _ClientSide(asyncio.Transport):
    """A client's connection, as the transport of its session."""

    def __init__(self, client: "SteppedClient") -> None:
        super().__init__()
        self._client = client
        self.open = self.reading = True

    def is_closing(self) -> bool:
        return not self.open

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:
        if self.open:
            self._client.take(bytes(data))

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        self._client.loop.call_soon(self._client.deliver)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._client.loop.call_soon(self._client.session.connection_lost, None)

    def abort(self) -> None:
        self.close()


class SteppedClient:
    """A client of the port: what it has sent and not yet been read, and the replies to it."""

    def __init__(self, port: "SteppedPort") -> None:
        self.loop = port.loop
        self.session = ConnectionSession(port.host, dispatch)
        self._transport = _ClientSide(self)
        self._unread: deque[bytes] = deque()
        self._reader = hiredis.Reader(replyError=ServerError)
        self.replies: list[Any] = []
        self.heard = b""
        """All of these as they came."""
        self.session.connection_made(self._transport)

    @property
    def gone(self) -> bool:
        return not self._transport.open

    def send(self, data: bytes) -> None:
        self._unread.append(data)
        self.deliver()

    def deliver(self) -> None:
        while self._unread and self._transport.reading and self._transport.open:
            self.session.data_received(self._unread.popleft())

    def take(self, data: bytes) -> None:
        self.heard += data
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self.replies.append(reply)

    def leave(self) -> None:
        self._transport.close()

    async def reply(self) -> Any:
        """The next reply, which is taken."""
        await until(lambda: self.replies)
        return self.replies.pop(0)

    async def ask(self, *words: bytes) -> Any:
        self.send(wire.command(*words))
        return await self.reply()


class _LoopRuntime:
    """As much of ``Runtime`` as connections need."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_ns(self) -> int:
        return round(self._loop.time() * 1e9)

    async def sleep(self, duration_ns: int) -> None:
        await asyncio.sleep(duration_ns / 1e9)

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> asyncio.Handle:
        return self._loop.call_later(delay_ns / 1e9, callback) if delay_ns else self._loop.call_soon(callback)


class SteppedPort:
    """The port of the first of ``zones``, whose servers answer as ``execute``, one a zone, says."""

    def __init__(self, loop: VirtualLoop, commands: Sequence[Any], execute: Sequence[Execute], *, level: Level) -> None:
        self.loop = loop
        self._runtime: Any = _LoopRuntime(loop)
        self._writes = GatheredWrites()
        self.servers = {name: SteppedServer(loop, each) for name, each in zip("abc", execute, strict=False)}
        loop.servers = dict(enumerate(self.servers.values(), 1))
        self.leased: list[Coordinator] = []
        self.host = PortHost(
            coordinator=self._coordinator(),
            table=table_from(commands),
            own_address=Address(HOST, 1),
            settings=PortSettings(busy_poll_us=0),
            level=level,
            lease=self._lease,
            release=self._release,
            writes=self._writes,
            runtime=self._runtime,
        )

    def client(self) -> SteppedClient:
        return SteppedClient(self)

    def nothing_held(self) -> None:
        """Fail if anything of a client is left, all of which have gone."""
        host = self.host
        assert host.clients == []
        assert (host.memory.total, host.memory.expected, host.memory.strangers) == (0, 0, 0)
        assert (host.room.waiting, self.leased) == (0, [])
        assert (host.room.level_looks._new, host.room.level_looks._again) == ({}, {})
        assert [channel.in_flight for channel in host.coordinator.channels] == [0] * len(self.servers)  # type: ignore[attr-defined]

    def _coordinator(self) -> Coordinator:
        channels = {}
        for port, name in enumerate(self.servers, 1):
            upstream = RawUpstream(Address(HOST, port), loop=self.loop, backlog_bytes=1 << 30, writes=self._writes)
            channels[name] = ServerConnection(upstream=upstream, runtime=self._runtime, timeouts=Timeouts())
            channels[name].open()
        return PlainCoordinator(zone="a", channels=channels, runtime=self._runtime)

    async def _lease(self, watch: bytes) -> Coordinator:
        coordinator = self._coordinator()
        self.leased.append(coordinator)
        try:
            await until(lambda: coordinator.connected, within_s=2)
        except asyncio.CancelledError:
            self._release(coordinator)
            raise
        return coordinator

    def _release(self, coordinator: Coordinator) -> None:
        self.leased.remove(coordinator)
        for channel in coordinator.channels:
            channel.close()  # type: ignore[attr-defined]


@contextmanager
def virtual_loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    try:
        yield loop
    finally:
        loop.close()


def in_virtual_time(
    test: Callable[[SteppedPort], Coroutine[Any, Any, None]],
    commands: Sequence[Any],
    execute: Sequence[Execute],
    *,
    level: Level = Level.DC_ONE,
) -> None:
    """Run ``test`` with a port that is connected to all its servers."""

    async def run(loop: VirtualLoop) -> None:
        port = SteppedPort(loop, commands, execute, level=level)
        await until(lambda: port.host.coordinator.connected)
        await test(port)

    with virtual_loop() as loop:
        loop.run_until_complete(run(loop))
