"""Goal: at an edge a checker says what its rule says; what is in doubt stays in doubt. Method: a case at each edge."""

from pathlib import Path

import numpy as np
import pytest
from support.analysis.wild import wild_run

from zonelab.analysis.checkers.check import check, check_recorded
from zonelab.analysis.checkers.queue.deliveries import Ack, Deliveries, Extension, Lease
from zonelab.analysis.checkers.queue.events import ABSENT, FAIL, INFO, INVOKE, OK, PUSH, EventRows
from zonelab.analysis.checkers.queue.inversion import SERVED, passed_over
from zonelab.analysis.checkers.verdict import MessageClass
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import FINAL_STATE, OPERATIONS
from zonelab.scenarios.run_files.tables import MemoryRun, MemoryTables


@pytest.mark.parametrize(
    ("leased_ms", "cause"),
    [(99, MessageClass.CONCURRENT), (100, MessageClass.REDELIVERED), (101, MessageClass.REDELIVERED)],
)
def test_a_delivery_at_the_earliest_end_of_the_lease_before_is_not_concurrent(leased_ms, cause):
    """Nobody knows whether the extension has shortened the lease, so it may have."""
    leases = [
        Lease(leased_ms=10, start_ms=9, index=0, delivery=1, end_ms=500),
        Lease(leased_ms=leased_ms, start_ms=leased_ms - 1, index=1, delivery=2, end_ms=900),
    ]
    shortened = Extension(delivery=1, invoke_ms=50, ok_ms=None, end_ms=100)
    found = [(lease.delivery, name) for lease, name, _ in Deliveries(leases, [shortened]).duplicates()]
    assert found == [(2, cause)]


def test_the_extension_that_was_confirmed_last_counts_and_what_has_no_lease_breaks_none():
    leases = [
        Lease(leased_ms=10, start_ms=9, index=0, delivery=1, end_ms=500),
        Lease(leased_ms=200, start_ms=199, index=1, delivery=2, end_ms=None),
        Lease(leased_ms=350, start_ms=349, index=2, delivery=3, end_ms=900),
    ]
    extensions = [Extension(delivery=1, invoke_ms=50, ok_ms=60, end_ms=300)]
    extensions += [Extension(delivery=1, invoke_ms=40, ok_ms=55, end_ms=400)]
    acks = [Ack(delivery=7, invoke_ms=700, ok_ms=701, index=3), Ack(delivery=2, invoke_ms=300, ok_ms=301, index=4)]
    found = Deliveries(leases, extensions, acks)
    assert [name for _, name, _ in found.duplicates()] == [MessageClass.CONCURRENT, MessageClass.RESURRECTED]
    assert list(found.zombie_acks()) == []


def rows(*events):
    """Events as (type, operation) of one message."""
    types, ops = (np.array(column) for column in zip(*events, strict=True))
    count = len(events)
    absent, zeros = np.full(count, ABSENT), np.zeros(count, dtype=np.int64)
    small = zeros.astype(np.int16)
    return EventRows(
        {
            "message": zeros,
            "index": np.arange(count),
            "time_ns": zeros,
            "invoke_ns": zeros,
            "op_id": ops,
            "delivery": absent,
            "due_ms": absent,
            "lease_start_ms": absent,
            "leased_ms": absent,
            "lease_end_ms": absent,
            "lease_ms": absent,
            "body": absent,
            "zone": small,
            "shard": small,
            "priority": small,
            "program": zeros.astype(np.int32),
            "f": np.full(count, PUSH, dtype=np.int8),
            "type": types.astype(np.int8),
        }
    )


def test_an_operation_that_nothing_completed_stays_and_is_in_doubt():
    history = rows((INVOKE, 1), (INVOKE, 2), (OK, 1), (INVOKE, 3), (FAIL, 3))
    completed = history.completions()
    assert list(zip(completed.op_id.tolist(), completed.type.tolist(), strict=True)) == [(2, INFO), (1, OK), (3, FAIL)]


def served(*messages):
    """As (priority, pushed, popped, served) of one shard and due time."""
    columns = [
        [f"m{number}" for number in range(len(messages))],
        range(len(messages)),
        range(len(messages)),
        [50] * len(messages),
        *(list(column) for column in list(zip(*messages, strict=True))[1:]),
        [0] * len(messages),
        [message[0] for message in messages],
    ]
    return {name: np.array(column) for name, column in zip(SERVED.names, columns, strict=True)}


def test_messages_of_equal_priority_do_not_pass_each_other_over():
    """The last one, which is the most urgent, came too late to be passed over."""
    first, second, late = (3, 0, 10, 20), (3, 0, 30, 40), (1, 35, 50, 60)
    assert passed_over(served(first, second, late)).tolist() == []
    assert passed_over(served(first, second, (1, 5, 50, 60))).tolist() == [2]


@pytest.mark.parametrize("seed", range(0, 480, 8))
def test_a_run_in_memory_is_judged_as_its_files_are(seed: int, tmp_path: Path) -> None:
    """They are read in different ways, and files in parts: by numbers of rows, or one row in each."""
    path = wild_run(tmp_path / "run", seed=seed)
    directory, tables = RunDirectory.open(path), MemoryTables()
    for batch in directory.operations():
        for row in batch.to_pylist():
            tables("operations", OPERATIONS).append(row)
    if directory.final_state_known:
        held = tables("final_state", FINAL_STATE)
        for batch in directory.final_state():
            for row in batch.to_pylist():
                held.append(row)
    expected = check(path).to_json()
    assert check_recorded(MemoryRun(directory.info, tables)).to_json() == expected
    assert check(path, rows_per_partition=2, batch_rows=3).to_json() == expected
