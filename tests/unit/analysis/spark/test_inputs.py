"""Goal: every run that is meant is found once, and nothing else. Method: folders as hunts, links and killed labs leave
them, by path, pattern and URI; a second file system is Hadoop's viewfs over a local folder.
"""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.spark.inputs import Inputs, NoRunFound, find_runs
from zonelab.analysis.spark.pipeline import aggregate


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs with a link to the newer one, and what else the lab leaves beside them."""
    folder = tmp_path / "runs" / "eventful"
    eventful_run(folder / "one").write()
    eventful_run(folder / "two", seed=2).write()
    (folder / "latest").symlink_to("two", target_is_directory=True)
    for name in ("hunt-0123", "shrunk-7", "sweep-4567"):
        (folder / name).mkdir()
        (folder / name / "state.json").write_text("{}")
    (folder / "index.html").write_text("<html>")
    return folder


def names(found: Inputs) -> list[str]:
    return [run.directory.path.name for run in found.runs]


def test_paths_patterns_and_uris_find_the_runs_once_and_pass_over_the_rest(runs: Path) -> None:
    for given in (
        [runs / "*"],
        [f"{runs}/*"],
        [f"file://{runs}/*"],
        sorted(runs.iterdir()),
        [runs / "one", runs / "*"],
    ):
        found = find_runs(given)
        assert sorted(names(found)) == ["one", "two"], given
        assert found.left_out == {}
    assert find_runs([runs / "latest"]).runs[0].place == str(runs / "two")


def test_folders_of_many_runs_alone_are_refused_with_what_they_keep(runs: Path) -> None:
    (runs / "hunt-0123" / "results.jsonl").write_text("")
    (runs / "sweep-4567" / "results.jsonl").write_text("")
    for given, said in (
        ([runs / "hunt-0123"], f"{runs / 'hunt-0123'}: a hunt keeps no runs, only what it counted"),
        ([f"{runs}/sweep-*"], f"{runs / 'sweep-4567'}: a sweep keeps no runs, only what it counted"),
    ):
        with pytest.raises(NoRunFound) as refused:
            find_runs(given).usable(strict=False)
        assert said in str(refused.value)
        assert "accepted: run directories" in str(refused.value)
    assert sorted(names(find_runs([runs / "*"]).usable(strict=True))) == ["one", "two"]


def test_a_path_is_taken_by_its_name_before_it_is_a_pattern(tmp_path: Path) -> None:
    run = eventful_run(tmp_path / "a [b] *").write()
    assert names(find_runs([run])) == ["a [b] *"]


def test_what_is_broken_or_cut_off_is_named_with_its_kind_and_strict_stops(runs: Path) -> None:
    broken, cut_off = runs / "broken", runs / "killed"
    shutil.copytree(runs / "one", broken)
    (broken / "run.json").write_text("{")
    (cut_off / "history").mkdir(parents=True)
    (cut_off / "history" / "operations.parquet.partial").write_bytes(b"PAR1")
    found = find_runs([runs / "*", runs / "nowhere"])
    kinds = {Path(place).name: left.kind for place, left in found.left_out.items()}
    assert kinds == {"broken": "broken", "killed": "cut off", "nowhere": "missing"}
    assert all(left.why.startswith(place) for place, left in found.left_out.items())
    assert found.usable(strict=False) is found
    with pytest.raises(RunError, match=r"\(left out: 1 broken, 1 cut off, 1 missing\)$"):
        found.usable(strict=True)


def test_a_table_of_other_types_which_spark_does_not_convert_is_named(runs: Path) -> None:
    path = runs / "one" / "history" / "operations-000001.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("time_ns")
    pq.write_table(table.set_column(at, "time_ns", table["time_ns"].cast(pa.float64())), path)
    found = find_runs([runs / "*"])
    assert names(found) == ["two"]
    (left,) = found.left_out.values()
    assert left.why == f"{path}: column time_ns: got double; expected int64 (Spark does not convert it)"


def test_without_any_run_one_line_says_what_a_run_is(runs: Path) -> None:
    with pytest.raises(NoRunFound, match=r"^no run was found: a run is a directory with a run\.json"):
        find_runs([runs / "hunt-*"]).usable(strict=False)
    with pytest.raises(NoRunFound, match="nowhere: no such file or directory"):
        find_runs([runs / "nowhere"]).usable(strict=False)


@pytest.mark.java
def test_runs_on_another_file_system_give_the_same_counts(runs: Path) -> None:
    broken = runs / "broken"
    shutil.copytree(runs / "two", broken)
    (broken / "history" / "operations-000001.parquet").write_bytes(b"PAR1")
    mounted = {"spark.hadoop.fs.viewfs.mounttable.lab.link./runs": f"file://{runs}"}
    given = ["viewfs://lab/runs/*o*", "viewfs://lab/runs/nowhere/*", "s3a://bucket/runs/*", runs / "one"]
    aggregates = aggregate(given, master="local[1]", settings=mounted)
    kinds = {place: left.kind for place, left in aggregates.left_out.items()}
    assert kinds == {
        "viewfs://lab/runs/broken": "broken",
        "viewfs://lab/runs/nowhere/*": "missing",
        "s3a://bucket/runs/*": "broken",
    }
    assert "spark.jars.packages=org.apache.hadoop:hadoop-aws:" in aggregates.left_out["s3a://bucket/runs/*"].why
    (figures,) = aggregates.settings
    assert figures.runs == 2  # one is given by its URI, and by its path
    assert figures.counts["lost"] == 6


def test_a_run_that_goes_on_waits_for_its_end_before_it_enters_tables(tmp_path: Path) -> None:
    runs = [eventful_run(tmp_path / "over").write(), eventful_run(tmp_path / "on", seed=2).write(status="running")]
    found = find_runs(runs)
    assert sorted(names(found)) == ["on", "over"]
    assert names(found.finished()) == ["over"]
    (left,) = found.finished().usable(strict=True).left_out.values()
    assert (left.kind, left.why) == ("running", f"{runs[1]}: the run is still going on")


def test_a_run_of_which_nothing_is_on_record_yet_is_named(runs: Path) -> None:
    (runs / "one" / "history" / "operations-000001.parquet").unlink()
    told = json.loads((runs / "one" / "run.json").read_text())
    (runs / "one" / "run.json").write_text(json.dumps({**told, "segments": {}, "status": "running"}))
    (left,) = find_runs([runs / "one", runs / "two"]).left_out.values()
    assert (left.kind, left.why.partition("one: ")[2]) == (
        "running",
        "the run is still going on, and no operation is on record yet",
    )
