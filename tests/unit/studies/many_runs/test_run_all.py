"""Goal: whoever runs the tasks, each is counted once, and one that fails costs nobody else anything.

Method: small tasks in this process and in others; some raise, some kill their process, one meets changed code.
"""

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest
from support.programs import until

from zonelab.analysis.observation import Observation
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.processes import Processes
from zonelab.studies.many_runs.run_all import run_all
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import FinishedTask, ManyRunsFailed, RunTask

HERE = Environment.here()
TASKS = [RunTask("odd" if seed % 2 else "even", seed, seed) for seed in range(1, 9)]


def squared(seed: int, *, bad: int | None = None, deadly: int | None = None) -> Observation:
    if seed == bad:
        raise ValueError(f"seed {seed} is bad")
    if seed == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return Observation(counts={"square": seed * seed}, violated=("square",))


def met(seed: int, *, folder: Path, others: int) -> Observation:
    """Wait until so many processes have begun such a task, and tell in which one this is."""
    (folder / str(os.getpid())).touch()
    until(lambda: len(list(folder.iterdir())) >= others)
    return Observation(counts={"process": os.getpid()})


def kept(path: Path, *, environment: Environment = HERE, experiment: str = "squares") -> RunState:
    return RunState(path, environment=environment, experiment=experiment)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_task_that_fails_names_its_setting_and_seed_and_ends_no_other(jobs: int) -> None:
    done = run_all(partial(squared, bad=5), TASKS, workers=Processes(jobs))
    assert done.complete
    assert done.failures == {("odd", 5): done.failures["odd", 5]}
    assert done.failures["odd", 5].startswith("ValueError: seed 5 is bad (test_run_all.py:")
    assert done.results == {task.key: squared(task.seed) for task in TASKS if task.seed != 5}


def test_a_process_that_dies_costs_its_task_only() -> None:
    done = run_all(partial(squared, deadly=2), TASKS, workers=Processes(2))
    assert done.failures == {("even", 2): "its process ended with signal SIGKILL"}
    assert len(done.results) == len(TASKS) - 1


@pytest.mark.parametrize(("jobs", "tasks", "processes"), [(2, 2, 2), (3, 2, 2), (2, 1, 0), (1, 2, 0)])
def test_two_tasks_go_to_two_processes_and_one_stays_here(jobs: int, tasks: int, processes: int, tmp_path: Path):
    meet = partial(met, folder=tmp_path, others=max(1, processes))
    done = run_all(meet, TASKS[:tasks], workers=Processes(jobs))
    assert not done.failures
    others = {one.counts["process"] for one in done.results.values()} - {os.getpid()}
    assert len(others) == processes


def test_what_was_kept_is_not_run_again_and_counts_once(tmp_path: Path) -> None:
    path, now = tmp_path / "state", list[FinishedTask[Observation]]()
    with kept(path) as state:
        run_all(squared, TASKS[:4], state=state)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[3], lines[4][:-5]]))  # the third task is there twice, the last was cut
    with kept(path) as state:
        done = run_all(squared, TASKS, state=state, on_finished=now.append)
    assert (done.known, done.done) == (3, len(TASKS))
    assert [finished.key[1] for finished in now] == [4, 5, 6, 7, 8]
    assert done.results == run_all(squared, TASKS).results
    with kept(path) as state:
        assert state.results == done.results


def test_failed_tasks_are_run_again(tmp_path: Path) -> None:
    with kept(tmp_path / "state") as state:
        run_all(partial(squared, bad=2), TASKS[:2], state=state)
    with kept(tmp_path / "state") as state:
        assert set(state.results) == {("odd", 1)}


def test_what_another_experiment_or_environment_has_kept_is_not_used(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "state", Environment(factories=(), parts={**HERE.parts, "numpy": "0.1"})
    for changes in ({"experiment": "cubes"}, {"environment": elsewhere}):
        with kept(path) as state:
            run_all(squared, TASKS[:1], state=state)
        with kept(path, **changes) as state:
            assert state.results == {}
    path.write_text('{"seed": 1, "valid": true}\n')  # as of older programs, which wrote no fingerprint
    with kept(path) as state:
        assert state.results == {}
    assert json.loads(path.read_text())["experiment"] == "squares"


def test_two_programs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with kept(path), pytest.raises(NotAccepted, match="in use by another zonelab process"):
        kept(path)


def test_a_worker_with_changed_code_is_refused_with_both_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "changing_queue.py"
    module.write_text("def make(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = Environment.here(factories=["changing_queue:make"])
    module.write_text("def make(): return None\n")
    after = Environment.here(factories=["changing_queue:make"])
    name = "sources of changing_queue:make"
    with pytest.raises(ManyRunsFailed) as refused:
        run_all(squared, TASKS, workers=Processes(2), environment=before)
    both = f"{name} is {after.parts[name]} there and {before.parts[name]} here"
    assert str(refused.value).endswith(f"another experiment: {both}")


def test_an_environment_is_all_that_calculates_and_each_part_of_it_counts() -> None:
    parts = ["zonelab", "sources", "python", "numpy", "scipy", "lupa", "libc", "architecture"]
    assert list(HERE.parts) == parts
    assert all(HERE.parts.values())
    mixed = Environment.here(factories=["none.such:make", None, "changing:make", "none.such:make"])
    assert mixed.factories == ("changing:make", "none.such:make")
    assert list(mixed.parts) == [*parts, "sources of changing:make", "sources of none.such:make"]
    names = {HERE.naming("x"), HERE.naming("y"), mixed.naming("x")}
    changed = [Environment(factories=(), parts={**HERE.parts, name: "other"}) for name in parts]
    assert len(names | {one.naming("x") for one in changed}) == 3 + len(parts)
    assert {len(name) for name in names} == {12}
    assert len(HERE.fingerprint) == 16
    assert HERE.difference(HERE.parts) is None
    there = {name: value for name, value in HERE.parts.items() if name != "lupa"} | {"numpy": "0.1"}
    told = f"numpy is 0.1 there and {HERE.parts['numpy']} here; lupa is missing there and {HERE.parts['lupa']} here"
    assert HERE.difference(there) == told
