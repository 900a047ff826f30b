"""Members and producers on one simulated zone, whose commands may be late, and what the order checker says of them."""

from collections import Counter
from dataclasses import replace
from itertools import count

from support.engine.fenced import Sink
from support.engine.fifo import NS_PER_MS
from support.engine.fifo_group import Pause
from support.engine.fifo_verdicts import JudgedBench

from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.fenced.final import final_rows
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.member.zones import FencedLogs, FencedZones, Wires
from zonelab.engine.fifo.member import Member
from zonelab.scenarios.clients.program_crash import CrashSwitch
from zonelab.scenarios.faults.seen import runs

WORK_MS = 24
"""Of a message; times are RocketMQ's divided by 20."""


class FifoStage(JudgedBench):
    """``wait_ms``: a partition whose head waits longer stands still. ``phase_ms``: so much later a member stops."""

    def __init__(self, lab, mode, *, wait_ms=60_000, phase_ms=0, **settings):
        super().__init__(lab, mode, **{"work_ms": WORK_MS, "rules": {"wait_ms": wait_ms}, **settings})
        self.mode, self.views, self.took, self.sends = mode, {}, [], None
        self.members, self.phase_ms = {}, phase_ms

    def produce(self, number, *, first=0, keys="k", partition=None):
        """By one producer."""
        self.sent = first
        self.sends = self.sends or self.sender()
        self.send(self.sends, number, *keys)

    def joins(self, name="m", *, clock=None, **changes):
        """A member whose commands a course may make late."""
        switch = CrashSwitch(name)
        self.views[name] = switch.view
        self.start(name, switch.wrap(self.lab.direct("a")), clock=clock, **changes)
        return self

    def late(self, name, script, late_ms):
        """What ``name`` sends of this kind reaches the zone so much later."""
        view = self.views[name]
        altered = view.alter(self.lab.runtime, concerns=runs(script), late_ms=late_ms)
        return lambda: view.mend(altered)

    def working(self, messages=500, seconds=2):
        """Member m is in the middle of a message, some seconds after it began."""
        self.produce(messages)
        self.joins().until(lambda: self.finished("m"))
        self.pause_ms(1_000 * seconds)
        return self.in_mid_message()

    def in_mid_message(self, name="m"):
        return self.until(lambda: self.works(name))

    def next_message(self, name="m"):
        """It begins one that it has not begun yet."""
        known = len(self.started(name))
        return self.until(lambda: len(self.started(name)) > known)

    def works(self, name="m"):
        return len(self.started(name)) > len(self.finished(name))

    def frozen(self):
        """Member m stands still in the middle of a message; n has been a member for some time."""
        self.working().joins("n").pause_ms(3_000 + self.phase_ms)
        self.in_mid_message().stop("m")
        return self

    def takes_over(self, name="n", *, most_ms=20_000):
        begin_ms, before = self.now_ms(), len(self.started(name))
        self.until(lambda: len(self.started(name)) > before, most_ms=most_ms)
        self.took.append(f"hand-over {self.now_ms() - begin_ms:.0f} ms")
        return self

    def says(self, *facts):
        """What was seen: facts of the course, what was done again, what is broken, what stood still."""
        ends = Counter((each.partition, each.offset) for each in self.told.of("end"))
        again = sum(count - 1 for count in ends.values())
        verdict = self.verdict()
        broken = [str(each) + self._sorts(verdict, each) for each in verdict.shown]
        stood = dict.fromkeys(f"stood still: {each.cause}" for each in verdict.blocked)
        told = [*self.took, *filter(None, facts), *([f"{again} done again"] if again else []), *stood]
        return "; ".join([*told, f"broken: {', '.join(broken)}" if broken else "nothing broken"])

    @staticmethod
    def _sorts(verdict, broken):
        if str(broken) != "I6":
            return ""
        return f" ({', '.join(sorted(name for name, count in verdict.sorts[broken].items() if count))})"


