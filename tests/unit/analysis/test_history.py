"""Goal: the history on disk is what was reported, whole or visibly unfinished. Method: write and read back."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zonelab.analysis.runs.history import DEPTH, OPERATIONS, HistoryWriter, MessageColumns
from zonelab.analysis.runs.tables import TableWriter


def read(directory: Path) -> list[dict[str, object]]:
    return pq.read_table(directory / "history" / "operations-000001.parquet").to_pylist()


def test_an_operation_is_an_invocation_and_a_completion_joined_by_its_number(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path)
    message = MessageColumns(message_id="m", shard="b", priority=7)
    op = history.invoke(time_ns=5, process="p", zone="a", f="push", intended_ns=3, messages=[message])
    history.complete(op, time_ns=9, type="ok", messages=[MessageColumns(message_id="m", shard="b", due_ms=11)])
    history.close()
    invoke, ok = read(tmp_path)
    assert (invoke["type"], invoke["time_ns"], invoke["invoke_ns"], invoke["priority"]) == ("invoke", 5, None, 7)
    assert (ok["type"], ok["time_ns"], ok["invoke_ns"], ok["due_ms"]) == ("ok", 9, 5, 11)
    assert (ok["op_id"], ok["index"], ok["intended_ns"], ok["shard"]) == (invoke["op_id"], 1, 3, "b")


def test_rows_of_one_event_share_its_index_and_no_message_is_one_row(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path)
    op = history.invoke(time_ns=1, process="p", zone="a", f="pop")
    history.complete(op, time_ns=2, type="ok", messages=[MessageColumns(message_id=name) for name in "xyz"])
    history.close()
    assert [(row["index"], row["message_id"]) for row in read(tmp_path)] == [(0, None), (1, "x"), (1, "y"), (1, "z")]


def test_a_completion_repeats_the_messages_of_its_invocation_unless_told_otherwise(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path)
    for messages in (None, ()):
        op = history.invoke(time_ns=1, process="p", zone="a", f="ack", messages=[MessageColumns(message_id="m")])
        history.complete(op, time_ns=2, type="fail", messages=messages, error="no lease")
    history.close()
    ended = [row for row in read(tmp_path) if row["type"] == "fail"]
    assert [(row["message_id"], row["error"]) for row in ended] == [("m", "no lease"), (None, "no lease")]


def test_what_is_open_when_the_history_closes_is_in_doubt(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path)
    history.invoke(time_ns=4, process="p", zone="a", f="push", messages=[MessageColumns(message_id="m")])
    history.close()
    assert [(row["type"], row["time_ns"], row["message_id"]) for row in read(tmp_path)] == [
        ("invoke", 4, "m"),
        ("info", 4, "m"),
    ]


def test_an_operation_ends_once(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path)
    op = history.invoke(time_ns=1, process="p", zone="a", f="pop")
    history.complete(op, time_ns=2, type="ok")
    with pytest.raises(KeyError):
        history.complete(op, time_ns=3, type="ok")
    history.close()


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 1_999, 2_000, 2_001])
def test_every_row_arrives_in_order_whatever_the_number(tmp_path: Path, rows: int) -> None:
    with TableWriter(tmp_path / "t.parquet", DEPTH, rows_per_group=1_000) as table:
        for number in range(rows):
            table.append({"time_ns": number, "zone": f"z{number % 3}"})
    stored = pq.read_table(tmp_path / "t.parquet")
    assert stored["time_ns"].to_pylist() == list(range(rows))
    assert stored["waiting"].null_count == rows
    assert table.rows_written == rows
    assert pq.read_metadata(tmp_path / "t.parquet").num_row_groups == -(-rows // 1_024) or rows < 2_000


def test_a_file_that_is_being_written_does_not_bear_its_name(tmp_path: Path) -> None:
    table = TableWriter(tmp_path / "t.parquet", DEPTH)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet.partial"]
    table.close()
    table.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_row_that_does_not_fit_the_schema_leaves_the_file_unfinished(tmp_path: Path) -> None:
    table = TableWriter(tmp_path / "t.parquet", DEPTH)
    table.append({"time_ns": "soon", "zone": "a"})
    with pytest.raises(pa.ArrowException):
        table.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet.partial"]


def test_a_write_that_fails_in_the_thread_is_raised_and_leaves_the_file_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TableWriter(tmp_path / "t.parquet", DEPTH, rows_per_group=1)

    def full(_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(table._file, "write_table", full)
        table.append({"time_ns": 1, "zone": "a"})
        with pytest.raises(OSError, match="no space left"):
            table.append({"time_ns": 2, "zone": "a"})
    with pytest.raises(OSError, match="no space left"):
        table.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet.partial"]


def test_the_columns_are_those_that_the_documentation_names() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "history.md").read_text(encoding="utf-8")
    for schema in (OPERATIONS, DEPTH):
        assert [name for name in schema.names if f"`{name}`" not in documented] == []


def test_what_touches_a_message_has_the_columns_of_the_table_in_their_order():
    first = OPERATIONS.names.index(MessageColumns._fields[0])
    assert tuple(OPERATIONS.names[first : first + len(MessageColumns._fields)]) == MessageColumns._fields
