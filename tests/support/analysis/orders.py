"""Histories of ordered messages made by hand: what consumers and stores do, one after the other, or at given times."""

from dataclasses import dataclass, field, replace
from typing import Any

from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.checkers.order.section import OrderSection
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.runs.order import FINAL_ORDER, ORDER, OrderKind
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.runs.tables import MemoryTable

MS = 1_000_000
LEASE_MS = 1000

INFO = RunInfo.model_validate(
    {
        "zonelab_version": "0",
        "scenario": "made-up",
        "level": "DC_QUORUM",
        "seed": 1,
        "started_utc": "2026-01-01T00:00:00Z",
        "epoch_ns": 0,
        "status": "complete",
        "queue": {"engine": "fifo", "shards": {zone: zone for zone in "abc"}},
    }
)
RULES = OrderRules(retries_max=2, suspend_ms=5, wait_ms=60_000)


@dataclass
class Ordered:
    """One topic as some groups see it. Every call takes a millisecond unless told otherwise; times are in ms.

    ``rows`` and ``held`` (the final state) may be edited before ``verdict``.
    """

    rules: OrderRules = RULES
    now: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] | None = None
    faults: list[Any] = field(default_factory=list)
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    cursors: dict[tuple[str, str], int] = field(default_factory=dict)
    tokens: dict[tuple[str, str], int] = field(default_factory=dict)
    sunk: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    deliveries: int = 0

    def add(self, kind: OrderKind, *, took: int = 1, **columns: Any) -> dict[str, Any]:
        begin, self.now = self.now, self.now + took
        decided = "outcome" in columns
        row = {"kind": str(kind), "time_ns": self.now * MS, "invoke_ns": begin * MS if decided else None, **columns}
        self.rows.append(row)
        return row

    def produce(self, key: str = "k", *, partition: str = "t/0", outcome: str = "ok", **columns: Any) -> dict[str, Any]:
        log = self.logs.setdefault(partition, [])
        number = self.numbers[key, partition] = self.numbers.get((key, partition), 0) + 1
        said = {"producer": "p", "key": key, "sequence": number, "message_id": f"{partition}:{key}{number}"}
        record = {**said, "partition": partition, "offset": len(log)}
        log.append(record)
        return self.add(OrderKind.PRODUCE, **{"outcome": outcome, "epoch": 0, **record, **columns})

    def grant(self, session: str, *, group: str = "g", partition: str = "t/0", **columns: Any) -> "Owner":
        place = group, partition
        token = self.tokens[place] = self.tokens.get(place, 0) + 1
        cursor = self.cursors.setdefault(place, 0)
        owner = Owner(self, session, group, partition, columns.pop("token", token))
        until = columns.pop("until_ns", (self.now + 1) * MS + LEASE_MS * MS)
        owner.decided(OrderKind.GRANT, **{"cursor": cursor, "until_ns": until, **columns})
        return owner

    def member(self, session: str, status: str) -> None:
        self.add(OrderKind.MEMBER, group="g", session=session, member=session, status=status)

    def run(self) -> OrderRun:
        table = MemoryTable(ORDER)
        ordered = sorted(self.rows, key=lambda row: row["time_ns"])
        for index, row in enumerate(ordered):
            table.append({"generation": 0, **row, "index": index})
        rest = MemoryTable(FINAL_ORDER)
        for row in self.at_rest() if self.held is None else self.held:
            rest.append(row)
        batches = [iter([one.batch()]) for one in (table, rest)]
        end_ns = self.now * MS
        return OrderRun(
            info=INFO, rules=self.rules, rows=len(self.rows), events=batches[0], at_rest=batches[1],
            faults=self.faults, end_ns=end_ns,
        )  # fmt: skip

    def at_rest(self) -> list[dict[str, Any]]:
        log = [{"place": "log", **record} for records in self.logs.values() for record in records]
        cursors = [
            {"place": "cursor", "group": group, "partition": partition, "offset": offset, "token": 1}
            for (group, partition), offset in self.cursors.items()
        ]
        return [{**row, "zone": zone} for row in log + cursors for zone in "abc"] + self.sunk

    def verdict(self) -> OrderSection:
        return check_order(self.run())