class FencedStage(FifoStage):
    """Mode fenced on three zones at DC_QUORUM; its programs are in zone a, and decide at DC_SAFE_QUORUM."""

    def __init__(self, lab, **settings):
        super().__init__(lab, "fenced", **settings)
        self.rules, self.sink = self.rules.model_copy(update={"fenced_sink": True}), Sink(self.told)
        self.fenced_keys, self.numbers = FencedKeys(), count(1)

    def wires(self, session, around=lambda same: same, runtime=None, clock=None):
        lab = self.lab
        return Wires(
            session=session,
            runtime=runtime or lab.runtime,
            clock=clock or lab.cluster.clock("a"),
            safe=around(lab.connection("a", Level.DC_SAFE_QUORUM)),
            level=around(lab.connection("a", Level.DC_QUORUM)),
            zones={zone: around(lab.cluster.reads("a", zone)) for zone in "abc"},
            near="a",
            keys=self.fenced_keys,
        )

    def sender(self, name="p", *, sending="idempotent", logs=None, **settings):
        named = f"{name}.{next(self.numbers)}"
        own = FencedLogs(wires=self.wires(named), tenures=None, keys=self.keys)
        return super().sender(named, sending=sending, logs=logs or own, **settings)

    def joins(self, name="m", *, clock=None, **changes):
        switch, pause = CrashSwitch(name), Pause(self.lab.runtime)
        self.views[name] = switch.view
        session = f"{name}.{next(self.numbers)}"
        wires = self.wires(session, lambda way: pause.around(switch.wrap(way)), pause, clock)

        async def listen(delivered, handling):
            said = None if self.handle is None else self.handle(delivered, handling)
            await pause.sleep(self.work_ms * NS_PER_MS)
            if said in (None, ConsumeStatus.SUCCESS):
                told = {"group": self.settings.group, "member": name, "session": session, "epoch": 0}
                told |= {"partition": handling.partition.name}
                told |= dict(zip(("generation", "token"), handling.fence, strict=True))
                if not all(self.sink.take(told, one, handling.fence) for one in delivered):
                    return ConsumeStatus.SUSPEND
            return ConsumeStatus.SUCCESS if said is None else said

        settings = replace(self.settings, **changes)
        context = MemberContext(
            name=name,
            session=session,
            settings=settings,
            runtime=pause,
            clock=wires.clock,
            zones=FencedZones.of_wires(settings, name, wires=wires, keys=self.keys),
            listener=listen,
            observer=self.told,
        )
        member = Member(context, partitions=self.partitions, room_of=lambda _: "a")
        self.programs[name], self.sessions[name] = (member, pause), session
        self.members[name] = context.zones.members
        self.run(member.start())
        return self

    def kill(self, name):
        self.programs[name][0].kill()
        self.told.note("member", group=self.settings.group, member=name, session=self.sessions[name], status="crashed")
        self.run(self.members[name].leave(name))

    def cursor(self):
        found = [row["offset"] for _, row in self.held() if row["place"] == "cursor"]
        return sorted(found)[-2] if len(found) > 1 else None

    def held(self):
        rows = []
        for zone in "abc":
            for partition in self.partitions:
                direct, groups = self.lab.direct(zone), [self.settings.group]
                told = self.run(final_rows(direct, self.fenced_keys, partition, groups, zone=zone))
                rows += [(zone, row) for row in told]
        return rows + [(None, row) for row in self.sink.rows]


class ZonesStage(FifoStage):
    """The same on three zones, where every program asks the coordinator of its zone at one level."""

    def __init__(self, lab, mode, level, **settings):
        super().__init__(lab, mode, **settings)
        self.level = level

    def joins(self, name="m", zone="a", **changes):
        self.start(name, self.lab.connection(zone, self.level), **changes)
        return self

    def sender(self, name="p", *, zone="a", **settings):
        return super().sender(name, logs=self.through(self.lab.connection(zone, self.level)), **settings)

    def held(self):
        rows = []
        for zone in "abc":
            logs = self.through(self.lab.direct(zone))
            rows += [(zone, row) for row in self.run(self._at_rest(logs))]
        return rows
