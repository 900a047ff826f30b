"""Goal: a run without faults is valid at every level, and a queue with a planted bug is caught by a run.

Method: short runs on three process zones; each planted bug wraps the real queue in one place.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import Ran, run_short

from analysis.message_classes import DUPLICATE_CAUSES, MessageClass
from cluster.testbed import Testbed as Cluster
from cluster.votes.levels import Level
from engine.message import Delivery, Message, Receipt
from engine.ports import Clock, Connection
from engine.queue import Queue
from scenarios.queues.dyno import PREFIX, DynoUnderTest
from scenarios.queues.under_test import Wrap
from scenarios.run_phases import PHASES
from scenarios.spec.scenario import Scenario

pytestmark = pytest.mark.real

NOTHING_WRONG = (
    MessageClass.LOST,
    MessageClass.STUCK,
    MessageClass.ABANDONED,
    MessageClass.UNDECIDED,
    MessageClass.RECOVERED,
    MessageClass.UNEXPECTED,
    *DUPLICATE_CAUSES,
    MessageClass.EARLY,
    MessageClass.ZOMBIE_ACK,
)


@pytest.mark.parametrize("level", list(Level))
def test_a_run_without_faults_is_valid_and_nothing_is_wrong(tmp_path: Path, level: Level) -> None:
    run = run_short(tmp_path, level=level.value)
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert {name: verdict.counts[name] for name in NOTHING_WRONG} == dict.fromkeys(NOTHING_WRONG, 0)
    totals = verdict.totals
    assert totals.pushed > 75
    assert totals.pushed == totals.acknowledged == totals.delivered == totals.deliveries == totals.acked
    assert run.record.drained
    assert run.phases == list(PHASES)


def test_the_run_directory_is_complete_and_says_how_to_repeat_the_run(tmp_path: Path) -> None:
    run = run_short(tmp_path)
    names = {str(path.relative_to(run.directory)) for path in run.directory.rglob("*") if path.is_file()}
    assert names == {
        "scenario.yaml",
        "run.json",
        "history/operations.parquet",
        "faults.parquet",
        "final_state.parquet",
        "depth.parquet",
        "lab.log",
    }
    told = run.json("run.json")
    assert (told["status"], told["error"], told["drained"], told["unread_zones"]) == ("complete", None, True, [])
    assert told["server"].startswith("valkey ")
    assert told["queue"] == {
        "engine": "dyno",
        "shards": {"a": "a", "b": "b", "c": "c"},
        "early_ms_max": 1,
        "time_unit_ms": 1,
        "leases": True,
        "priorities": True,
    }
    assert told["command"] == "zonelab run short.yaml"
    assert sorted(told["coordinators"]) == ["a", "b", "c"]
    (begin_ns, end_ns), (drain_ns, _) = told["phases"]["load"], told["phases"]["drain"]
    assert 1.9e9 < end_ns - begin_ns < 10e9
    assert drain_ns >= end_ns
    assert (run.directory.parent / "latest").resolve() == run.directory.resolve()


def test_two_runs_of_one_seed_push_the_same_messages_at_the_same_times(tmp_path: Path) -> None:
    plans = []
    for level in ("DC_ONE", "DC_SAFE_QUORUM"):
        run = run_short(tmp_path, level=level, load={"duration_s": 1})
        begin_ns = run.json("run.json")["phases"]["load"][0]
        plans.append(
            [
                (row["message_id"], row["intended_ns"] - begin_ns, row["priority"])
                for row in run.table("history/operations.parquet")
                if (row["f"], row["type"]) == ("push", "invoke")
            ]
        )
    assert sorted(plans[0]) == sorted(plans[1])
    assert len(plans[0]) > 30


class Planted(DynoUnderTest):
    """A queue with a bug: its consumers and producers go through ``spoil`` and ``forge``."""

    def __init__(self, testbed: Cluster, scenario: Scenario) -> None:
        super().__init__(testbed, scenario)
        self.testbed = testbed

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        return self.spoil(await super().consumer(zone, wrap))

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self.forge(await super().producer(zone, wrap))

    def spoil(self, queue: Queue) -> Queue:
        return queue

    def forge(self, queue: Queue) -> Queue:
        return queue


class Spoilt:
    """A consumer's queue that behaves as the real one wherever a subclass says nothing else."""

    def __init__(self, queue: Queue, planted: Planted) -> None:
        self._queue = queue
        self._planted = planted

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        return await self._queue.pop(count, wait_ms=wait_ms)

    async def ack(self, delivery: Delivery, /) -> bool:
        return await self._queue.ack(delivery)

    async def close(self) -> None:
        await self._queue.close()


