"""The simulated cluster for a test that steps through it: servers that answer at no cost and log, and calls."""

from collections.abc import Iterable, Sequence
from typing import Any

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Channel
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag, Lag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.redis.model import Prepared
from zonelab.cluster.sim.redis.store import Snapshot
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.server import ServerSettings, SimServer
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Command, Indeterminate, Reply, ServerError, Unavailable

MS = 1_000_000
S = 1_000_000_000

NO_LAG = ConstantLag()


class LoggedServer(SimServer):
    """A server that notes what it executed. A verb that does not fit its state does nothing.

    ``executed``: time and words of every command that did not fail, and of scripts that did, in order.
    """

    def __init__(self, name: str, *, runtime: SimRuntime, clock: NodeClock, settings: ServerSettings) -> None:
        random = runtime.random(f"server {name}")
        super().__init__(name, runtime=runtime, clock=clock, settings=settings, random=random)
        self.executed: list[tuple[int, tuple[str, ...]]] = []

    def boot(self, *, copy: Snapshot | None = None) -> None:
        super().boot(copy=copy)
        assert self._model is not None
        execute_each = self._model.execute_each

        def noting(commands: Iterable[Prepared]) -> list[Reply]:
            commands = list(commands)
            replies = execute_each(commands)
            for (_, _, words), reply in zip(commands, replies, strict=True):
                if not isinstance(reply, ServerError) or words[0] == b"EVAL":
                    self.executed.append((self._runtime.now_ns(), tuple(word.decode() for word in words)))
            return replies

        self._model.execute_each = noting  # type: ignore[method-assign]

    def restart(self) -> None:
        if not self.listening:
            self.boot()

    def pause(self) -> None:
        if self.listening:
            super().pause()

    def commands(self) -> list[tuple[str, ...]]:
        """What was executed, in order."""
        return [command for _, command in self.executed]

    def times_ns(self, *command: Any) -> list[int]:
        """When what begins with ``command`` was executed."""
        words = tuple(map(str, command))
        return [time_ns for time_ns, executed in self.executed if executed[: len(words)] == words]

    def value(self, key: str) -> str | None:
        value = self.snapshot().values.get(key.encode())
        return value.decode() if isinstance(value, bytes) else None


class Call:
    """A pipeline that a client sent: its replies or its error, and when they came."""

    def __init__(self, zone: str, level: Level, commands: Sequence[Command], invoked_ns: int) -> None:
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


class SteppedCluster(SimCluster):
    """Zones whose servers take ``service_ns`` a command and nothing else, connected when made."""

    def __init__(
        self,
        zones: str = "abc",
        *,
        lag: Lag = NO_LAG,
        service_ns: int = 0,
        timeouts: Timeouts | None = None,
        seed: int = 1,
    ) -> None:
        server = ServerSettings(request_ns=0, reply_ns=0, service_ns=service_ns, start_ns=0)
        timeouts = timeouts or Timeouts()
        super().__init__(
            tuple(zones), SimSettings(seed=seed, lag=lag, coherence_ns=0, timeouts=timeouts, server=server)
        )
        self.servers = {
            name: LoggedServer(name, runtime=self.runtime, clock=self.clocks[name], settings=server) for name in zones
        }
        for name, logged in self.servers.items():
            self.zones[name].server = logged
        self.calls: list[Call] = []
        self.runtime.run_until_complete(self.start())

    def run(self, duration_ns: int) -> None:
        self.runtime.run(for_ns=duration_ns)

    def run_to(self, time_ns: int) -> None:
        """Let time pass up to ``time_ns`` and everything happen that happens then."""
        self.run(time_ns - self.runtime.now_ns() + 1)

    def channel(self, source: str, target: str) -> Channel:
        """The way from the coordinator of ``source`` to the server of ``target``."""
        coordinator = self.coordinators[source]
        return coordinator.channels[coordinator.zones.index(target)]

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

    def plant(self, *commands: Command | None) -> None:
        """Let each server execute its own of ``commands``, past the coordinators; nothing of it is noted."""
        for zone, command in zip(self.servers, commands, strict=True):
            if command is not None:
                self.runtime.run_until_complete(self.direct(zone).execute(command))
                self.servers[zone].executed.clear()

    def kill(self, zones: str) -> None:
        """Kill the servers of ``zones``, and let all coordinators notice."""
        for zone in zones:
            self.servers[zone].kill()
        self.run(1)

    def isolate(self, zone: str, mode: Cut) -> None:
        """Cut ``zone`` off from all others."""
        for pair, link in self.links.items():
            if zone in pair:
                link.cut(mode)

    def mend_all(self) -> None:
        """Undo every cut and let every server run."""
        for server in self.servers.values():
            server.restart()
            server.resume()
        for link in self.links.values():
            link.mend()

    def values(self, key: str) -> list[str | None]:
        """What each server holds under ``key``, in order of the zones; None for one that is down."""
        return [server.value(key) if server.listening else None for server in self.servers.values()]

    def executed_at(self, *command: Any) -> list[str]:
        """The zones whose servers have executed what begins with ``command``."""
        return [name for name, server in self.servers.items() if server.times_ns(*command)]

    async def _carry(self, call: Call) -> None:
        try:
            call.replies = await self.connection(call.zone, call.level).execute(*call.commands)
        except (Unavailable, Indeterminate) as error:
            call.error = error
        call.ended_ns = self.runtime.now_ns()


def planted(*values: Any, **options: Any) -> SteppedCluster:
    """A cluster whose servers hold these values under ``k``: a string, or a hash instead of a dictionary."""
    cluster = SteppedCluster(**options)
    cluster.plant(*(None if value is None else _setting(value) for value in values))
    return cluster


def _setting(value: Any) -> Command:
    if isinstance(value, dict):
        return ("HSET", "k", *(word for pair in value.items() for word in pair))
    return ("SET", "k", value)
