"""Goal: whatever is wrong with a run directory is one clear line. Method: break a good one in every way."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from analysis.checkers.queue.queue import check
from analysis.message_classes import FORBIDDEN_DEFAULT
from analysis.runs.directory import RunDirectory
from analysis.runs.errors import RunError
from analysis.summary.queue_summary import load_summary, load_verdict, summarise

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
    "not UTF-8": (lambda run: (run / "run.json").write_bytes(b"\xff\xfe"), r"run\.json: "),
}


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


def test_a_broken_verdict_or_summary_is_named(run: Path) -> None:
    summarise(run)
    directory = RunDirectory.open(run)
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
