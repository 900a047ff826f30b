"""Programs on a fenced topic on three simulated zones, what they tell, and the verdict on it."""

from collections import defaultdict
from dataclasses import replace
from itertools import count
from random import Random

from support.analysis.orders import INFO, MS
from support.coroutines import given
from support.engine.fifo_group import Pause

from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.runs.order import FINAL_ORDER, ORDER, OrderHistory, OrderKind
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.fenced.final import final_rows
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, FencedKeys
from zonelab.engine.fifo.fenced.member.zones import FencedLogs, FencedZones, Wires
from zonelab.engine.fifo.fenced.views import Views
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.member import Member
from zonelab.engine.fifo.modes import GroupMode, group_settings
from zonelab.engine.fifo.partition import partitions_of
from zonelab.engine.fifo.producer import Producer, SendMode
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.message import Message

ZONES = "abc"


class Observed:
    """The observer of a run."""

    def __init__(self, runtime):
        self.table = MemoryTable(ORDER)
        self.history, self._runtime = OrderHistory(self.table), runtime

    def begin(self, kind, /, **columns):
        columns.pop("above", None)
        return self.history.begin(OrderKind(kind), time_ns=self._runtime.now_ns(), **columns)

    def end(self, call, /, *, outcome, **columns):
        self.history.end(call, time_ns=self._runtime.now_ns(), outcome=outcome, **columns)

    def start(self, **columns):
        return self.history.start(**{"time_ns": self._runtime.now_ns(), **columns})

    def note(self, kind, /, **columns):
        self.history.note(OrderKind(kind), time_ns=self._runtime.now_ns(), **columns)


class Sink:
    """Takes effects of each group and partition in order, none under an older token than it has seen, and each once."""

    def __init__(self, observer):
        self._observer = observer
        self._fences, self._last, self.rows = defaultdict(lambda: (0, 0)), defaultdict(lambda: -1), []

    def take(self, told, one, fence):
        place = told["group"], told["partition"]
        columns = {**told, "offset": one.offset, "key": one.record.key, "message_id": one.record.id, "op_id": one.op_id}
        call = self._observer.begin("sink", **columns)
        if fence < self._fences[place]:
            self._observer.end(call, outcome="fail", status="fenced")
            return False
        self._fences[place] = fence
        if one.offset <= self._last[place]:
            self._observer.end(call, outcome="fail", status="duplicate")
            return True
        self._last[place] = one.offset
        self._observer.end(call, outcome="ok", position=len(self.rows))
        kept = {name: columns[name] for name in ("group", "partition", "generation", "token", "offset", "key")}
        self.rows.append({"place": "sink", "position": len(self.rows), "message_id": one.record.id, **kept})
        return True


