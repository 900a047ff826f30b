"""Goal: whatever is wrong with a run directory is one clear line. Method: break a good one in every way."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.run_summary import load_summary, load_verdict, summarise

HISTORY = "history/operations-000001.parquet"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return eventful_run(tmp_path / "run").write()


def edit(run: Path, **changes: object) -> None:
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}), encoding="utf-8")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_bytes_of_a_page(path: Path) -> None:
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(1)
    middle = column.data_page_offset + (column.total_compressed_size // 2)
    content[middle : middle + 8] = bytes(byte ^ 0xFF for byte in content[middle : middle + 8])
    path.write_bytes(content)


BREAKAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no history": (lambda run: (run / HISTORY).unlink(), r"operations-000001\.parquet: missing"),
    "history cut off": (lambda run: truncate(run / HISTORY), r"operations-000001\.parquet: truncated"),
    "history empty": (lambda run: (run / HISTORY).write_bytes(b""), r"operations-000001\.parquet: trunc"),
    "history corrupt": (
        lambda run: flip_bytes_of_a_page(run / HISTORY),
        r"operations-000001\.parquet: truncated, corrupt or unreadable",
    ),
    "history of another table": (
        lambda run: (run / "history/depth-000001.parquet").replace(run / HISTORY),
        r"operations-000001\.parquet: not written by this version: column index",
    ),
    "lab killed": (
        lambda run: (run / HISTORY).replace(run / f"{HISTORY}.partial"),
        r"operations-000001\.parquet: only operations-000001\.parquet\.partial is there: the lab was killed",
    ),
    "no end state": (lambda run: (run / "final_state.parquet").unlink(), r"final_state\.parquet: missing"),
    "end state cut off": (lambda run: truncate(run / "final_state.parquet"), r"final_state\.parquet: truncated"),
    "no run.json": (lambda run: (run / "run.json").unlink(), r"not a run directory: it has no run\.json"),
    "run.json cut off": (lambda run: truncate(run / "run.json"), r"run\.json: content: Invalid JSON"),
    "run.json without a seed": (lambda run: (run / "run.json").write_text("{}"), r"run\.json: \w+: Field required"),
    "odd status": (lambda run: edit(run, status="fine"), r"run\.json: status: Input should be .*got 'fine'"),
    "odd class": (lambda run: edit(run, forbid=["lots"]), r"run\.json: forbid\.0: .*'lots' is not a message class"),
    "deep run.json": (lambda run: (run / "run.json").write_text("[" * 100_000), r"run\.json: content: .*recursion"),
    "long number": (lambda run: (run / "run.json").write_text('{"seed": ' + "9" * 5_000), r"run\.json: content: "),
    "not UTF-8": (lambda run: (run / "run.json").write_bytes(b"\xff\xfe"), r"run\.json: "),
}


def rewritten(path: Path, **types: pa.DataType) -> None:
    """Write ``path`` again as others do: without dictionaries, columns in another order, ``types`` in these."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    for name in [name for name, kind in types.items() if pa.types.is_string(kind)]:
        rows = [{**row, name: str(row[name])} for row in rows]
    kinds = {field.name: field.type for field in reversed(table.schema)}
    plain = {name: pa.string() if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(list((plain | types).items()))), path)