class AcksIgnored(Planted):
    def spoil(self, queue: Queue) -> Queue:
        class Ignoring(Spoilt):
            async def ack(self, delivery: Delivery, /) -> bool:
                return True

        return Ignoring(queue, self)


class LeaseForgotten(Planted):
    """Removes a message from everywhere while it delivers it, so that nobody owes a redelivery to anybody."""

    def spoil(self, queue: Queue) -> Queue:
        class Forgetting(Spoilt):
            async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
                deliveries = await self._queue.pop(count, wait_ms=wait_ms)
                for delivery in deliveries:
                    for zone in self._planted.testbed.zones:
                        direct: Connection = self._planted.testbed.direct(zone)
                        await direct.execute(("ZREM", f"{PREFIX}.UNACK.jobs.{delivery.shard}", delivery.message.id))
                return deliveries

        return Forgetting(queue, self)


class ReceiptsForged(Planted):
    def forge(self, queue: Queue) -> Queue:
        planted = self

        class Forging:
            async def push(self, messages: Sequence[Message]) -> list[Receipt]:
                if messages[0].id.endswith("7"):
                    now_ms = planted.testbed.clock("a").now_ms()
                    return [Receipt(id=message.id, shard="a", due_ms=now_ms) for message in messages]
                return await queue.push(messages)

            async def close(self) -> None:
                await queue.close()

        return Forging()


class AheadOfTime:
    """A clock that is 300 ms fast."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        return self._clock.now_ms() + 300


class ClockFast(DynoUnderTest):
    """The consumers of zone b believe that it is later than it is."""

    def __init__(self, testbed: Cluster, scenario: Scenario) -> None:
        super().__init__(testbed, scenario)
        self._right = testbed

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        self._testbed: Any = _Skewed(self._right) if zone == "b" else self._right
        try:
            return await super().consumer(zone, wrap)
        finally:
            self._testbed = self._right


class _Skewed:
    def __init__(self, testbed: Cluster) -> None:
        self._testbed = testbed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._testbed, name)

    def clock(self, zone: str) -> Clock:
        return AheadOfTime(self._testbed.clock(zone))


CRASH = [{"kind": "consumer_crash", "zone": "b", "consumer": "all", "at_s": 1, "for_s": 0.5}]
QUICK_LEASES = {"unack_ms": 400, "unack_interval_ms": 100}

PLANTED: dict[str, tuple[type[DynoUnderTest], MessageClass, dict[str, Any]]] = {
    "acks that are ignored": (AcksIgnored, MessageClass.RESURRECTED, {"queue": QUICK_LEASES, "drain": {"bound_s": 3}}),
    "messages removed before they are leased": (
        LeaseForgotten,
        MessageClass.ABANDONED,
        {"faults": CRASH, "consumers": {"processing": "constant:150ms"}},
    ),
    "receipts of pushes that were never made": (ReceiptsForged, MessageClass.LOST, {}),
    "a clock that is fast": (ClockFast, MessageClass.EARLY, {}),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(tmp_path: Path, bug: str) -> None:
    make_queue, message_class, changes = PLANTED[bug]
    run: Ran = run_short(tmp_path, make_queue=make_queue, level="DC_QUORUM", **changes)
    verdict = run.check()
    assert verdict.valid is False
    assert verdict.counts[message_class] > 0


def test_the_same_crash_without_the_bug_abandons_nothing(tmp_path: Path) -> None:
    run = run_short(
        tmp_path,
        level="DC_QUORUM",
        faults=CRASH,
        consumers={"processing": "constant:150ms"},
        queue={"unack_ms": 3000, "unack_interval_ms": 200},
    )
    verdict = run.check()
    assert verdict.valid is True
    assert verdict.counts[MessageClass.REDELIVERED] > 0
