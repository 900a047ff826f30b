"""Goal: what was measured is kept, replaced by what is measured later, and shown beside its control.

Method: rows in a file of the test, read back.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from zonelab.studies.known.failure import load_failure
from zonelab.studies.known.rows import MeasuredRow, keep_rows, quickest, read_rows, rows_table

ROW = MeasuredRow(
    failure="rq-1716",
    queue="rq",
    version="2.12.0",
    control=False,
    level="DC_ONE",
    runs=20,
    failing=19,
    undecided=0,
    hit=20,
    took_s=9.5,
    date="2026-11-29",
)
CONTROL = replace(ROW, control=True, failing=0, hit=None)


def test_a_later_row_takes_the_place_of_the_same_version_and_level(tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    assert read_rows(file) == []
    keep_rows([ROW, CONTROL], file)
    later = replace(ROW, failing=20, date="2026-11-30")
    newest = replace(ROW, version="3.0.0")
    keep_rows([later, newest, replace(CONTROL, runs=0)], file)
    assert read_rows(file) == [later, CONTROL, newest]


def test_a_control_stands_beside_its_version() -> None:
    text = rows_table([ROW, CONTROL, replace(ROW, zones=3, failing=0)]).to_markdown()
    assert text.splitlines()[2:] == [
        "| rq-1716 | 2.12.0 | 1 | DC_ONE | 19 of 20 | 75.1% to 99.87% | 0 | 0 of 20 | 2026-11-29 |",
        "| rq-1716 | 2.12.0 | 3 | DC_ONE | 0 of 20 | below 16.8% | 0 | – | 2026-11-29 |",
    ]


def test_the_quickest_are_those_whose_longest_runs_are_the_shortest() -> None:
    rows = [ROW, replace(CONTROL, took_s=30.0), replace(ROW, failure="saq-277", took_s=20.0)]
    assert quickest(rows, 1) == ["saq-277"]
    assert quickest([*rows, replace(ROW, failure="saq-277", zones=3, took_s=99.0)], 9) == ["saq-277", "rq-1716"]


def test_rows_that_are_kept_at_one_instant_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "new" / "measured.json"
    rows = [replace(ROW, version=str(number)) for number in range(16)]
    with ThreadPoolExecutor(len(rows)) as pool:
        list(pool.map(lambda row: keep_rows([row], file), rows))
    assert sorted(read_rows(file), key=lambda row: int(row.version)) == rows


def test_every_row_that_ships_is_of_a_known_failure() -> None:
    for row in read_rows():
        assert load_failure(row.failure).queue == row.queue
        assert 0 <= row.failing <= row.runs
