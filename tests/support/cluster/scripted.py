"""A cluster in virtual time on scripted servers: small stores that are killed, frozen and revived at will."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from cluster.connections.batch import Answer, Batch, Channel
from cluster.connections.peer import Peer
from cluster.connections.server import ServerConnection
from cluster.connections.timeouts import Timeouts
from cluster.coordinators.coordinator import Coordinator
from cluster.coordinators.plain import PlainCoordinator
from cluster.links.lag import Constant, Lag
from cluster.links.link import Cut, Link
from cluster.sim.runtime import SimRuntime
from cluster.votes.levels import Level
from engine.ports import Command, Indeterminate, Reply, ServerError, Unavailable

MS = 1_000_000
S = 1_000_000_000

ZERO = Constant()


class Until:
    """A lag that delivers at one moment all that is sent before: a process that is stopped until then reads like this.

    Its kernel goes on accepting connections and bytes; what was sent is handled, in order, when the process goes on.
    """

    zero = False

    def __init__(self, time_ns: int, runtime: SimRuntime) -> None:
        self._time_ns = time_ns
        self._runtime = runtime

    def sampler(self, random: Random) -> Callable[[], int]:
        return lambda: max(0, self._time_ns - self._runtime.now_ns())


class ScriptedServer:
    """One zone's server: a store, sockets, and the states up, down and paused.

    A paused server still accepts connections and bytes, as the kernel does for a stopped process; what its sockets hold
    is executed when it goes on, even if the other end has closed them since. A killed one forgets all of that and,
    without persistence, its data.
    """

    def __init__(self, name: str, runtime: SimRuntime, *, service_ns: int = 0) -> None:
        self.name = name
        self.service_ns = service_ns
        self.store: dict[Any, Any] = {}
        self.executed: list[tuple[int, Command]] = []  # (time, command) of what had an effect, in order
        self.attempts: list[int] = []  # when somebody tried to connect
        self.up = True
        self.paused = False
        self._runtime = runtime
        self._sockets: dict[ScriptedUpstream, None] = {}
        self._arriving: deque[Callable[[], None]] = deque()
        self._buffered: deque[Callable[[], None]] = deque()
        self._life = 0

    def upstream(self) -> "ScriptedUpstream":
        return ScriptedUpstream(self, self._runtime)

    def kill(self) -> None:
        self.up = self.paused = False
        self._life += 1
        self._buffered.clear()
        self.store.clear()
        sockets, self._sockets = self._sockets, {}
        for socket in sockets:
            socket.broken()

    def restart(self) -> None:
        self.up = True

    def pause(self) -> None:
        self.paused = self.up

    def resume(self) -> None:
        self.paused = False
        buffered, self._buffered = self._buffered, deque()
        for work in buffered:
            work()

    def connect(self, socket: "ScriptedUpstream") -> bool:
        self.attempts.append(self._runtime.now_ns())
        if self.up:
            self._sockets[socket] = None
        return self.up

    def disconnect(self, socket: "ScriptedUpstream") -> None:
        self._sockets.pop(socket, None)

    def receive(self, commands: tuple[Command, ...], reply: Callable[[list[Reply]], None]) -> None:
        life = self._life

        def work() -> None:
            if life != self._life:
                return  # died with the process that would have executed it
            if self.paused:
                self._buffered.append(work)
            else:
                reply([self._execute(command) for command in commands])

        self._arriving.append(work)
        if self.service_ns:
            self._runtime.call_later(self.service_ns, self._work)
        else:
            self._work()

    def commands(self) -> list[Command]:
        """What was executed, in order."""
        return [command for _, command in self.executed]

    def count(self, *arguments: Any) -> int:
        """How often a command that begins with ``arguments`` was executed."""
        return sum(command[: len(arguments)] == arguments for _, command in self.executed)

    def _work(self) -> None:
        self._arriving.popleft()()

    def _execute(self, command: Command) -> Reply:
        reply = run(self.store, command)
        if not isinstance(reply, ServerError) or command[0] == "EVAL":
            self.executed.append((self._runtime.now_ns(), command))
        return reply


def run(store: dict[Any, Any], command: Command) -> Reply:
    """The few commands that the tests send, on strings and sorted sets."""
    name, key, *rest = command[0], command[1], *command[2:]
    value = store.get(key)
    if (name in ("GET", "INCR") and isinstance(value, dict)) or (name == "ZADD" and not isinstance(value, dict | None)):
        return ServerError("WRONGTYPE Operation against a key holding the wrong kind of value")
    if name == "GET":
        return None if value is None else str(value).encode()
    if name == "SET":
        if "NX" in rest[1:] and value is not None:
            return None
        store[key] = rest[0]
        return b"OK"
    if name == "INCR":
        store[key] = int(value or 0) + 1
        return int(store[key])
    if name == "ZADD":
        members = store.setdefault(key, {})
        *options, score, member = rest
        added = member not in members
        if added or "NX" not in options:
            members[member] = score
        return int(added)
    if name == "SCRIPT":
        return b"OK"
    if name == "EVAL":  # writes, then fails; what a script has written before its error stays
        store[key] = rest[-1]
        return ServerError("ERR user_script:1: failed")
    if name == "EVALSHA":
        return ServerError("NOSCRIPT No matching script")
    return ServerError(f"ERR unknown command '{name}'")


class ScriptedUpstream:
    """``Upstream`` to a scripted server over loopback: no delay, but never a callback within the call."""

    def __init__(self, server: ScriptedServer, runtime: SimRuntime) -> None:
        self._server = server
        self._runtime = runtime
        self._connection = 0  # callbacks of an earlier connection are void
        self._events: deque[tuple[int, Callable[[], None]]] = deque()
        self._on_close: Callable[[], None] | None = None

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        self.close()
        self._on_close = on_close
        accepted = self._server.connect(self)
        self._soon(on_open if accepted else on_close)

    def send(self, batch: Batch, on_replies: Callable[[list[Reply]], None]) -> None:
        connection = self._connection

        def reply(replies: list[Reply]) -> None:
            if connection == self._connection:
                self._soon(partial(on_replies, replies))

        self._server.receive(tuple(batch.commands), reply)

    def close(self) -> None:
        self._connection += 1
        self._on_close = None
        self._server.disconnect(self)

    def broken(self) -> None:
        """The server's end is gone."""
        if self._on_close is not None:
            self._soon(self._on_close)

    def _soon(self, callback: Callable[[], None]) -> None:
        self._events.append((self._connection, callback))
        self._runtime.call_later(0, self._next)

    def _next(self) -> None:
        connection, callback = self._events.popleft()
        if connection == self._connection:
            callback()


