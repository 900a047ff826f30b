"""Goal: a row counts the runs that showed the failure, and leaves out those that the fault missed or without verdict.

Method: attempts whose runs are made up, one by one; and in simulation those of a failure of an engine.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from zonelab.analysis.observation import Observation
from zonelab.cluster.zone import ClusterError
from zonelab.studies.known import attempts
from zonelab.studies.known.attempts import HIT, TOOK_S, AttemptMeasure, AttemptSetting, attempt_failure, settings_of
from zonelab.studies.known.failure import load_failure

NUMBERS = {HIT: 1.0, TOOK_S: 9.0}
MADE_UP = [
    Observation(valid=False, counts={"lost": 2}, numbers=NUMBERS),
    Observation(valid="unknown", counts={"lost": 1}, numbers=NUMBERS),
    Observation(valid="unknown", problem="its clock is wrong", numbers=NUMBERS),
    Observation(valid=False, counts={"resurrected": 1}, numbers={HIT: 0.0, TOOK_S: 11.0}),
    Observation(valid=True, numbers=NUMBERS),
]
NO_FAULT = Observation(valid=True, numbers={TOOK_S: 9.0})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seeds: list[int] = []

    def run(_: AttemptMeasure, subject: tuple[str, Any]) -> Observation:
        seeds.append(subject[1].seed)
        if subject[1].seed > len(MADE_UP):
            raise ClusterError("zone a did not start")
        return MADE_UP[subject[1].seed - 1]

    monkeypatch.setattr(AttemptMeasure, "__call__", run)
    monkeypatch.setattr(attempts, "used_environment", lambda *_, **__: nullcontext())
    return seeds


def attempted(folder: Path, seeds: range, *settings: AttemptSetting) -> attempts.Attempts:
    some = settings or [AttemptSetting(version="2.12.0")]
    return attempt_failure(load_failure("rq-1716"), some, seeds=seeds, runs=folder, command="test")


def test_a_row_counts_what_the_failure_shows_and_no_other_violation(made: list[int], tmp_path: Path) -> None:
    (row,) = attempted(tmp_path, range(1, 6)).rows
    assert (row.runs, row.failing, row.undecided, row.hit, row.took_s) == (3, 2, 2, 4, 9.0)


def test_environments_are_in_use_from_before_the_first_run_until_after_the_last(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def used(*_: object, **options: str) -> Iterator[None]:
        made.append(0)
        yield
        made.append(0)

    monkeypatch.setattr(attempts, "used_environment", used)
    attempted(tmp_path, range(1, 3))
    programs = len(load_failure("rq-1716").run_of("2.12.0").programs)
    assert made == [*[0] * programs, 1, 2, *[0] * programs]


def test_a_run_without_a_fault_of_a_program_counts_and_hits_nothing(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AttemptMeasure, "__call__", lambda *_: NO_FAULT)
    settings = [AttemptSetting(version="2.12.0", control=control, zones=3) for control in (False, True)]
    aimed, control = attempted(tmp_path, range(1, 3), *settings).rows
    assert (aimed.runs, aimed.undecided, aimed.hit) == (0, 2, 0)
    assert (control.runs, control.undecided, control.hit) == (2, 0, None)
    assert (control.zones, control.level) == (3, "DC_ONE")


def test_runs_that_were_made_are_not_made_again(made: list[int], tmp_path: Path) -> None:
    attempted(tmp_path, range(1, 3))
    done = attempted(tmp_path, range(1, 6))
    assert made == [1, 2, 3, 4, 5]
    assert done.known == 2


def test_a_run_that_the_lab_could_not_make_is_a_problem_and_no_run(made: list[int], tmp_path: Path) -> None:
    done = attempted(tmp_path, range(5, 7))
    assert done.problems == ["2.12.0, seed 6: zone a did not start"]
    (row,) = done.rows
    assert (row.runs, row.failing) == (1, 0)


def test_a_failure_of_an_engine_is_seen_in_simulation_and_not_without_its_fault(tmp_path: Path) -> None:
    failure = load_failure("delay-queue-19")
    calm = failure.model_copy(update={"control": {"faults": []}})
    settings = settings_of(failure, version=None, control=False, level=None)
    rows = attempt_failure(failure, settings, seeds=range(1, 3), runs=tmp_path, command="test").rows
    (without,) = attempt_failure(calm, settings[1:], seeds=range(1, 3), runs=tmp_path / "calm", command="test").rows
    told = [(row.version, row.control, row.runs, row.failing, row.hit) for row in (*rows, without)]
    assert told == [("v0.4", False, 2, 2, None), ("v0.4", True, 2, 0, None), ("v0.4", True, 2, 0, None)]
    assert list((tmp_path / failure.name / "known" / "v0.4").rglob("run.json")), "its runs are there to look at"
