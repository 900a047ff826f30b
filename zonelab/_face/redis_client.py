"""redis-py's client over a program's own connections, so that programs on ``redis.asyncio`` run in simulation."""

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any

import redis.asyncio
import redis.exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.connection import DefaultParser

from zonelab._face.asyncio_program import KILLED, AsyncioProgram, running_program
from zonelab._face.cluster import AsyncCluster
from zonelab._face.library_clocks import simulate_clocks
from zonelab.cluster.client.connection import ClientConnection
from zonelab.cluster.coordinators.coordinator import COORDINATOR_DIED, COORDINATOR_DOWN
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level, Setting, level_named
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import (
    Argument,
    Command,
    Connection,
    Indeterminate,
    PortError,
    Reply,
    ServerError,
    Unavailable,
)
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.clients.program_crash import ProgramCrashed

Wrap = Callable[[Any], Connection]
ATTEMPT_S = 0.001
"""Time that a program loses with a command that fails."""
_SUBSCRIPTION = frozenset({"PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUBSCRIBE", "SUNSUBSCRIBE", "UNSUBSCRIBE"})


_classes: dict[tuple[Any, Any], Any] = {}


def _both(kind: Any, like: Any) -> Any:
    """Return an error that is one of zonelab's ports, for histories, and one of redis-py's, for programs."""
    if (kind, like) not in _classes:
        _classes[kind, like] = type(like.__name__, (kind, like), {"__module__": like.__module__})
    return _classes[kind, like]


def _raised(error: Exception) -> Any:
    """Return ``error`` of a port, or of a server's reply, in redis-py's classes as well."""
    if error.args and error.args[0] in (COORDINATOR_DIED, COORDINATOR_DOWN):
        return _both(type(error), redis.exceptions.ConnectionError)(*error.args)
    parse: Any = DefaultParser.parse_error
    parsed = parse(str(error))
    kind = next(one for one in (Unavailable, Indeterminate, ServerError) if isinstance(error, one))
    return _both(kind, type(parsed))(*parsed.args)


class RedisPyConnection:
    """The part of redis-py's ``Connection`` that its clients, pipelines and subscriptions use.

    What is sent waits until a reply is read, and goes to the cluster as one pipeline then. It ends with its program.
    """

    db, host, port = 0, "zonelab", 0
    health_check_interval = 0
    is_connected = True
    credential_provider = None
    retry_on_error = ()

    def __init__(self, own: ClientConnection, wrap: Wrap | None, encoder: Any) -> None:
        self._own = own
        self._way: Connection = own if wrap is None else wrap(own)
        self._encoder = encoder
        self._unsent: list[Command] = []
        self._replies: deque[Reply] = deque()
        self._lost: PortError | None = None
        self._program = running_program()
        if self._program is not None:
            self._program._when_killed(own.close)
        self.retry = Retry(NoBackoff(), 0)

    async def send_command(self, *words: Argument, **_: Any) -> None:
        """Send one command; those of the subscribe family at once, as their answers are messages."""
        name, *rest = words
        command = (*str(name).split(" "), *map(self._encoder.encode, rest))
        if command[0] not in _SUBSCRIPTION:
            self._unsent.append(command)
            return
        (refusal,) = await self._execute(command)
        if isinstance(refusal, ServerError):
            raise _raised(refusal)

    def pack_commands(self, commands: Iterable[tuple[Argument, ...]]) -> list[tuple[Argument, ...]]:
        """Return ``commands`` as they are: nothing is made of bytes."""
        return list(commands)

    async def send_packed_command(self, commands: Iterable[tuple[Argument, ...]], **_: Any) -> None:
        for command in commands:
            await self.send_command(*command)

    async def read_response(
        self, *, disable_decoding: bool = False, timeout: Any = None, push_request: bool = False, **_: Any
    ) -> Any:
        """Return the next reply, or for a subscriber the next message."""
        if push_request:
            reply: Any = await self._message(timeout)
        else:
            if self._unsent:
                unsent, self._unsent = self._unsent, []
                self._replies.extend(await self._execute(*unsent))
            if self._lost is not None:
                raise _raised(self._lost)  # of a pipeline each reply is asked for
            reply = self._replies.popleft()
        if isinstance(reply, ServerError):
            raise _raised(reply)
        return self._shown(reply, decode=not disable_decoding)

    async def _message(self, timeout: Any) -> Any:
        endless = timeout is None or timeout == float("inf")
        try:
            return await self._own.message(wait_ns=None if endless else round(timeout * NS_PER_S))
        except PortError as error:
            raise await self._failure(error) from None

    async def _execute(self, *commands: Command) -> list[Reply]:
        if self._program is not None and self._program.killed:
            raise redis.exceptions.ConnectionError(KILLED)
        self._lost = None
        try:
            return await self._way.execute(*commands)
        except PortError as error:
            self._replies.clear()
            self._lost = error
            raise await self._failure(error) from None
        except asyncio.CancelledError:
            await self.disconnect()
            raise
        except ProgramCrashed as crash:
            if self._program is not None:
                self._program.kill(crash)
                await self._program.loop.create_future()  # which nothing ends: the task stands where it died
            raise

    async def _failure(self, error: PortError) -> Any:
        """Return ``error`` as redis-py knows it, after a while: what tries again at once would stop virtual time."""
        if self._program is not None:
            await asyncio.sleep(ATTEMPT_S)
        return _raised(error)

    def _shown(self, reply: Any, *, decode: bool) -> Any:
        if isinstance(reply, list):
            return [self._shown(one, decode=decode) for one in reply]
        if isinstance(reply, ServerError):
            return _raised(reply)
        return self._encoder.decode(bytes(reply)) if decode and isinstance(reply, bytes) else reply

    async def connect(self) -> None:
        """Do nothing: a connection is there until its cluster stops."""

    async def disconnect(self, **_: Any) -> None:
        """Forget the state of the connection."""
        self._unsent.clear()
        self._replies.clear()
        self._lost = None
        self._own.close()

    def register_connect_callback(self, callback: Any) -> None:
        """Ignore ``callback``, which would be called after a new connection."""

    def deregister_connect_callback(self, callback: Any) -> None:
        """Ignore ``callback``."""


