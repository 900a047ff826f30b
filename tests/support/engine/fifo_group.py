"""Programs of a consumer group on simulated zones: they stand still, are killed, and tell what they did."""

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import count

from support.engine.fifo import NS_PER_MS, LogBench

from zonelab.engine.fifo.consumer.context import MemberContext, Zones
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.member import Member
from zonelab.engine.fifo.modes import GroupMode, group_settings
from zonelab.engine.fifo.settings import MessageModel, Order, Poison
from zonelab.engine.fifo.topics.followed import FollowedRoute
from zonelab.engine.fifo.topics.resize import TopicResize
from zonelab.engine.fifo.topics.routes import Routes


class Pause:
    """A program that can stand still as one with SIGSTOP does: what it waits for happens, and it does not notice.

    It is the program's runtime and goes around its connections.
    """

    def __init__(self, runtime):
        self._runtime = runtime
        self._resumed = None

    def stop(self):
        self._resumed = self._runtime.promise()

    def go_on(self):
        resumed, self._resumed = self._resumed, None
        resumed.set_result(None)

    async def passed(self):
        while self._resumed is not None:
            await self._resumed

    async def sleep(self, duration_ns):
        await self._runtime.sleep(duration_ns)
        await self.passed()

    def call_later(self, delay_ns, callback):
        async def fire():
            await self.passed()
            callback()

        return self._runtime.call_later(delay_ns, lambda: self._runtime.spawn(fire(), name="timer"))

    def __getattr__(self, name):
        return getattr(self._runtime, name)

    def around(self, connection):
        return _Paused(connection, self)


class _Paused:
    def __init__(self, inner, pause):
        self._inner, self._pause = inner, pause

    async def execute(self, *commands):
        await self._pause.passed()
        try:
            return await self._inner.execute(*commands)
        finally:
            await self._pause.passed()


@dataclass
class Event:
    kind: str
    time_ms: float
    member: str | None = None
    outcome: str | None = None
    offset: int | None = None
    cursor: int | None = None
    attempt: int | None = None
    partition: str | None = None
    group: str | None = None
    key: str | None = None
    detail: str | None = None
    status: str | None = None
    message_id: str | None = None
    op_id: int | None = None
    epoch: int | None = None


class Told:
    """An observer that keeps what it hears."""

    def __init__(self, runtime):
        self._runtime, self._open, self._numbers = runtime, {}, count(1)
        self.events = []
        self._by_kind = defaultdict(list)

    def begin(self, kind, /, **columns):
        number = next(self._numbers)
        self._open[number] = (kind, columns)
        return number

    def end(self, call, /, *, outcome, **columns):
        kind, known = self._open.pop(call)
        self._keep(kind, outcome=outcome, **{**known, **columns})

    def start(self, **columns):
        op_id = next(self._numbers)
        self._keep("start", op_id=op_id, **columns)
        return op_id

    def note(self, kind, /, **columns):
        self._keep(kind, **columns)

    def _keep(self, kind, /, **columns):
        known = {name: columns[name] for name in columns.keys() & Event.__dataclass_fields__.keys()}
        event = Event(kind, self._runtime.now_ns() / NS_PER_MS, **known)
        self.events.append(event)
        self._by_kind[kind].append(event)

    def of(self, kind, *, member=None):
        return [each for each in self._by_kind[kind] if member in (None, each.member)]


def _typed(changes):
    enums = {"order": Order, "poison": Poison, "sharing": MessageModel}
    return {name: enums.get(name, lambda same: same)(value) for name, value in changes.items()}