class FencedBench:
    """A topic, its producers and members. ``handle(one)``: what a listener says of a message; None: success."""

    def __init__(self, seed=1, *, level="DC_QUORUM", partitions=2, without=(), **changes):
        self.cluster = SimCluster(
            tuple(ZONES),
            SimSettings(
                seed=seed,
                lag=parse_lag("lognormal:1ms:5ms"),
                timeouts=Timeouts(factor=0.1),
                server=ServerSettings(persistence=Persistence.AOF_EVERYSEC),
            ),
        )
        self.runtime, self.level, self.without = self.cluster.runtime, Level(level), frozenset(without)
        self.observer = Observed(self.runtime)
        self.sink = Sink(self.observer)
        self.random = Random(seed)
        of_mode = group_settings(GroupMode.FENCED)
        calm = replace(of_mode.times_ms, idle=25, notice=20)
        self.settings = replace(of_mode, **{"times_ms": calm, "reconsumed_max": 2, **changes})
        self.keys, self.fifo_keys = FencedKeys(), FifoKeys()
        self.partitions = partitions_of("t", partitions, tuple(ZONES))
        self.handle, self.work_ms = lambda _one: None, 20
        self.programs, self._numbers, self.pushed = {}, count(1), 0
        self.confirmed = []
        self.groups = {self.settings.group: None}
        self.faults = []

    def run(self, coroutine):
        return self.runtime.run_until_complete(coroutine)

    def __enter__(self):
        self.run(self.cluster.start())
        return self

    def __exit__(self, *_):
        self.run(self.cluster.stop())

    def wires(self, zone, session, around=lambda same: same):
        cluster = self.cluster
        return Wires(
            session=session,
            runtime=self.runtime,
            clock=cluster.clock(zone),
            safe=around(cluster.connection(zone, Level.DC_SAFE_QUORUM)),
            level=around(cluster.connection(zone, self.level)),
            zones={name: around(cluster.reads(zone, name)) for name in ZONES},
            near=zone,
            keys=self.keys,
            without=self.without,
        )

    def producer(self, zone, name=None):
        name = name or f"p{zone}{next(self._numbers)}"
        logs = FencedLogs(wires=self.wires(zone, name), tenures=None, keys=self.fifo_keys)
        return Producer(
            name,
            partitions=self.partitions,
            select=selector("hash", random=Random(1)),
            sending=SendMode.IDEMPOTENT,
            logs=logs,
            runtime=self.runtime,
            clock=self.cluster.clock(zone),
            observer=self.observer,
            attempts=6,
        )

    async def push(self, producer, key, number, delay_ms=0):
        self.pushed += 1
        message = Message(id=f"{key}-{number}", key=key, timeout_ms=delay_ms)
        try:
            await producer.send(message)
        except COMMAND_FAILURES:
            return False
        self.confirmed.append(message.id)
        return True

    async def push_all(self, producer, numbers, key="k"):
        for number in numbers:
            await self.push(producer, key, number)

    async def start(self, name, zone, **changes):
        """A member; ``changes``: of the settings, for it alone."""
        settings = replace(self.settings, **changes)
        pause, session = Pause(self.runtime), f"{name}.{next(self._numbers)}"
        wires = self.wires(zone, session, pause.around)
        wires = replace(wires, runtime=pause)
        told = {}

        async def listen(delivered, handling):
            said = [self.handle(one) for one in delivered]
            await pause.sleep(self.work_ms * MS)
            if all(said_one in (None, ConsumeStatus.SUCCESS) for said_one in said):
                columns = {**told, "partition": handling.partition.name, "group": context.group}
                columns |= {"generation": handling.fence[0], "token": handling.fence[1], "epoch": 0}
                for one in delivered:
                    if not self.sink.take(columns, one, handling.fence):
                        return ConsumeStatus.SUSPEND
            return next((one for one in said if one is not None), ConsumeStatus.SUCCESS)

        context = MemberContext(
            name=name,
            session=session,
            settings=settings,
            runtime=pause,
            clock=self.cluster.clock(zone),
            zones=FencedZones.of_wires(settings, name, wires=wires, keys=self.fifo_keys),
            listener=listen,
            observer=self.observer,
        )
        self.groups[context.group] = None
        told.update(member=name, session=context.session)
        member = Member(context, partitions=self.partitions, room_of=lambda _: zone)
        self.programs[name] = (member, pause, zone, context)
        await member.start()
        return member

    async def kill(self, name):
        member, _, _, context = self.programs.pop(name)
        member.kill()
        self.observer.note("member", group=context.group, member=name, session=context.session, status="crashed")
        try:
            await context.zones.members.leave(name)
        except COMMAND_FAILURES:
            return

    async def pause_ms(self, duration_ms):
        await self.runtime.sleep(round(duration_ms * MS))

    async def until(self, condition, most_ms=60_000):
        ends_ns = self.runtime.now_ns() + most_ms * MS
        while not condition():
            if self.runtime.now_ns() >= ends_ns:
                return False
            await self.pause_ms(20)
        return True

    async def begun(self, *groups, messages):
        """Groups of one member each, each in a zone of its own, which have handled ``messages``."""
        for group, zone in zip(groups, ZONES, strict=False):
            await self.start(f"{group}-{zone}", zone, group=group)
        await self.push_all(self.producer("a"), range(messages))
        await self.until(lambda: all(len(self.handled(group)) == messages for group in groups))

    def work(self, breaks=None, *, messages=30, groups=(), most_ms=60_000):
        """Push ``messages`` a zone to two members of each group while ``breaks`` happens. No ``groups``: there is one.

        Whether each group handled all that was confirmed, at the latest ``most_ms`` after the last push.
        """
        teams = {f"{group}-": group for group in groups} or {"m": self.settings.group}

        async def push(zone):
            producer = self.producer(zone)
            for number in range(messages):
                await self.push(producer, f"k{zone}{number % 3}", number)
                await self.pause_ms(40)

        async def whole():
            for name, group in teams.items():
                for zone in "ab":
                    await self.start(f"{name}{zone}", zone, group=group)
            tasks = [self.runtime.spawn(push(zone), name=f"push {zone}") for zone in ZONES]
            await self.pause_ms(300)
            if breaks is not None:
                await breaks()
            for task in tasks:
                await task.join()
            return await self.until(
                lambda: all(set(self.confirmed) <= self.handled(each) for each in teams.values()), most_ms
            )

        return self.run(whole())

    async def admitted(self, zone):
        """Whether its process takes part in the first partition, as soon as anybody can read that."""
        views = Views(zones={zone: self.cluster.direct(zone)}, keys=self.keys, runtime=self.runtime)
        while not (found := await views.of(self.partitions[0], [LOG_REGISTER])):
            await self.pause_ms(10)
        return found[zone].admitted

    def rows(self, kind=None):
        names = ORDER.names
        rows = (dict(zip(names, row, strict=True)) for row in self.observer.table.rows)
        return [row for row in rows if kind in (None, row["kind"])]

    def handled(self, group=None):
        """Ids that were finished or put aside, by any group or by ``group``."""
        done = [row for row in self.rows("end") if row["status"] == "success"]
        aside = [row for kind in ("dead_letter", "park") for row in self.rows(kind) if row["outcome"] == "ok"]
        return {row["message_id"] for row in (*done, *aside) if group in (None, row["group"])}

    async def at_rest(self):
        rows = []
        for zone in ZONES:
            for partition in self.partitions:
                direct = self.cluster.direct(zone)
                rows += await final_rows(direct, self.keys, partition, [*self.groups], zone=zone)
        return rows

    def verdict(self, **rules):
        rest = MemoryTable(FINAL_ORDER)
        for row in [*self.run(self.at_rest()), *self.sink.rows]:
            rest.append(row)
        self.observer.history.close()
        kept = OrderRules(
            **{"retries_max": self.settings.reconsumed_max, "suspend_ms": self.settings.times_ms.suspend, **rules}
        )
        return check_order(
            OrderRun(
                info=INFO,
                rules=kept,
                rows=len(self.observer.table.rows),
                events=iter([self.observer.table.batch()]),
                at_rest=iter([rest.batch()]),
                faults=self.faults,
                end_ns=self.runtime.now_ns(),
            )
        )

    def assert_kept(self, *exercised):
        """Nothing was broken that must hold, and what is named in ``exercised`` was tried."""
        verdict = self.verdict()
        assert verdict.valid is True, verdict.reasons
        for name in exercised:
            assert verdict.opportunities[name] > 0, f"{name} was not tried"


def on(bench, **settings):
    """A decorator for a test that is a coroutine: it is carried out on a ``bench`` of its own, which it is given."""

    def carry_out(course):
        with bench(**settings) as started:
            started.run(course(started))

    return given("bench", carry_out)