class Call:
    """A pipeline that a client sent: its replies or its error, and when they came."""

    def __init__(self, zone: str, level: Level, commands: tuple[Command, ...], invoked_ns: int) -> None:
        self.zone = zone
        self.level = level
        self.commands = commands
        self.invoked_ns = invoked_ns
        self.ended_ns: int | None = None
        self.replies: list[Reply] | None = None
        self.error: Exception | None = None

    @property
    def ms(self) -> float:
        assert self.ended_ns is not None, "the call has not ended"
        return (self.ended_ns - self.invoked_ns) / MS

    @property
    def outcome(self) -> Any:
        """``(class, text)`` of the error, or the one reply, or the replies."""
        if self.error is not None:
            return type(self.error), str(self.error)
        assert self.replies is not None, "the call has not ended"
        return self.replies[0] if len(self.replies) == 1 else self.replies


class NotingChannel:
    """A channel that notes what it answered to each batch: (zone, commands, answer)."""

    def __init__(self, zone: str, channel: Channel, notes: list[tuple[str, tuple[Command, ...], Answer]]) -> None:
        self._zone = zone
        self._channel = channel
        self._notes = notes

    @property
    def connected(self) -> bool:
        return self._channel.connected

    def reset(self) -> None:
        self._channel.reset()

    def submit(self, batch: Batch, done: Callable[[Answer], None]) -> None:
        def noted(answer: Answer) -> None:
            self._notes.append((self._zone, tuple(batch.commands), answer))
            done(answer)

        self._channel.submit(batch, noted)