class GroupBench(LogBench):
    """One topic and one group, on one zone. ``handle(delivered, handling)``: what every listener does.

    ``work_ms``: how long it then takes. ``listener``: one instead of them.
    """

    def __init__(self, lab, mode, *, partitions=1, work_ms=10, **changes):
        super().__init__(lab, partitions=partitions)
        of_mode = group_settings(GroupMode(mode))
        calm = replace(of_mode.times_ms, idle=25, notice=20)  # hundreds of looks a second would only take time
        self.settings = replace(of_mode, **{"times_ms": calm, **_typed(changes)})
        self.told = Told(lab.runtime)
        self.work_ms = work_ms
        self.handle = None
        self.listener = None
        self.hooks = ()
        self.programs, self.sessions = {}, {}

    @property
    def times_ms(self):
        return self.settings.times_ms

    def zones(self, connection, settings=None):
        return Zones.of(settings or self.settings, level=connection, reads=connection, near=connection, keys=self.keys)

    def route(self):
        """What one more program knows of the topic, which was created if it was not there."""
        routes = self.routes()
        return FollowedRoute(
            self.run(routes.create(len(self.partitions))),
            routes=routes,
            logs=self.logs,
            runtime=self.lab.runtime,
            refresh_ms=self.times_ms.route,
        )

    def routes(self):
        return Routes("t", zones=("a",), level=self.lab.direct("a"), keys=self.keys)

    def resizing(self):
        return TopicResize(self.routes(), logs=self.logs, runtime=self.lab.runtime, observer=self.told, poll_ms=20)

    def start(self, name, connection=None, *, route=None, clock=None, **changes):
        """A member; ``changes``: of the settings, for it alone."""
        settings = replace(self.settings, **_typed(changes))
        pause = Pause(self.lab.runtime)

        async def listen(delivered, handling):
            said = None if self.handle is None else self.handle(delivered, handling)
            await pause.sleep(self.work_ms * NS_PER_MS)
            return ConsumeStatus.SUCCESS if said is None else said

        listener = self.listener or listen
        context = MemberContext(
            name=name,
            session=f"{name}.{next(self.told._numbers)}",
            settings=settings,
            runtime=pause,
            clock=clock or self.lab.cluster.clock("a"),
            zones=self.zones(pause.around(connection or self.lab.direct("a")), settings),
            listener=listener,
            observer=self.told,
            hooks=self.hooks,
        )
        member = Member(context, partitions=self.partitions, room_of=lambda _: "a", route=route)
        self.programs[name], self.sessions[name] = (member, pause), context.session
        self.run(member.start())
        return self

    def close(self, name):
        """It waits for no answer to what it sends one way, so let that arrive."""
        self.run(self.programs[name][0].close())
        self.pause_ms(1)

    def kill(self, name):
        """With SIGKILL: its connections close, which the zone notices at once."""
        self.programs[name][0].kill()
        self.run(self.zones(self.lab.direct("a")).members.leave(name))

    def stop(self, name):
        self.programs[name][1].stop()

    def go_on(self, name):
        self.programs[name][1].go_on()

    def fill(self, number):
        """``number`` messages in each partition."""
        for partition in self.partitions:
            self.produce(number, partition=partition)

    def produce(self, number, *, first=0, keys="k", partition=None):
        """``number`` messages, whose keys are the letters of ``keys`` in turn."""

        async def append_all():
            for sequence in range(first + 1, first + number + 1):
                key = keys[(sequence - 1) % len(keys)]
                record = PartitionRecord(id=f"p{sequence}", key=key, body="", producer="p", sequence=sequence)
                await self.logs.append(partition or self.partition, record, idempotent=False)

        self.run(append_all())

    def now_ms(self):
        return self.lab.runtime.now_ns() / NS_PER_MS

    def pause_ms(self, duration_ms):
        self.run(self.lab.runtime.sleep(round(duration_ms * NS_PER_MS)))

    def until(self, condition, *, most_ms=60_000):
        """Let time pass until ``condition`` holds."""
        ends_ms = self.now_ms() + most_ms
        while not condition():
            assert self.now_ms() < ends_ms, "it did not happen in time"
            self.pause_ms(5)
        return self

    def cursor(self):
        progress = self.run(self.logs.progress(self.partition, self.settings.group))
        return progress and progress.cursor

    def started(self, member=None):
        return [each.offset for each in self.told.of("start", member=member)]

    def finished(self, member=None):
        return [each.offset for each in self.told.of("end", member=member)]