PLAIN = {
    "strings and int32": {"index": pa.int32(), "op_id": pa.int32(), "priority": pa.int64()},
    "floats for integers": {name: pa.float64() for name in ("time_ns", "delivery", "due_ms", "lease_end_ms", "body")},
    "large strings": {name: pa.large_string() for name in ("message_id", "f", "zone")},
    "nothing but nulls": {"key": pa.null()},
    "unsigned": {"time_ns": pa.uint64()},
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_history_that_another_program_wrote_again_says_the_same(run: Path, name: str) -> None:
    before, summary = check(run), summarise(run)
    rewritten(run / HISTORY, **PLAIN[name])
    rewritten(run / "final_state.parquet", score=pa.float32())
    rewritten(run / "history" / "faults-000001.parquet")
    rewritten(run / "history" / "depth-000001.parquet", waiting=pa.float64())
    again = check(run)
    assert (again.valid, again.counts, again.totals) == (before.valid, before.counts, before.totals)
    assert len(RunDirectory.open(run).faults()) == 2
    assert summarise(run) == summary


UNPLAIN = {
    "text in time_ns": ({"time_ns": pa.string()}, "column time_ns: got string; expected int64"),
    "time stamps": ({"time_ns": pa.timestamp("ns")}, r"column time_ns: got timestamp\[ns\]; expected int64"),
    "numbers for names": ({"message_id": pa.int64()}, "column message_id: got int64; expected string"),
}


@pytest.mark.parametrize("name", UNPLAIN)
def test_a_column_that_can_mean_several_things_is_one_line(run: Path, name: str) -> None:
    types, message = UNPLAIN[name]
    table = pq.read_table(run / HISTORY)
    for column, kind in types.items():
        numbers = pa.array(range(len(table)), pa.int64())
        values = pa.array(map(str, range(len(table)))) if pa.types.is_string(kind) else numbers.cast(kind)
        table = table.set_column(table.schema.get_field_index(column), column, values)
    pq.write_table(table, run / HISTORY)
    with pytest.raises(RunError, match=rf"operations-000001\.parquet: {message}$"):
        check(run)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("time_ns", [0.5], "got double: .*; expected int64"),
        ("time_ns", [2.0**60], "got double: .*no exact integer; expected int64"),
        ("time_ns", [None], "got null; expected int64"),
        ("priority", [70_000], "got int64: .*70000.*; expected int16"),
        ("index", [float("nan")], "got double: .*; expected int64"),
    ],
)
def test_a_value_that_has_no_place_in_its_column_is_one_line(
    run: Path, column: str, values: list[float | None], message: str
) -> None:
    table = pq.read_table(run / HISTORY)
    table = table.set_column(table.schema.get_field_index(column), column, pa.array(values * len(table)))
    pq.write_table(table, run / HISTORY)
    with pytest.raises(RunError, match=rf"operations-000001\.parquet: column {column}: {message}") as error:
        check(run)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_run_is_one_line_that_names_the_file_and_leaves_no_verdict(run: Path, name: str) -> None:
    breakage, message = BREAKAGES[name]
    breakage(run)
    with pytest.raises(RunError, match=message) as caught:
        check(run)
    assert "\n" not in str(caught.value)
    assert str(run.parent) in str(caught.value)
    left = {path.name for path in run.rglob("*") if path.suffix == ".partial"} - {"operations-000001.parquet.partial"}
    assert left == set()
    assert not (run / "verdict.json").exists()


def test_a_missing_directory_and_a_file_are_told_apart(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run directory"):
        RunDirectory.open(tmp_path / "nowhere")
    with pytest.raises(RunError, match="is a file, not a run directory"):
        RunDirectory.open(run / "run.json")


def test_a_killed_lab_of_before_segments_is_recognised_before_run_json_was_written(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "operations.parquet.partial").touch()
    with pytest.raises(
        RunError, match=r"no run\.json \(history/operations\.parquet\.partial is there: the lab was killed"
    ):
        RunDirectory.open(tmp_path)


def test_numbers_that_are_text_and_a_byte_order_mark_in_run_json_are_read(run: Path) -> None:
    before = RunDirectory.open(run).info
    edit(run, seed=str(before.seed), epoch_ns=float(before.epoch_ns))
    (run / "run.json").write_text("\ufeff" + (run / "run.json").read_text())
    after = RunDirectory.open(run).info
    assert (after.seed, after.epoch_ns) == (before.seed, before.epoch_ns)


def test_a_broken_verdict_or_summary_is_named(run: Path) -> None:
    summarise(run)
    directory = RunDirectory.open(run)
    (run / "verdict.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(RunError, match=r"verdict\.json: truncated, corrupt or unreadable: maximum recursion"):
        load_verdict(directory)
    (run / "verdict.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"verdict\.json: not written by this version"):
        load_verdict(directory)
    truncate(run / "summary.json")
    with pytest.raises(RunError, match=r"summary\.json: truncated"):
        load_summary(directory)


def test_a_link_to_a_run_is_the_run(run: Path) -> None:
    (run.parent / "latest").symlink_to(run)
    assert RunDirectory.open(run.parent / "latest").path == run.resolve()


def test_faults_are_in_the_order_of_their_begin(run: Path) -> None:
    faults = RunDirectory.open(run).faults()
    assert [(fault.kind, fault.target, fault.begin_ns) for fault in faults] == [
        ("kill", "b", 3_000_000_000),
        ("lag", "a>c", 7_000_000_000),
    ]


def test_defaults_and_unknown_fields_of_run_json(run: Path) -> None:
    content = json.loads((run / "run.json").read_text())
    for optional in ("forbid", "command", "coordinators", "unread_zones"):
        del content[optional]
    (run / "run.json").write_text(json.dumps({**content, "later_addition": 1}), encoding="utf-8")
    info = RunDirectory.open(run).info
    assert info.forbid == FORBIDDEN_DEFAULT
    assert info.zone_names == ("a", "b", "c")
