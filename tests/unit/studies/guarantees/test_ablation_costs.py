"""Goal: what a run cost is counted rightly. Method: rows of a history written out."""

import pytest

from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.studies.guarantees.ablation_costs import overtaken


def push_and_pop(message_id, *, priority, due_ms, pushed_ms, popped_ms, shard="a"):
    """The confirmed push and the delivery, a pop that takes 5 ms, as rows of a history."""
    common = {"message_id": message_id, "shard": shard, "priority": priority, "type": "ok"}
    push = {**common, "f": "push", "time_ns": pushed_ms * 10**6, "due_ms": due_ms}
    pop = {**common, "f": "pop", "invoke_ns": popped_ms * 10**6, "time_ns": (popped_ms + 5) * 10**6}
    return [push, pop]


@pytest.mark.parametrize(
    ("urgent", "count"),
    [
        ({}, 1),
        ({"priority": 5}, 0),
        ({"due_ms": 21}, 0),
        ({"pushed_ms": 21}, 0),
        ({"popped_ms": 24}, 0),
        ({"shard": "b"}, 0),
    ],
)
def test_a_message_is_overtaken_if_it_was_due_and_more_urgent_and_came_later(urgent, count):
    rows = push_and_pop("slow", priority=5, due_ms=0, pushed_ms=1, popped_ms=20)
    rows += push_and_pop("urgent", **{"priority": 4, "due_ms": 10, "pushed_ms": 2, "popped_ms": 30, **urgent})
    table = MemoryTable(OPERATIONS)
    for number, row in enumerate(rows):
        table.append({"index": number, **row})
    assert overtaken(table.batch(), epoch_ns=0) == count
