"""Goal: a run without faults is valid at every level, and a queue with a planted bug is caught by a run.

Method: short runs on three process zones; each planted bug wraps the real queue in one place.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import Ran, run_short

from zonelab.analysis.message_classes import DUPLICATE_CAUSES, MessageClass
from zonelab.cluster.votes.levels import Level
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import PREFIX, DynoUnderTest
from zonelab.scenarios.queues.under_test import Wrap

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
    assert run.phases == ["set-up", "load", "heal", "drain", "end state"]


def test_the_run_directory_is_complete_and_says_how_to_repeat_the_run(tmp_path: Path) -> None:
    run = run_short(tmp_path)
    files = [path.relative_to(run.directory) for path in run.directory.rglob("*") if path.is_file()]
    names = {re.sub(r"-\d{6}\.", "-N.", str(path)) for path in files}  # a busy machine needs more segments
    assert names == {
        "scenario.yaml",
        "run.json",
        "history/operations-N.parquet",
        "history/depth-N.parquet",
        "final_state.parquet",
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
        "delays": True,
        "unique_ids": False,
        "lease_ms": 10_000,
        **dict.fromkeys(("order", "keys", "groups", "suspend", "rollback", "commit"), False),
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
                for row in run.table("operations")
                if (row["f"], row["type"]) == ("push", "invoke")
            ]
        )
    assert sorted(plans[0]) == sorted(plans[1])
    assert len(plans[0]) > 30


class LeaseForgotten(DynoUnderTest):
    """Ends a lease while it delivers the message, so that nobody owes a redelivery to anybody."""

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue, testbed = await super().consumer(zone, wrap), self._testbed

        class Forgetting:
            async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
                deliveries = await queue.pop(count, wait_ms=wait_ms)
                for delivery in deliveries:
                    unack = f"{PREFIX}.UNACK.jobs.{delivery.shard}"
                    for each in testbed.zones:
                        await testbed.direct(each).execute(("ZREM", unack, delivery.message.id))
                return deliveries

            async def ack(self, delivery: Delivery, /) -> bool:
                return await queue.ack(delivery)

            async def close(self) -> None:
                await queue.close()

        return Forgetting()


class ReceiptsForged(DynoUnderTest):
    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        queue, clock = await super().producer(zone, wrap), self._testbed.clock("a")

        class Forging:
            async def push(self, messages: Sequence[Message]) -> list[Receipt]:
                if messages[0].id.endswith("7"):
                    return [Receipt(id=message.id, shard="a", due_ms=clock.now_ms()) for message in messages]
                return await queue.push(messages)

            async def close(self) -> None:
                await queue.close()

        return Forging()


PLANTED: dict[str, tuple[type[DynoUnderTest], MessageClass, dict[str, Any]]] = {
    "leases that are ended at the delivery": (
        LeaseForgotten,
        MessageClass.ABANDONED,
        {
            "faults": [{"kind": "consumer_crash", "zone": "b", "consumer": "all", "at_s": 1, "for_s": 0.5}],
            "consumers": {"processing": "constant:150ms"},
        },
    ),
    "receipts of pushes that were never made": (ReceiptsForged, MessageClass.LOST, {}),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(tmp_path: Path, bug: str) -> None:
    """More bugs, in simulation: tests/unit/studies/hunt/test_hunt.py."""
    make_queue, message_class, changes = PLANTED[bug]
    run: Ran = run_short(tmp_path, make_queue=make_queue, level="DC_QUORUM", **changes)
    verdict = run.check()
    assert verdict.valid is False
    assert verdict.counts[message_class] > 0