class ScriptedCluster:
    """Coordinators of ``zones`` on scripted servers, wired as the real arm wires them; connected when made."""

    def __init__(
        self,
        zones: str = "abc",
        *,
        lag: Lag = ZERO,
        service_ns: int = 0,
        timeouts: Timeouts | None = None,
        seed: int = 1,
        peer: type[Peer] = Peer,
    ) -> None:
        self.runtime = SimRuntime(seed=seed)
        self.timeouts = timeouts or Timeouts()
        self.servers = {name: ScriptedServer(name, self.runtime, service_ns=service_ns) for name in zones}
        self.links = {(source, target): self._link(source, target, lag) for source in zones for target in zones}
        self.peers: dict[tuple[str, str], Peer] = {}
        self.connections: dict[tuple[str, str], ServerConnection] = {}
        self.answers: list[tuple[str, tuple[Command, ...], Answer]] = []  # of every zone, to whichever coordinator
        self.coordinators = {name: self._coordinator(name, peer) for name in zones}
        self.calls: list[Call] = []
        self.run(1)
        for server in self.servers.values():
            server.attempts.clear()

    def run(self, duration_ns: int) -> None:
        self.runtime.run(for_ns=duration_ns)

    def run_to(self, time_ns: int) -> None:
        """Let time pass up to ``time_ns`` and everything happen that happens then."""
        self.run(time_ns - self.runtime.now_ns() + 1)

    def at(self, time_ns: int, action: Callable[[], object]) -> None:
        self.runtime.call_later(time_ns - self.runtime.now_ns(), lambda: action() and None)

    def call(self, zone: str, level: Level, *commands: Command) -> Call:
        """Send ``commands`` now; the call fills in as time passes."""
        call = Call(zone, level, commands, self.runtime.now_ns())
        self.calls.append(call)
        self.runtime.spawn(self._carry(call), name="client")
        return call

    def send(self, zone: str, level: Level, *commands: Command) -> Call:
        """Send ``commands`` and let time pass until they are answered."""
        call = Call(zone, level, commands, self.runtime.now_ns())
        self.calls.append(call)
        self.runtime.run_until_complete(self._carry(call))
        return call

    def outcome(self, zone: str, level: Level, *commands: Command) -> Any:
        return self.send(zone, level, *commands).outcome

    def cut(self, source: str, target: str, mode: Cut) -> None:
        self.links[source, target].cut(mode)

    def cut_both_ways(self, one: str, other: str, mode: Cut) -> None:
        self.cut(one, other, mode)
        self.cut(other, one, mode)

    def isolate(self, zone: str, mode: Cut) -> None:
        """Cut ``zone`` off from all others."""
        for other in self.servers:
            if other != zone:
                self.cut_both_ways(zone, other, mode)

    def mend_all(self) -> None:
        for link in self.links.values():
            link.mend()

    def values(self, key: str) -> list[Any]:
        """What each server holds under ``key``, in order of the zones."""
        return [server.store.get(key) for server in self.servers.values()]

    def executed_at(self, *command: Any) -> list[str]:
        """The zones whose servers have executed ``command``."""
        return [name for name, server in self.servers.items() if command in server.commands()]

    async def _carry(self, call: Call) -> None:
        try:
            call.replies = await self.coordinators[call.zone].connection(call.level).execute(*call.commands)
        except (Unavailable, Indeterminate) as error:
            call.error = error
        call.ended_ns = self.runtime.now_ns()

    def _link(self, source: str, target: str, lag: Lag) -> Link:
        random = self.runtime.random(f"link {source}>{target}")
        return Link(source=source, target=target, runtime=self.runtime, lag=lag, random=random)

    def _coordinator(self, zone: str, peer: type[Peer]) -> Coordinator:
        channels: dict[str, ServerConnection | Peer] = {}
        for target, server in self.servers.items():
            connection = ServerConnection(upstream=server.upstream(), runtime=self.runtime, timeouts=self.timeouts)
            self.connections[zone, target] = connection
            connection.open()
            channels[target] = connection
            if target != zone:
                channels[target] = self.peers[zone, target] = peer(
                    far_end=connection,
                    outbound=self.links[zone, target],
                    inbound=self.links[target, zone],
                    runtime=self.runtime,
                    timeouts=self.timeouts,
                )
        noting = {target: NotingChannel(target, channel, self.answers) for target, channel in channels.items()}
        return PlainCoordinator(zone=zone, channels=noting, runtime=self.runtime)


def planted(*values: Any, **options: Any) -> ScriptedCluster:
    """A cluster whose servers hold these values under ``k``."""
    cluster = ScriptedCluster(**options)
    for server, value in zip(cluster.servers.values(), values, strict=True):
        if value is not None:
            server.store["k"] = value
    return cluster


def executions(servers: Mapping[str, ScriptedServer], command: Command) -> dict[str, list[int]]:
    """When each server executed ``command``."""
    return {
        name: [time_ns for time_ns, executed in server.executed if executed == command]
        for name, server in servers.items()
    }