@dataclass
class Owner:
    """A session that owns a partition."""

    topic: Ordered
    session: str
    group: str
    partition: str
    token: int

    @property
    def place(self) -> tuple[str, str]:
        return self.group, self.partition

    @property
    def who(self) -> dict[str, Any]:
        return {"session": self.session, "group": self.group, "partition": self.partition, "token": self.token}

    def decided(self, kind: OrderKind, *, outcome: str = "ok", **columns: Any) -> dict[str, Any]:
        return self.topic.add(kind, outcome=outcome, **{**self.who, **columns})

    def start(self, offset: int, attempt: int = 1, **columns: Any) -> dict[str, Any]:
        record = self.topic.logs[self.partition][offset]
        what = {"offset": offset, "key": record["key"], "message_id": record["message_id"], "epoch": 0}
        self.topic.deliveries += 1
        row = {**self.who, **what, "attempt": attempt, "op_id": self.topic.deliveries, **columns}
        return self.topic.add(OrderKind.START, **row)

    def sink(self, start: dict[str, Any], outcome: str = "ok") -> dict[str, Any]:
        position = len(self.topic.sunk)
        names = ("op_id", "offset", "key", "message_id", "epoch", *self.who)
        row = self.topic.add(
            OrderKind.SINK, outcome=outcome, position=position, **{name: start[name] for name in names}
        )
        if outcome == "ok":
            kept = ("group", "partition", "offset", "token", "key", "message_id", "position")
            self.topic.sunk.append({"place": "sink", **{name: row[name] for name in kept}})
        return row

    def end(self, start: dict[str, Any], status: str = "success") -> dict[str, Any]:
        names = ("op_id", "offset", "key", "message_id", "attempt", "epoch", *self.who)
        return self.topic.add(OrderKind.END, status=status, **{name: start[name] for name in names})

    def commit(self, to: int, outcome: str = "ok", **columns: Any) -> dict[str, Any]:
        if outcome == "ok":
            self.topic.cursors[self.place] = to
        return self.decided(OrderKind.COMMIT, outcome=outcome, offset=to - 1, cursor=to, **columns)

    def fail(self, offset: int, attempt: int, *, pause: int = 10, **columns: Any) -> dict[str, Any]:
        until = (self.topic.now + pause) * MS
        return self.decided(OrderKind.FAIL, offset=offset, attempt=attempt, until_ns=until, **columns)

    def put_aside(self, kind: OrderKind, offset: int, **columns: Any) -> dict[str, Any]:
        record = self.topic.logs[self.partition][offset]
        self.topic.cursors[self.place] = offset + 1
        what = {"offset": offset, "key": record["key"], "message_id": record["message_id"], "epoch": 0}
        return self.decided(kind, cursor=offset + 1, **{**what, **columns})

    def work(self, offset: int, attempt: int = 1, *, sink: str = "ok") -> dict[str, Any]:
        """Begin the message, bring it to the sink, finish it, and move the cursor."""
        start = self.start(offset, attempt)
        self.sink(start, sink)
        self.end(start)
        self.commit(offset + 1)
        return start


def twice(topic: Ordered) -> Ordered:
    """``topic`` and the same once more beside it at the same times, under names that come first in the alphabet."""
    held = topic.at_rest() if topic.held is None else topic.held
    rows = topic.rows + [_renamed(row) for row in topic.rows]
    return replace(topic, rows=rows, held=held + [_renamed(row) for row in held])


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    names = ("partition", "key", "message_id", "producer", "session", "member")
    numbers = ("op_id", "position")
    texts = {name: f"#{row[name]}" for name in names if row.get(name) is not None}
    return {**row, **texts, **{name: row[name] + 10_000 for name in numbers if row.get(name) is not None}}


def busy(rules: OrderRules = RULES) -> Ordered:
    """Six messages of two keys, a retry, a dead letter, and a takeover that legally replays what was not committed."""
    topic = Ordered(rules.model_copy(update={"replay_max": 2}))
    for number in range(6):
        topic.produce("ab"[number % 2])
    first = topic.grant("m-1")
    first.work(0)
    for offset in (1, 2):
        start = first.start(offset)
        first.sink(start)
        first.end(start)
    topic.now += 2 * LEASE_MS
    second = topic.grant("n-1")
    topic.now += 1
    first.commit(3, outcome="fail", status="fenced")
    topic.cursors[second.place] = 1
    second.work(1, sink="fail")
    second.work(2, sink="fail")
    for attempt in (1, 2, 3):
        second.end(second.start(3, attempt), "suspend")
        if attempt < 3:
            second.fail(3, attempt)
            topic.now += 20
    second.put_aside(OrderKind.DEAD_LETTER, 3)
    second.work(4)
    second.work(5)
    return topic
