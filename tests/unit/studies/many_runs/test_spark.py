"""Goal: runs on Spark show what runs here show, and a worker that would make another experiment is refused.

Method: Spark on this machine; tasks of a module of the user's own that workers find nowhere, so it must be brought to
them; one of the tasks raises, and one kills its worker.
"""

import importlib
import os
import sys
from pathlib import Path

import pytest

from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import run_all
from zonelab.studies.many_runs.spark import SparkWorkers
from zonelab.studies.many_runs.task import ManyRunsFailed, RunTask

pytestmark = pytest.mark.java

TASKS = [RunTask("odd" if seed % 2 else "even", seed, seed) for seed in range(1, 21)]
OWN = """
import os, signal

def squared(seed):
    if seed == 5:
        raise ValueError(f"seed {seed} is bad")
    if seed == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": seed * seed}
"""


def test_tasks_on_spark_finish_as_here_and_a_bad_or_deadly_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks_of_a_user.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    squared = importlib.import_module("tasks_of_a_user").squared
    elsewhere = [folder for folder in sys.path if folder != str(tmp_path)]  # as on another machine
    monkeypatch.setattr(sys, "path", elsewhere)
    own = Environment.here(factories=["tasks_of_a_user:squared"])
    done = run_all(squared, TASKS, workers=SparkWorkers(master="local[2]"), environment=own)
    assert done.complete
    assert set(done.failures) == {("odd", 5), ("even", 8)}
    assert done.failures["odd", 5].startswith("ValueError: seed 5 is bad (tasks_of_a_user.py:")
    assert "\n" not in done.failures["even", 8]
    assert done.results == {task.key: squared(task.seed) for task in TASKS if task.seed not in (5, 8)}


def test_a_worker_with_changed_code_is_refused_with_both_values() -> None:
    here = Environment.here()
    before = Environment(factories=(), parts={**here.parts, "sources": "0" * 16})
    with pytest.raises(ManyRunsFailed) as refused:
        run_all(abs, [RunTask("x", 1, 1)], workers=SparkWorkers(master="local[2]"), environment=before)
    both = f"sources is {here.parts['sources']} there and {'0' * 16} here"
    assert str(refused.value).endswith(f"would make another experiment: {both}")


def test_a_worker_without_zonelab_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(ManyRunsFailed, match="has no zonelab, or another version of it: No module named 'zonelab"):
        run_all(abs, [RunTask("x", 1, 1)], workers=SparkWorkers(master="local[2]"))
    assert os.environ["PYSPARK_PYTHON"] == str(bare)
