"""A simulated server process: one thread that serves its connections in turn, with a disk under it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from itertools import accumulate
from random import Random

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.marked import MarkedCommands
from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag import Lag
from zonelab.cluster.sim.connection import OnReplies, SimConnection
from zonelab.cluster.sim.disk import DEFAULT_SAVE_POINTS, Disk
from zonelab.cluster.sim.expiry_cycle import ExpiryCycle
from zonelab.cluster.sim.redis import Pipeline, RedisModel, prepare
from zonelab.cluster.sim.redis.channels import Subscriptions
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import OK
from zonelab.cluster.sim.redis.store import Snapshot
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.zone import Persistence
from zonelab.engine.ports import Command, Reply


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Times in ns, and persistence, of simulated servers.

    ``request_ns`` and ``reply_ns``: transit between a coordinator and the server on its own machine, in all.
    ``service_ns``: the server's work on one command; a draw of ``service`` replaces it if given. ``fsync_ns``: a flush,
    for which AOF always waits once a pipeline. ``start_ns``: from the start of the process until it serves. If transit
    and service are 0, a pipeline is answered within the call that sends it. ``events``: of keys, which it publishes.
    """

    persistence: Persistence = Persistence.NONE
    request_ns: int = 20_000
    reply_ns: int = 20_000
    service_ns: int = 5_000
    service: Lag | None = None
    fsync_ns: int = 1_000_000
    start_ns: int = 10_000_000
    save_points: tuple[tuple[int, int], ...] = DEFAULT_SAVE_POINTS
    events: EventFlags = field(default_factory=EventFlags)

    def __post_init__(self) -> None:
        for name in ("request_ns", "reply_ns", "service_ns", "fsync_ns", "start_ns"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more nanoseconds, got {getattr(self, name)}")


class _Listener:
    """Somebody who wants to know of changes of keys."""

    __slots__ = ("changed",)

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def __call__(self, key: bytes) -> None:
        self.changed()


_Request = tuple[SimConnection, Batch, OnReplies, int]
"""In the server's socket buffer, with the time at which it arrives: executed even if whoever sent it has hung up."""


class SimServer:
    """``boot`` and ``kill`` begin and end the process; ``pause`` and ``resume`` are SIGSTOP and SIGCONT.

    ``slowdown`` multiplies the time that commands take.
    """

    def __init__(
        self, name: str, *, runtime: SimRuntime, clock: NodeClock, settings: ServerSettings, random: Random
    ) -> None:
        self.name = name
        self.settings = settings
        self._slowdown = 1.0
        self._service_ns = settings.service_ns
        self._draw_ns = (
            None if settings.service is None else settings.service.sampler(runtime.random(f"service {name}"))
        )
        self._drawn_ns: list[int] = []
        self._request_ns = settings.request_ns
        self._fsyncs = settings.persistence is Persistence.AOF_ALWAYS
        self._runtime = runtime
        self._environment = runtime.environment
        self._trace = runtime.trace
        self._clock = clock
        self._random = random
        self._model: RedisModel | None = None
        self.lacking: dict[str, None] = {}
        """Commands that it was sent, and that a real server has and the model has not."""
        self._boots = 0
        self._paused = False
        self._expiry = ExpiryCycle(runtime, running=self._is_running)
        self._disk = Disk(
            persistence=settings.persistence,
            runtime=runtime,
            running=self._is_running,
            save_points=settings.save_points,
        )
        self._connections: dict[SimConnection, None] = {}
        self._listeners: dict[tuple[tuple[bytes, ...], _Listener], None] = {}
        self._inbox: deque[_Request] = deque()
        self._timer: int | None = None  # its key in the environment
        self._serving_ns = 0
        self._spent_ns = 0

    @property
    def listening(self) -> bool:
        """The process is there: connections are accepted, also while it is paused."""
        return self._model is not None

    def _is_running(self) -> bool:
        return self.listening and not self._paused

    @property
    def slowdown(self) -> float:
        return self._slowdown

    @slowdown.setter
    def slowdown(self, factor: float) -> None:
        self._slowdown = factor
        self._service_ns = round(self.settings.service_ns * factor)

    def limit_memory(self, *, full: bool) -> None:
        """Refuse, or accept again, commands that need more memory, until the server dies."""
        assert self._model is not None, "the server is not running"
        self._model.full = full

    @property
    def disk(self) -> Disk:
        return self._disk

    def boot(self, *, copy: Snapshot | None = None) -> None:
        """Serve from now on: with what the disk holds, or with ``copy`` in its place."""
        assert self._model is None, "the server is already running"
        keeps_log = self.settings.persistence is not Persistence.NONE
        model = RedisModel(
            clock_us=self._clock.now_us,
            random=self._random,
            run_id=self._next_run_id(),
            on_write=self._written if keeps_log else None,
            lacking=self.lacking,
        )
        if copy is None:
            self._disk.attach(model)
        else:
            self._disk.attach_copy(model, copy)
        model.store.publish_events(self.settings.events)
        self._model = model
        self._expiry.begin(model)
        self._listen_again()

    def _next_run_id(self) -> str:
        """Return what distinguishes one process of this server from another, as the server's own ``run_id`` does."""
        self._boots += 1
        return sha1(f"{self.name} {self._boots}".encode(), usedforsecurity=False).hexdigest()

    def kill(self) -> None:
        """End the process at once: what is in its buffers is gone, commands of a pipeline that are done stay done."""
        self._die()
        self._disk.end_process()

    def fail_power(self, *, torn: bool) -> None:
        """End the machine at once: files lose what was not flushed, or with ``torn`` a part of that."""
        self._die()
        self._disk.fail_power(torn=self._random if torn else None)

    def pause(self) -> None:
        self._paused = True
        if self._timer is not None:
            self._spent_ns += max(0, self._runtime.now_ns() - self._serving_ns)
            self._stop_timer()
        self._stir()

    def resume(self) -> None:
        self._paused = False
        self._stir()
        self._serve(self._runtime.now_ns())

    def listen(self, keys: Sequence[bytes], changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` when a command has changed one of ``keys``, or the server answers, or not, as it did not.

        The result ends that. No event of its own: who listens is where the server's messages cost nothing.
        """
        listener = (tuple(dict.fromkeys(keys)), _Listener(changed))
        self._listeners[listener] = None
        if self._model is not None:
            self._model.observers.add(*listener)

        def stop() -> None:
            self._listeners.pop(listener, None)
            if self._model is not None:
                self._model.observers.remove(*listener)

        return stop

    def _listen_again(self) -> None:
        """Another process has the keys now."""
        assert self._model is not None
        for listener in self._listeners:
            self._model.observers.add(*listener)
        self._stir()

    def _stir(self) -> None:
        """Tell all listeners: a look here may find another answer."""
        for _, listener in list(self._listeners):
            listener.changed()

    def look(self, command: Command) -> Reply:
        """Return the reply to ``command``, which only reads, at this instant: no event, and no part of the run.

        None while there is no process, too.
        """
        handler, parsed, _ = prepare(command)
        assert handler is not None, command
        return None if self._model is None else handler(self._model.store, parsed)

    def refusal(self, command: Command) -> str | None:
        """Return the error that keeps ``command`` out of a transaction; None while there is no process to say it."""
        return None if self._model is None else self._model.refusal(command)

    def snapshot(self) -> Snapshot:
        """All data at this instant."""
        assert self._model is not None
        return self._model.store.snapshot()

    def connect(self, connection: SimConnection) -> None:
        self._connections[connection] = None

    def disconnect(self, connection: SimConnection) -> None:
        """Forget ``connection``, with what it watches and is subscribed to."""
        self._connections.pop(connection, None)
        for held in (connection.watch, connection.subscriptions):
            if held is not None:
                held.end()
        self._stir()

    def receive(self, connection: SimConnection, batch: Batch, on_replies: OnReplies) -> None:
        """``batch`` is on its way here."""
        now_ns, inbox = self._environment._now, self._inbox
        inbox.append((connection, batch, on_replies, now_ns + self._request_ns))
        if len(inbox) == 1 and not self._paused:
            self._serve(now_ns)

    def _serve(self, now_ns: int) -> None:
        """Work on the oldest request; those that cost no time are answered here and now."""
        while self._inbox and not self._paused and self._timer is None:
            _, batch, _, arrives_ns = self._inbox[0]
            self._serving_ns = begins_ns = arrives_ns if arrives_ns > now_ns else now_ns
            fixed = self._draw_ns is None
            cost_ns = _size(batch) * self._service_ns if fixed else sum(self._costs_ns(batch))
            if self._fsyncs and batch.writes:
                cost_ns += self.settings.fsync_ns
            left_ns = begins_ns - now_ns + cost_ns - self._spent_ns
            if left_ns > 0:
                environment = self._environment
                self._timer = environment.put(left_ns, self._served, environment.actor)
                return
            self._finish()

    def _costs_ns(self, batch: Batch) -> Sequence[int]:
        """The work on each command of the oldest request; drawn once, however often its service is interrupted."""
        if self._draw_ns is None:
            return [self._service_ns] * _size(batch)
        if not self._drawn_ns:
            self._drawn_ns = [self._draw_ns() for _ in range(_size(batch))]
        return [round(cost_ns * self._slowdown) for cost_ns in self._drawn_ns]

    def _served(self) -> None:
        self._timer = None
        self._finish()
        if self._inbox:
            self._serve(self._environment._now)

    def _finish(self) -> None:
        connection, batch, on_replies, _ = self._inbox[0]
        model = self._model
        assert model is not None
        self._spent_ns = 0
        self._drawn_ns = []
        pipeline: Pipeline = batch.prepared or _prepare(batch)
        self._trace.note_each(self._environment._now, self.name, pipeline.labels)
        if type(batch.commands) is MarkedCommands:
            replies = [_carry_out(model, connection, batch.commands, pipeline)]
        else:
            replies = model.execute_pipeline(pipeline)
        if model.store.awaits_ends:
            self._expiry.begin(model)
        self._inbox.popleft()
        if self._disk.full and self._disk.notice():
            self._runtime.note(self.name, "end, as the disk is full")
            self.kill()
        else:
            connection.reply(on_replies, replies)

    def _die(self) -> None:
        self._execute_begun()
        self._stop_timer()
        self._expiry.stop()
        self._model = None
        self._paused = False
        self._spent_ns = 0
        self._drawn_ns = []
        self._inbox.clear()
        self._stir()
        connections, self._connections = list(self._connections), {}
        for connection in connections:
            connection.break_off()

    def _execute_begun(self) -> None:
        """The commands of the present pipeline that were done when the process died; of a transaction none is."""
        if not self._inbox or type(self._inbox[0][1].commands) is MarkedCommands:
            return
        costs_ns = self._costs_ns(self._inbox[0][1])
        if not sum(costs_ns):
            return
        spent_ns = self._spent_ns
        if self._timer is not None:
            spent_ns += max(0, self._runtime.now_ns() - self._serving_ns)
        assert self._model is not None
        pipeline = _prepare(self._inbox[0][1])
        count = sum(done_ns <= spent_ns for done_ns in accumulate(costs_ns))
        self._trace.note_each(self._environment._now, self.name, pipeline.labels[:count])
        self._model.execute_each(pipeline.commands[:count])

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._environment.cancel(self._timer)
            self._timer = None

    def _written(self, effects: list[Args]) -> None:
        assert self._model is not None
        self._disk.append(effects, time_us=self._model.store.now_us)


def _size(batch: Batch) -> int:
    """Return how many commands a server executes for ``batch``."""
    commands = batch.commands
    return commands.replies if type(commands) is MarkedCommands else len(commands)


def _carry_out(model: RedisModel, connection: SimConnection, commands: MarkedCommands, pipeline: Pipeline) -> Reply:
    """Carry out WATCH, UNWATCH, EXEC or a command of the subscribe family, on a connection of one client.

    ``pipeline`` has the command itself, or what was queued for EXEC.
    """
    model.store.tick()
    if connection.deliver is not None:
        if connection.subscriptions is None:
            connection.subscriptions = Subscriptions(model.store.channels, connection.deliver)
        return connection.subscriptions.carry_out(pipeline.commands[0][2])
    intact = connection.watches.carry(commands)
    if commands.watches is not None:
        if connection.watch is None:
            connection.watch = model.watch()
        connection.watch.add(pipeline.commands[0][2][1:])
        return OK
    watch, connection.watch = connection.watch, None
    if watch is not None:
        intact = intact and watch.intact()
        watch.end()
    if commands[0][0] == "UNWATCH":
        return OK
    return model.execute_transaction(pipeline.commands) if intact or commands.watched is None else None


def _prepare(batch: Batch) -> Pipeline:
    """Return what the first server makes of a batch serves all."""
    if batch.prepared is None:
        commands = batch.commands
        batch.prepared = Pipeline(commands.queued if type(commands) is MarkedCommands else commands)
    pipeline: Pipeline = batch.prepared
    return pipeline
