"""Goal: a failure that was seen in every run is seen again at an affected version, and not where it is mended.

Method: those of ``measured.json`` that failed in all of 20 runs and never without the fault, and take a minute at most;
one run each, again if it was undecided, as on a busy machine.
"""

from pathlib import Path

import pytest
from support.guest_marks import guest_marks

from zonelab.studies.known.attempts import AttemptSetting, attempt_failure
from zonelab.studies.known.failure import KnownFailure, load_failure
from zonelab.studies.known.rows import MeasuredRow, read_rows

RUNS = 20
LONGEST_S = 60
TRIES = 5


def certain() -> list[str]:
    """The failures whose verdict is the same in every run."""
    on_one_zone = [row for row in read_rows() if row.zones == 1]
    controls = {(row.failure, row.version): row for row in on_one_zone if row.control}

    def is_certain(row: MeasuredRow) -> bool:
        control = controls.get((row.failure, row.version))
        always = row.runs >= RUNS and row.failing == row.runs
        return always and control is not None and control.runs >= RUNS and not control.failing

    rows = [row for row in on_one_zone if not row.control and row.took_s <= LONGEST_S]
    return sorted(
        {row.failure for row in rows if row.version == load_failure(row.failure).affected and is_certain(row)}
    )


def marked(name: str) -> object:
    failure = load_failure(name)
    if failure.versions:
        return pytest.param(name, marks=pytest.mark.real)
    guest = str(failure.folder) if (failure.folder / "guest.yaml").is_file() else failure.queue
    return pytest.param(name, marks=guest_marks(guest))


def tried(failure: KnownFailure, setting: AttemptSetting, runs: Path) -> MeasuredRow:
    for seed in range(1, TRIES + 1):
        seeds = range(seed, seed + 1)
        done = attempt_failure(failure, [setting], seeds=seeds, runs=runs, command="test")
        assert done.problems == []
        (row,) = done.rows
        if not row.undecided:
            return row
    pytest.fail(f"none of {TRIES} runs was decided")


@pytest.mark.parametrize("name", [marked(name) for name in certain()])
def test_it_is_seen_where_it_is_and_not_where_it_is_mended(name: str, tmp_path: Path) -> None:
    failure = load_failure(name)
    sound = AttemptSetting(version=failure.mended or failure.affected, control=failure.mended is None)
    assert tried(failure, AttemptSetting(version=failure.affected), tmp_path).failing == 1
    assert tried(failure, sound, tmp_path).failing == 0
