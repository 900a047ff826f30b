"""Groups on a simulated zone whose work is recorded, and judged by the checker of ordered messages."""

from random import Random

from support.analysis.orders import INFO
from support.engine.fifo import NS_PER_MS
from support.engine.fifo_group import GroupBench, Told

from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.runs.order import FINAL_ORDER, ORDER, OrderHistory, OrderKind
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.engine.fifo.producer import Producer, SendMode
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.message import Message


class Recorded(Told):
    """Keeps what it hears, and writes it into a history of order."""

    def __init__(self, runtime):
        super().__init__(runtime)
        self.table = MemoryTable(ORDER)
        self._history = OrderHistory(self.table)

    def begin(self, kind, /, **columns):
        columns.pop("above", None)
        pause_ms = columns.pop("pause_ms", None)
        if pause_ms is not None:
            columns["until_ns"] = self._runtime.now_ns() + pause_ms * NS_PER_MS
        number = self._history.begin(OrderKind(kind), time_ns=self._runtime.now_ns(), **columns)
        self._open[number] = (kind, columns)
        return number

    def end(self, call, /, *, outcome, **columns):
        self._history.end(call, time_ns=self._runtime.now_ns(), outcome=outcome, **columns)
        super().end(call, outcome=outcome, **columns)

    def start(self, **columns):
        op_id = self._history.start(**{"time_ns": self._runtime.now_ns(), **columns})
        self._keep("start", op_id=op_id, **columns)
        return op_id

    def note(self, kind, /, **columns):
        self._history.note(OrderKind(kind), time_ns=self._runtime.now_ns(), **columns)
        self._keep(kind, **columns)


class JudgedBench(GroupBench):
    """``rules``: what the group is told to keep; by default what the settings say."""

    def __init__(self, lab, mode="rocketmq-5.3", *, unit="partition", rules=None, **settings):
        super().__init__(lab, mode, **settings)
        self.told = Recorded(lab.runtime)
        self.rules = OrderRules(**{"unit": unit, "fenced_sink": False, "wait_ms": 60_000, **(rules or {})})
        self.sent = 0

    def kill(self, name):
        super().kill(name)
        self.told.note("member", group=self.settings.group, member=name, session=self.sessions[name], status="crashed")

    def sender(self, name="p", *, sending="idempotent", route=None, logs=None, choose="hash", **settings):
        return Producer(
            name,
            partitions=self.partitions,
            select=selector(choose, random=Random(1)),
            sending=SendMode(sending),
            logs=logs or self.logs,
            runtime=self.lab.runtime,
            route=route,
            observer=self.told,
            **settings,
        )

    def send(self, sender, number, *keys):
        """One after the other, the keys in turn."""
        for _ in range(number):
            self.run(sender.send(Message(id=f"x{self.sent}", key=keys[self.sent % len(keys)] if keys else "k")))
            self.sent += 1

    def all_done(self):
        return self.until(lambda: len({each.message_id for each in self.told.of("end")}) == self.sent)

    def verdict(self):
        """After all members have written how far they are."""
        self.pause_ms(2 * self.times_ms.flush_first)
        rest = MemoryTable(FINAL_ORDER)
        for zone, row in self.held():
            rest.append({**row, "zone": zone})
        run = OrderRun(
            info=INFO,
            rules=self.rules,
            rows=len(self.told.events),
            events=iter([self.told.table.batch()]),
            at_rest=iter([rest.batch()]),
            faults=[],
            end_ns=round(self.now_ms() * NS_PER_MS),
        )
        return check_order(run)

    def held(self):
        """What each zone holds: the only server stands for all of them."""
        rows = self.run(self._at_rest(self.logs))
        return [(zone, row) for zone in INFO.zone_names for row in rows]

    async def _at_rest(self, logs):
        rows, group = [], self.settings.group
        names = {each.partition for each in self.told.of("produce")} | {
            each.partition for each in self.told.of("start")
        }
        route = await self.routes().read()
        for partition in [*self.partitions, *([] if route is None else route.consumed)]:
            if partition.name not in names:
                continue
            names.discard(partition.name)
            for entry in await logs.read(partition, offset=0, count=10_000):
                record = entry.record
                said = {"key": record.key, "message_id": record.id, "producer": record.producer}
                what = {"offset": entry.offset, "sequence": record.sequence}
                rows.append({"place": "log", "partition": partition.name, **what, **said})
            progress = await logs.progress(partition, group)
            if progress is not None:
                rows.append({"place": "cursor", "group": group, "partition": partition.name, "offset": progress.cursor})
        return rows
