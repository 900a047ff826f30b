"""Goal: what ordered clients do is on record, in segments as all else. Method: write a little, read it back."""

from pathlib import Path

import pytest

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.order import ORDER, ORDER_NAME, OrderHistory, OrderKind
from zonelab.analysis.runs.segments import segments_of
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.scenarios.run_files.tables import FileTables

SECOND = 1_000_000_000


def test_a_history_in_segments_is_read_back_as_one(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path).write(segments={})
    tables = FileTables(run, SECOND)
    history = OrderHistory(tables(ORDER_NAME, ORDER))
    who = {"group": "g", "partition": "orders/0", "session": "m-1"}
    grant = history.begin(OrderKind.GRANT, time_ns=10, zone="a", **who)
    history.end(grant, time_ns=20, outcome="ok", generation=0, token=1, cursor=0)
    tables.cut(0)
    op = history.start(time_ns=30, token=1, offset=0, attempt=1, **who)
    tables.cut(2 * SECOND)
    history.note(OrderKind.END, time_ns=40, op_id=op, status="success", **who)
    history.close()
    assert len(segments_of(run, ORDER_NAME)) == 2
    read = RunDirectory.open(run).table(ORDER_NAME, ORDER)
    assert read is not None
    assert read.select(["index", "time_ns", "invoke_ns", "kind", "outcome", "op_id", "token", "zone"]).to_pylist() == [
        dict(zip(("index", "time_ns", "invoke_ns", "kind", "outcome", "op_id", "token", "zone"), row, strict=True))
        for row in (
            (0, 20, 10, "grant", "ok", None, 1, "a"),
            (1, 30, None, "start", None, 0, 1, None),
            (2, 40, None, "end", None, 0, None, None),
        )
    ]


def test_what_a_crashed_program_asked_for_is_unknown() -> None:
    table = MemoryTable(ORDER)
    history = OrderHistory(table)
    history.begin(OrderKind.COMMIT, time_ns=10, offset=0, cursor=1)
    history.note(OrderKind.MEMBER, time_ns=50, status="lost")
    history.close()
    (row,) = (one for one in table.batch().to_pylist() if one["kind"] == "commit")
    assert (row["invoke_ns"], row["time_ns"], row["outcome"], row["status"]) == (10, 50, "info", "never completed")


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError, match="offsett"):
        OrderHistory(MemoryTable(ORDER)).note(OrderKind.START, time_ns=1, offsett=3)


def test_runs_without_order_have_no_such_rows(tmp_path: Path) -> None:
    assert list(RunDirectory.open(RunBuilder(tmp_path).write()).batches(ORDER_NAME, ORDER)) == []