class _Released:
    """Future that is done: redis-py shields the release from being cancelled, which else needs a loop of asyncio."""

    _asyncio_future_blocking = False

    def done(self) -> bool:
        return True

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield


class RedisPyPool:
    """The part of redis-py's ``ConnectionPool`` that its client uses."""

    def __init__(self, connect: Callable[[], ClientConnection], wrap: Wrap | None, *, decode_responses: bool) -> None:
        self._connect = connect
        self._wrap = wrap
        like: Any = redis.asyncio.ConnectionPool(decode_responses=decode_responses)
        self._encoder = like.get_encoder()
        self._idle: list[RedisPyConnection] = []
        self.connection_kwargs = {"protocol": 2, "decode_responses": decode_responses}

    def get_encoder(self) -> Any:
        return self._encoder

    async def get_connection(self, *_: Any, **__: Any) -> RedisPyConnection:
        """Return a connection that nobody uses."""
        return self._idle.pop() if self._idle else RedisPyConnection(self._connect(), self._wrap, self._encoder)

    def release(self, connection: RedisPyConnection) -> "_Released":
        self._idle.append(connection)
        return _Released()

    async def aclose(self) -> None:
        """Forget the state of all connections that nobody uses."""
        for connection in self._idle:
            await connection.disconnect()


class ClusterRedis(redis.asyncio.Redis):
    """``redis.asyncio.Redis`` whose connections lead through the coordinator of a zone."""

    async def __aenter__(self) -> "ClusterRedis":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


def open_client(
    where: AsyncCluster | Testbed, zone: str, *, level: Setting | str, wrap: Wrap | None, decode_responses: bool
) -> ClusterRedis:
    """Return the client of ``zonelab.testing.client``, which says what the arguments mean."""
    testbed = _testbed_with(where, zone)
    setting = level_named(level.encode()) if isinstance(level, str) else level
    if setting is None:
        raise ClusterError(f"level: got {level!r}; accepted: {', '.join(each.value for each in Level)}")
    connect = partial(testbed.client_connection, zone, setting)
    pool: Any = RedisPyPool(connect, wrap, decode_responses=decode_responses)
    return ClusterRedis(connection_pool=pool)


def open_program(where: AsyncCluster | Testbed, zone: str, *, packages: Sequence[str]) -> AsyncioProgram:
    """Return the program of ``zonelab.testing.asyncio_program``, which says what the arguments mean."""
    testbed = _testbed_with(where, zone)
    if not isinstance(testbed.runtime, SimRuntime):
        raise ClusterError("asyncio_program: needs a simulated cluster; on servers any loop of asyncio will do")
    simulate_clocks(("redis", *packages))
    return AsyncioProgram(testbed.runtime, testbed.clock(zone), zone=zone)


def _testbed_with(where: AsyncCluster | Testbed, zone: str) -> Testbed:
    testbed = where._host.testbed if isinstance(where, AsyncCluster) else where
    if zone not in testbed.coordinators:
        raise ClusterError(f"zone: got {zone!r}; accepted: {', '.join(testbed.coordinators)}")
    return testbed
