"""``connect``: runtime, clock and connection to existing servers in one object, async and blocking."""

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import hiredis

from zonelab._face.host import PROGRAM, BlockingPlace, Host, QueuePlace
from zonelab._face.loop_thread import LoopThread
from zonelab._face.queue_scenario import cluster_document
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.upstream import pack
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Address, ClusterError, Persistence, Restart, Zone, ZoneError, ZoneState
from zonelab.engine.ports import Argument, Command, Connection, Reply, Runtime, ServerError
from zonelab.engine.sync import CoroutineRunner, Facade, blocking

Answer = int | bytes | None | list["Answer | ServerError"]
"""A reply that is no error; within a list, errors are values."""

ONLY_ZONE = "a"
"""Name of the zone that a single server is."""

_ACCEPTED = "redis://[[user]:password@]host[:port][/db]"
_PROBE: Command = ("DYNO_CONFIG:CONN_CONSISTENCY", "?")
"""A plain server does not know the command, the port of a zone does not know the level."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerUrl:
    """Address of a server, with the commands that begin a connection to it, such as AUTH."""

    address: Address
    greeting: tuple[Command, ...]

    @classmethod
    def of(cls, url: str) -> "ServerUrl":
        """Parse ``url``. Raises ``ClusterError`` unless it is the URL of a Redis server."""
        try:
            parts = urlsplit(url)
            port, db = parts.port or 6379, parts.path.strip("/") or "0"
        except ValueError:
            parts, port, db = urlsplit(""), 0, ""
        if parts.scheme != "redis" or not parts.hostname or not db.isdecimal() or parts.query or parts.fragment:
            raise ClusterError(f"url: got {url!r}; accepted: {_ACCEPTED}")
        greeting: list[Command] = []
        if parts.password:
            user = (unquote(parts.username),) if parts.username else ()
            greeting.append(("AUTH", *user, unquote(parts.password)))
        if int(db):
            greeting.append(("SELECT", int(db)))
        return cls(address=Address(parts.hostname, port), greeting=tuple(greeting))

    async def probe(self, *, timeout_s: float) -> bool:
        """Return True if a zone's port answers at this URL, False if a plain server does.

        Raises ``ClusterError`` if neither answers.
        """
        try:
            async with asyncio.timeout(timeout_s):
                replies = await self._ask((*self.greeting, _PROBE))
        except TimeoutError:
            raise ClusterError(f"no server answers at {self.address} within {timeout_s:g} s") from None
        except OSError as error:
            raise ClusterError(f"no server answers at {self.address}: {error.strerror or error}") from error
        refused = [str(reply) for reply in replies[:-1] if isinstance(reply, ServerError)]
        if refused:
            raise ClusterError(f"the server at {self.address} refused: {refused[0]}")
        refusal = str(replies[-1]) if isinstance(replies[-1], ServerError) else ""
        if refusal.startswith("NOAUTH"):
            raise ClusterError(f"the server at {self.address} refused: {refusal}")
        return not refusal.startswith("ERR unknown command")

    async def _ask(self, commands: tuple[Command, ...]) -> list[Reply]:
        reader, writer = await asyncio.open_connection(self.address.host, self.address.port)
        parser = hiredis.Reader(replyError=ServerError)
        replies: list[Reply] = []
        try:
            writer.write(b"".join(map(pack, commands)))
            while len(replies) < len(commands):
                reply: Any = parser.gets()
                if reply is not False:
                    replies.append(reply)
                elif data := await reader.read(65_536):
                    parser.feed(data)
                else:
                    raise ConnectionResetError("it closed the connection")
        except hiredis.ProtocolError as error:
            raise ConnectionResetError("it is no Redis server") from error
        finally:
            writer.close()
        return replies


class Server(QueuePlace):
    """Connection of a program in one zone to servers, for queues and for single commands.

    ``connect`` makes it. ``runtime``, ``clock`` and ``connection`` are what engines take: the connection at the level
    given to ``connect``; ``local`` asks the program's own zone alone. ``zones`` are the names of the zones, ``zone``
    that of the program, and ``is_port`` says whether it is connected to the port of one zone of a cluster.

    Example, in which those of the methods stand in place of the dots::

        import asyncio

        async def program() -> None:
            async with connect("redis://127.0.0.1:6379") as server:
                ...

        asyncio.run(program())
    """

    def __init__(self, cluster: RealCluster, host: Host, *, zone: str, level: Level, is_port: bool) -> None:
        super().__init__(host)
        self.zone = zone
        self.zones: tuple[str, ...] = tuple(cluster.zones)
        self.is_port = is_port
        self.runtime: Runtime = cluster.runtime
        self.clock: NodeClock = cluster.clock(zone)
        self.connection: Connection = PROGRAM(cluster.connection(zone, level))
        self.local: Connection = PROGRAM(cluster.connection(zone, Level.DC_ONE))

    async def execute(self, *words: Argument) -> Answer:
        """Send one command.

        Args:
            words: the command and its arguments: str (sent in UTF-8), bytes or numbers.

        Returns:
            The reply: an int, bytes, None or a list of these; error replies within a list are elements.

        Raises:
            ServerError: for an error reply.
            Unavailable: if there is no reply, and the command had certainly no effect.
            Indeterminate: if there is no reply, and it may have had an effect.
            ClusterError: if the connection is closed.

        Example::

            print(await server.execute("SET", "k", "v"), await server.execute("GET", "k"))  # b'OK' b'v'
            try:
                await server.execute("INCR", "k")
            except ServerError as error:
                print(error)  # ERR value is not an integer or out of range
        """
        self._host.check_open()
        (reply,) = await self.connection.execute(words)
        if isinstance(reply, ServerError):
            raise reply
        return reply


class BlockingServer(Facade, BlockingPlace):
    """``Server`` for programs without an event loop: a thread of its own runs one.

    It has ``zone``, ``zones`` and ``is_port`` as well.

    Example, in which those of the methods stand in place of the dots::

        with connect("redis://127.0.0.1:6379") as server:
            ...
    """

    def __init__(self, server: Server, run: CoroutineRunner) -> None:
        super().__init__(server, run)
        self._server = server
        self.zone, self.zones, self.is_port = server.zone, server.zones, server.is_port

    execute = blocking(Server.execute)

    @property
    def _place(self) -> Server:
        return self._server

    @property
    def _runner(self) -> CoroutineRunner:
        return self._run


class ServerOpening:
    """Connection that is open within an ``async with`` or ``with`` block; see ``connect``."""

    def __init__(self, urls: Mapping[str, ServerUrl], *, zone: str, level: Level | None, timeout_s: float) -> None:
        self._urls = urls
        self._zone = zone
        self._level = level
        self._timeout_s = timeout_s
        self._stack = AsyncExitStack()
        self._thread: LoopThread | None = None

    async def __aenter__(self) -> Server:
        probes = [await url.probe(timeout_s=self._timeout_s) for url in self._urls.values()]
        if len(probes) > 1 and any(probes):
            raise ClusterError(
                "url: got the port of a zone among several; accepted: the servers of all zones, or one port"
            )
        greetings = {zone: url.greeting for zone, url in self._urls.items()}
        if probes == [True] and self._level is not None:
            greetings[self._zone] += (("DYNO_CONFIG:CONN_CONSISTENCY", self._level.value),)
        level = self._level or Level.DC_QUORUM
        settings = RealSettings(seed=secrets.randbits(63), timeouts=Timeouts(), greetings=greetings)
        cluster = RealCluster(_GivenServers(self._urls), settings)
        await cluster.start()
        self._stack.push_async_callback(cluster.stop)
        document = cluster_document(tuple(self._urls), real=True, level=level.value)
        host = Host(cluster, document, program=f"{secrets.token_hex(6)}-")
        self._stack.push_async_callback(host.close)
        return Server(cluster, host, zone=self._zone, level=level, is_port=probes == [True])

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __enter__(self) -> BlockingServer:
        self._thread = LoopThread()
        try:
            return BlockingServer(self._thread.run(self.__aenter__()), self._thread.run)
        except BaseException:
            self._thread.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None, "a block that has not begun cannot end"
        self._thread.run(self.__aexit__(None, None, None))
        self._thread.close()


def connect(
    url: str | Mapping[str, str], *, zone: str | None = None, level: str | None = None, timeout_s: float = 5.0
) -> ServerOpening:
    """Connect to a Redis or Valkey server, to the port of one zone of a cluster, or to the servers of all zones.

    Args:
        url: ``redis://[[user]:password@]host[:port][/db]``; for several zones a mapping from zone to its server's URL:
            then this program does a coordinator's work, sends writes to all zones and decides between replies.
        zone: the zone in which this program is; the first of ``url`` if not given.
        level: consistency level of the program's commands, a name of ``zonelab.testing.Level``. If not given
            DC_QUORUM; at the port of a zone, the level of its cluster.
        timeout_s: seconds to wait for the first answer of a server.

    Returns:
        An object for ``async with``, which gives a ``Server``, or for ``with``, which gives a ``BlockingServer``.

    Raises:
        ClusterError: at once for a URL, zone or level that is not accepted; when the block begins if no server answers.

    Example::

        with connect("redis://127.0.0.1:6379") as server:
            server.execute("SET", "k", "v")
            print(server.execute("GET", "k"))
    """
    urls = {ONLY_ZONE: url} if isinstance(url, str) else dict(url)
    if not urls:
        raise ClusterError("url: got no server; accepted: one or more")
    here = next(iter(urls)) if zone is None else zone
    if here not in urls:
        raise ClusterError(f"zone: got {zone!r}; accepted: {', '.join(urls)}")
    if level is not None and level not in set(Level):
        raise ClusterError(f"level: got {level!r}; accepted: {', '.join(Level)}")
    at = None if level is None else Level(level)
    return ServerOpening(
        {name: ServerUrl.of(each) for name, each in urls.items()}, zone=here, level=at, timeout_s=timeout_s
    )


class _GivenServers:
    """``zonelab.cluster.real.cluster.Servers`` that this program neither starts nor stops."""

    def __init__(self, urls: Mapping[str, ServerUrl]) -> None:
        self._zones = [_GivenZone(name, url.address) for name, url in urls.items()]

    def __iter__(self) -> Iterator[Zone]:
        return iter(self._zones)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class _GivenZone:
    """``Zone`` whose server does not belong to the lab: it cannot be killed, paused or restarted."""

    name: str
    address: Address
    state: ZoneState = ZoneState.RUNNING
    persistence: Persistence = Persistence.NONE

    async def start(self) -> None:
        self._refuse()

    async def stop(self) -> None:
        self._refuse()

    async def kill(self) -> None:
        self._refuse()

    async def pause(self) -> None:
        self._refuse()

    async def resume(self) -> None:
        self._refuse()

    async def fill_memory(self) -> None:
        self._refuse()

    async def free_memory(self) -> None:
        self._refuse()

    async def slow_down(self, factor: float) -> None:
        self._refuse()

    async def restart(self, mode: Restart, *, warm_from: Zone | None = None) -> None:
        self._refuse()

    def _refuse(self) -> None:
        raise ZoneError(f"zone {self.name}: its server is not ours")
