"""A scenario can ask for the pipelined queue: it is served, crashed, judged and read as the other one is.

Method: short simulated runs with ``queue.engine: dyno-v2``, and what their tables hold.
"""

import pytest
from support.cluster.sim_lab import simulated_lab
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.history import OPERATIONS, History
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.v2 import BatchPushIndeterminate, BatchPushUnavailable
from zonelab.engine.message import Message, Receipt
from zonelab.engine.ports import Indeterminate, Unavailable
from zonelab.scenarios.clients.recorder import OperationActor, Recorder
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.run_files.tables import DEPTH_NAME, FINAL_STATE_NAME, OPERATIONS_NAME

OUTAGE = {"faults": [{"kind": "consumer_crash", "zone": "c", "consumer": "all", "at_s": 0, "for_s": 0.95}]}


def pipelined(**changes):
    return small(**{**changes, "queue": {"engine": "dyno-v2", **changes.get("queue", {})}})


def run(**changes):
    """The run's tables by name, and the verdict."""
    done, tables, verdict = run_in_memory(pipelined(**changes))
    assert done.record.status == "complete"
    return {name: table_rows(table) for name, table in tables.tables.items()}, verdict


def table_rows(table):
    return table.batch().to_pylist()


def pushes(tables, outcome="ok"):
    """Id → row of the completed push."""
    rows = [row for row in tables[OPERATIONS_NAME] if row["f"] == "push" and row["type"] == outcome]
    return {row["message_id"]: row for row in rows}


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("level", [Level.DC_ONE, Level.DC_QUORUM])
def test_the_pipelined_queue_delivers_all_where_nothing_fails(level, compat):
    tables, verdict = run(level=level, queue={"compat": compat, "unack_ms": 3_000})
    assert verdict.valid is True
    assert len(pushes(tables)) == verdict.totals.delivered > 20
    assert all(row["waiting"] is not None for row in tables[DEPTH_NAME])


def test_messages_go_to_all_zones_and_are_served_where_they_are():
    tables, _ = run(queue={"unack_ms": 3_000})
    shards = {row["shard"] for row in pushes(tables).values()}
    assert shards == {"a", "b", "c"}
    popped = [row for row in tables[OPERATIONS_NAME] if row["f"] == "pop" and row["message_id"] is not None]
    assert popped
    assert all(row["shard"] == row["zone"] for row in popped)


def test_in_the_original_messages_that_are_pushed_one_by_one_all_burden_the_first_zone():
    tables, _ = run(queue={"compat": True, "unack_ms": 3_000})
    assert {row["shard"] for row in pushes(tables).values()} == {"a"}


def test_the_end_state_of_every_zone_is_read_with_shard_place_and_score():
    tables, verdict = run(consumers={"per_zone": 0}, drain={"bound_s": 0.5}, persistence="none")
    pushed = pushes(tables)
    held = tables[FINAL_STATE_NAME]
    assert verdict.counts[MessageClass.STUCK] == len(pushed) > 20
    for zone in "abc":
        listed = {row["message_id"]: row for row in held if row["zone"] == zone and row["place"] == "queue"}
        assert listed.keys() == pushed.keys()
        assert {row["message_id"] for row in held if row["zone"] == zone and row["place"] == "payload"} == pushed.keys()
        for message_id, row in listed.items():
            assert row["shard"] == pushed[message_id]["shard"]
            assert row["serving"] is (row["shard"] == zone)
            assert int(row["score"]) == pushed[message_id]["due_ms"]


def test_leases_are_in_the_depth_and_in_the_end_state():
    with simulated_lab("a", "b", "c", lag="0") as lab:
        queue = queue_under_test(lab.cluster, pipelined())

        async def lease_and_look():
            producer = await queue.producer("a", lambda connection: connection)
            await producer.push([Message(id=f"m{number}") for number in range(6)])
            consumer = await queue.consumer("b", lambda connection: connection)
            deliveries = await consumer.pop(5, wait_ms=0)
            await consumer.close()
            depth = await queue.depth("b")
            return deliveries, depth, [row async for row in queue.final_state("b")]

        deliveries, depth, held = lab.run(lease_and_look())
    assert (depth.waiting, depth.leased) == (0, len(deliveries)) == (0, 2)
    leased = {row["message_id"]: row for row in held if row["place"] == "unack"}
    assert leased.keys() == {delivery.message.id for delivery in deliveries}
    assert all(row["shard"] == "b" and row["serving"] for row in leased.values())
    assert {row["score"] for row in leased.values()} == {float(delivery.lease_end_ms) for delivery in deliveries}


@pytest.mark.parametrize("at_command", [1, 2, 3, 4, 5])
def test_what_a_crashed_consumer_had_in_its_hands_is_delivered_again(at_command):
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.3, "for_s": 0.2, "at_command": at_command}
    tables, verdict = run(faults=[crash], consumers={"per_zone": 1, "batch": 4})
    assert verdict.valid is True
    assert verdict.totals.delivered == len(pushes(tables))


def test_a_zone_without_consumers_goes_on_being_filled_and_delivers_when_they_are_back():
    """Round robin asks nobody whether a shard is served."""
    tables, verdict = run(**OUTAGE, load={"delay": "0"}, queue={"unack_ms": 3_000})
    assert verdict.valid is True
    waiting = {zone: max(row["waiting"] for row in tables[DEPTH_NAME] if row["zone"] == zone) for zone in "abc"}
    filled = sum(row["shard"] == "c" for row in pushes(tables).values())
    assert filled > 5
    assert waiting["c"] > filled / 2
    assert max(waiting["a"], waiting["b"]) < waiting["c"]


def test_a_batch_without_an_answer_leaves_every_message_of_it_in_doubt():
    pauses = [{"kind": "pause", "zone": zone, "at_s": 0.2, "for_s": 0.6} for zone in "bc"]
    tables, _ = run(faults=pauses, load={"batch": 6, "rate_per_s": 60}, replication={"time_factor": 0.02})
    doubtful = [row for row in tables[OPERATIONS_NAME] if row["f"] == "push" and row["type"] == "info"]
    by_push = {}
    for row in doubtful:
        by_push.setdefault((row["process"], row["time_ns"]), []).append(row["message_id"])
    assert by_push
    assert max(len(ids) for ids in by_push.values()) >= 2  # those of one shard share the fate of its pipeline


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(BatchPushIndeterminate, "info"), (BatchPushUnavailable, "fail")],
)
def test_each_message_of_a_failed_push_is_recorded_as_what_became_of_it(error, outcome):
    cause = (Indeterminate if outcome == "info" else Unavailable)("cut")
    runtime = SimRuntime(seed=1)
    table = MemoryTable(OPERATIONS)
    receipts = tuple(Receipt(id=each, shard="a", due_ms=7) for each in ("m4", "m1"))
    failure = error(cause, receipts=receipts, failed_ids=("m0", "m3"))
    failure.__cause__ = cause

    class Queue:
        async def push(self, messages):
            raise failure

        async def close(self):
            pass

    messages = [Message(id=f"m{number}") for number in range(5)]
    recorder = Recorder(History(table), runtime)
    runtime.run_until_complete(recorder.push(Queue(), OperationActor("p", "a"), messages, intended_ns=0))
    outcomes = {row["message_id"]: row["type"] for row in table_rows(table) if row["type"] != "invoke"}
    assert outcomes == {"m0": outcome, "m1": "ok", "m2": "fail", "m3": outcome, "m4": "ok"}
