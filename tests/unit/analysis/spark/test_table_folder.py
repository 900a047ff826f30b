"""Goal: a folder of tables never counts a row twice, and never shows half of one. Method: runs added by hand, twice, at
the same time, and by writers that die in between; compaction; folders of other versions.
"""

import errno
import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.tables.compaction import _joined, compact
from zonelab.analysis.tables.folder import TABLES, RunEntry, TableFolder


@pytest.fixture
def folder(tmp_path: Path) -> TableFolder:
    return TableFolder.made(tmp_path / "tables")


def entry(run_id: str) -> RunEntry:
    return RunEntry(run_id=run_id, place=f"/runs/{run_id}", scenario="s", level="DC_ONE", settings={}, files={})


def add(folder: TableFolder, run_id: str, *, rows: int = 3) -> bool:
    with folder.staging() as staging:
        staged = {}
        for table in TABLES:
            staged[table] = [staging / f"{table}.parquet"]
            pq.write_table(pa.table({"run_id": [run_id] * rows, "value": range(rows)}), staged[table][0])
        return folder.add(entry(run_id), staged)


def rows_of(folder: TableFolder, table: str = "messages") -> Counter[str]:
    return Counter(name for path in folder.files(table) for name in pq.read_table(path)["run_id"].to_pylist())


def files_in(folder: TableFolder) -> set[Path]:
    return set(folder.path.rglob("*.parquet"))


def test_a_run_is_there_once_it_is_entered_and_adding_it_again_adds_nothing(folder: TableFolder) -> None:
    assert not folder.has("aa")
    assert add(folder, "aa")
    assert folder.has("aa")
    before = files_in(folder)
    assert not add(folder, "aa")
    assert not add(folder, "aa", rows=5)  # another content for the same run: whoever came first counts
    assert files_in(folder) == before
    assert rows_of(folder) == {"aa": 3}
    assert {path.parent.relative_to(folder.path).as_posix() for path in before} == {
        f"{table}/scenario=s/level=DC_ONE" for table in TABLES
    }


def test_writers_at_the_same_time_add_a_run_once(folder: TableFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda rows: add(folder, "aa", rows=rows), range(1, 9)))
    assert added.count(True) == 1
    assert rows_of(folder)["aa"] == added.index(True) + 1
    assert len(files_in(folder)) == len(TABLES)


def test_a_run_is_not_counted_twice_after_a_resume(folder: TableFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", killed)  # its files have their names, the manifest has not got it
        with pytest.raises(KeyboardInterrupt):
            add(folder, "aa", rows=4)
    assert len(files_in(folder)) == len(TABLES)
    assert rows_of(folder) == {}
    assert add(folder, "aa")
    assert rows_of(folder) == {"aa": 3}


def test_a_disk_that_is_full_leaves_nothing_under_a_final_name(
    folder: TableFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            add(folder, "aa")
    assert files_in(folder) == set()
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".")] == []
    assert list((folder.path / "manifest").iterdir()) == []


def test_compaction_keeps_every_row_and_leaves_large_files_alone(folder: TableFolder) -> None:
    for run_id in ("aa", "bb", "cc"):
        add(folder, run_id)
    before = {table: rows_of(folder, table) for table in TABLES}
    assert compact(folder, small_bytes=1) == 0
    assert compact(folder) == 2 * len(TABLES)
    assert {table: rows_of(folder, table) for table in TABLES} == before
    assert files_in(folder) == {path for table in TABLES for path in folder.files(table)}
    add(folder, "dd")
    assert compact(folder) == len(TABLES)
    assert rows_of(folder) == {**before["messages"], "dd": 3}
    assert not add(folder, "aa")


def test_of_two_compactions_at_the_same_time_one_does_nothing(folder: TableFolder) -> None:
    for number in range(12):
        add(folder, f"{number:02}")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: compact(folder), range(4)))
    assert rows_of(folder) == {f"{number:02}": 3 for number in range(12)}


def test_what_one_compaction_gives_up_is_not_what_another_has_just_made(
    folder: TableFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run_id in ("aa", "bb"):
        add(folder, run_id)
    first, second = TABLES[:2]
    small = {table: sorted(folder.files(table)) for table in (first, second)}
    files, looks = TableFolder.files, Counter[str]()

    def meanwhile(self: TableFolder, table: str) -> list[Path]:
        """The other one joins each table just before, or behind, a look of the compaction under test."""
        looks[table] += 1
        if (table, looks[table]) == (first, 1):
            assert _joined(self, first, small[first], number=1)
        found = files(self, table)
        if (table, looks[table]) == (second, 2):
            assert _joined(self, second, small[second], number=2)
        return found

    monkeypatch.setattr(TableFolder, "files", meanwhile)
    assert compact(folder) == 0
    assert looks[second] == 2
    assert rows_of(folder, second) == {"aa": 3, "bb": 3}


def test_a_folder_of_a_newer_schema_is_refused_in_one_line(folder: TableFolder) -> None:
    add(folder, "aa")
    path = folder.path / "manifest" / "run-aa.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))
    with pytest.raises(RunError, match=r"^[^\n]*run-aa\.json: written by a newer zonelab, in schema 2; .* up to 1$"):
        folder.entries()
    (folder.path / "format.json").write_text('{"zonelab_tables": 7}')
    with pytest.raises(RunError, match=r"^[^\n]*format\.json: written by a newer zonelab, in schema 7; .* up to 1$"):
        TableFolder.made(folder.path)
    with pytest.raises(RunError, match="not a folder of tables"):
        TableFolder.opened(folder.path / "manifest")


def test_a_file_that_is_missing_is_named(folder: TableFolder) -> None:
    add(folder, "aa")
    (gone,) = folder.files("faults")
    gone.unlink()
    with pytest.raises(RunError, match=f"{gone.name}: missing, though the manifest names it"):
        folder.files("faults")
