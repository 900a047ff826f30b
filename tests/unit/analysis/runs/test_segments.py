"""Goal: a run can be read while it goes on and after its lab was killed. Method: write one, read a part of it."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.runs.accesses import VALUES
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import KILLED, RunError
from zonelab.analysis.runs.history import DEPTH, FAULTS, OPERATIONS, History, MessageColumns
from zonelab.analysis.runs.info import FORMAT
from zonelab.analysis.runs.owner import RunOwner
from zonelab.analysis.runs.segments import SegmentedTable, segment_path, single_file
from zonelab.analysis.runs.tables import FORMAT_KEY, TableWriter
from zonelab.scenarios.run_files.tables import FileTables

SECOND = 1_000_000_000


def rows_of(run: Path, table: str, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(segment_path(run, table, number)).to_pylist()
    return found


def edit(run: Path, **changes: object) -> Path:
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}), encoding="utf-8")
    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return eventful_run(tmp_path / "run").write()


class TestWriting:
    def test_a_segment_is_due_when_it_is_full_or_old(self, tmp_path: Path) -> None:
        table = SegmentedTable(tmp_path, "depth", DEPTH, segment_ns=SECOND, segment_rows=2)
        assert not table.is_due(10 * SECOND)
        table.append({"time_ns": 5, "zone": "a"})
        assert [table.is_due(10 * SECOND + age) for age in (0, SECOND - 1, SECOND)] == [False, False, True]
        table.cut()
        table.append({"time_ns": 6, "zone": "a"})
        assert not table.is_due(20 * SECOND)
        table.append({"time_ns": 7, "zone": "a"})
        assert table.is_due(20 * SECOND)
        table.close()

    def test_all_tables_are_cut_together_and_those_without_rows_are_not(self, tmp_path: Path) -> None:
        tables = FileTables(tmp_path, SECOND)
        depth, faults, values = tables("depth", DEPTH), tables("faults", FAULTS), tables("values", VALUES)
        for number in range(3):
            depth.append({"time_ns": number, "zone": "a"})
            tables.cut(number * SECOND)
            faults.append(dict.fromkeys(FAULTS.names, "x") | {"begin_ns": number, "end_ns": None})
        for table in (depth, faults, values):
            table.close()
        assert tables.segments == {"depth": 2, "faults": 2, "values": 0}
        assert [[row["time_ns"] for row in rows_of(tmp_path, "depth", one)] for one in (1, 2)] == [[0, 1], [2]]
        assert [[row["begin_ns"] for row in rows_of(tmp_path, "faults", one)] for one in (1, 2)] == [[0], [1, 2]]
        assert len(list((tmp_path / "history").iterdir())) == 4

    def test_an_event_is_never_divided(self, tmp_path: Path) -> None:
        table = SegmentedTable(tmp_path, "operations", OPERATIONS, segment_ns=SECOND)
        history = History(table)
        for _ in range(2):
            op = history.invoke(time_ns=1, process="p", zone="a", f="pop")
            history.complete(op, time_ns=2, type="ok", messages=[MessageColumns(message_id=name) for name in "xyz"])
            table.cut()
        history.close()
        assert [[row["index"] for row in rows_of(tmp_path, "operations", one)] for one in (1, 2)] == [
            [0, 1, 1, 1],
            [2, 3, 3, 3],
        ]

    def test_what_a_segment_could_not_be_written_is_told_by_the_next_call(self, tmp_path: Path) -> None:
        table = SegmentedTable(tmp_path, "depth", DEPTH, segment_ns=SECOND)
        table.append({"time_ns": 0, "zone": None})  # the schema has no place for that
        table.cut()
        table.append({"time_ns": 1, "zone": "a"})
        with pytest.raises(Exception, match="zone"):
            table.cut()
        with pytest.raises(Exception, match="zone"):
            table.close()
        assert not segment_path(tmp_path, "depth", 1).exists()


class TestReading:
    def test_a_gap_and_a_missing_end_are_named(self, run: Path) -> None:
        path = segment_path(run, "operations", 1)
        path.rename(segment_path(run, "operations", 2))
        with pytest.raises(RunError, match=r"operations-000001\.parquet: missing"):
            RunDirectory.open(run).operation_rows()
        segment_path(run, "operations", 2).rename(path)
        edit(run, segments={"operations": 2})
        with pytest.raises(RunError, match=r"operations-000002\.parquet: missing"):
            check(run)

    @pytest.mark.parametrize(("table", "schema"), [("operations", OPERATIONS), ("faults", FAULTS)])
    def test_a_segment_that_was_copied_under_the_next_number_is_named(
        self, run: Path, table: str, schema: pa.Schema
    ) -> None:
        shutil.copy(segment_path(run, table, 1), segment_path(run, table, 2))
        edit(run, segments={})
        with pytest.raises(RunError, match=rf"{table}-000002\.parquet: a copy of {table}-000001\.parquet"):
            RunDirectory.open(run).table(table, schema)

    def test_a_run_of_one_file_a_table_reads_as_before(self, run: Path) -> None:
        judged = check(run).to_json()
        for table in ("operations", "faults", "depth"):
            segment_path(run, table, 1).rename(single_file(run, table))
        content = json.loads((run / "run.json").read_text())
        old = {name: value for name, value in content.items() if name not in ("format", "run_id", "segments")}
        (run / "run.json").write_text(json.dumps(old), encoding="utf-8")
        directory = RunDirectory.open(run)
        assert check(run).to_json() == judged
        assert [fault.kind for fault in directory.faults()] == ["kill", "lag"]
        assert len(directory.depth()) > 0
        assert len(directory.info.run_id) == 16
        assert directory.info.run_id == RunDirectory.open(run).info.run_id

    def test_what_a_newer_program_wrote_is_refused_with_both_formats(self, run: Path) -> None:
        path = segment_path(run, "operations", 1)
        newer = OPERATIONS.with_metadata({FORMAT_KEY: str(FORMAT + 1).encode()})
        pq.write_table(pq.read_table(path).cast(newer), path)
        message = f"written by a newer zonelab, in format {FORMAT + 1}; this one reads up to {FORMAT}"
        with pytest.raises(RunError, match=f"operations-000001.parquet: {message}"):
            check(run)
        edit(run, format=FORMAT + 1, status="unheard of")
        with pytest.raises(RunError, match=f"run.json: {message}"):
            RunDirectory.open(run)

    def test_a_fault_that_has_no_end_yet_is_in_force(self, tmp_path: Path) -> None:
        builder = eventful_run(tmp_path / "run")
        builder.fault("kill", "c", begin_ms=9_000, end_ms=None)
        run = builder.write()
        number = len(RunDirectory.open(run).faults())
        ended = pq.read_table(segment_path(run, "faults", 1)).to_pylist()[0]
        with TableWriter(segment_path(run, "faults", 2), FAULTS) as table:
            table.append({**ended, "end_ns": ended["end_ns"] + 1})
        faults = RunDirectory.open(run).faults()
        assert (len(faults), faults[0].end_ns, faults[-1].end_ns) == (number, ended["end_ns"] + 1, None)


def owner(**changes: object) -> dict[str, object]:
    current = RunOwner.current()
    assert current is not None, "these tests need Linux"
    return {**current.model_dump(), **changes}


GONE = {
    "a pid that another process has now": {"start_ticks": 1},
    "a pid that nobody has": {"pid": 2**22 + 1},
    "an earlier boot": {"boot_id": "0"},
}
ALIVE: dict[str, dict[str, object]] = {"this process": {}, "a process of another container": {"namespace": 1, "pid": 1}}


class TestRunning:
    @pytest.mark.parametrize("who", ALIVE)
    def test_a_run_whose_owner_lives_is_judged_as_far_as_it_is(self, run: Path, who: str) -> None:
        (run / "final_state.parquet").unlink()
        edit(run, status="running", owner=owner(**ALIVE[who]), phases={"load": [1_000, 1_000]}, drained=False)
        info = RunDirectory.open(run).info
        assert (info.status, info.doubt) == ("running", "the run is still going on")
        last_ns = max(row["time_ns"] for row in rows_of(run, "operations", 1))
        assert info.phases == {"load": (1_000, last_ns)}
        verdict = check(run)
        assert "the run is still going on" in verdict.reasons
        assert (verdict.counts["lost"], verdict.counts["stuck"]) == (0, 0)

    @pytest.mark.parametrize("why", GONE)
    def test_a_run_whose_owner_is_gone_was_interrupted(self, run: Path, why: str) -> None:
        edit(run, status="running", owner=owner(**GONE[why]))
        info = RunDirectory.open(run).info
        assert (info.status, info.error) == ("interrupted", KILLED)

    def test_an_owner_is_found_again_by_another_process(self, run: Path) -> None:
        edit(run, status="running", owner=owner())
        child = os.fork()
        if child == 0:
            os._exit(0 if RunDirectory.open(run).info.status == "running" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def test_before_the_first_segment_nothing_is_known(self, run: Path) -> None:
        for path in [*(run / "history").iterdir(), run / "final_state.parquet"]:
            path.unlink()
        edit(run, status="running", owner=owner(), phases={}, segments={}, drained=False)
        assert RunDirectory.open(run).faults() == []
        assert "nothing was pushed" in check(run).reasons
