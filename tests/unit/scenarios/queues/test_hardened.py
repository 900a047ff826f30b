"""Goal: a scenario can choose the hardened queue, and its history shows what the heartbeat does. Method: short runs."""

from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME

LONG_WORK = {"consumers": {"processing": "0.8*constant:2ms + 0.2*constant:900ms"}, "drain": {"bound_s": 20}}


def rows_of(tables):
    return [dict(zip(OPERATIONS.names, row, strict=True)) for row in tables.tables[OPERATIONS_NAME].rows]


def test_work_beyond_the_lease_is_done_once_and_its_extensions_are_in_the_history():
    hardened = small(queue={"mode": "hardened"}, **LONG_WORK)
    _, tables, verdict = run_in_memory(hardened)
    extensions = [row for row in rows_of(tables) if row["f"] == "extend" and row["type"] == "ok"]
    popped = {row["op_id"] for row in rows_of(tables) if row["f"] == "pop" and row["type"] == "ok"}
    assert extensions
    assert {row["delivery"] for row in extensions} <= popped
    assert verdict.valid is True
    assert [verdict.counts[name] for name in (MessageClass.REDELIVERED, MessageClass.ZOMBIE_ACK)] == [0, 0]
    _, _, original = run_in_memory(small(**LONG_WORK))
    assert original.counts[MessageClass.REDELIVERED] > 0
