"""Goal: ``zonelab evaluate --confirm`` finds a model that is wrong, on real zones. Method: a planted service time.

Servers of the simulation take 40 ms a command, real ones microseconds, and a busy machine makes nothing quicker.
Six runs, so that the interval stays below the prediction even where the machine held up one or two of them.
"""

import json
from pathlib import Path

import pytest
import yaml
from support.app.commands import zonelab_here
from support.scenarios.short_runs import SHORT

pytestmark = pytest.mark.real

ROLLOUT = {
    **SHORT,
    "level": "DC_ONE",
    "load": {"duration_s": 0.5, "rate_per_s": 5},
    "consumers": {"per_zone": 1, "wait_ms": 100, "processing": "0"},
    "simulation": {"service": "constant:40ms"},
    "evaluate": {"objectives": ["losses == 0"]},
}


def test_a_planted_service_time_is_not_confirmed(tmp_path: Path):
    (tmp_path / "rollout.yaml").write_text(yaml.safe_dump(ROLLOUT))
    words = (
        "evaluate",
        "rollout.yaml",
        "--runs",
        "4",
        "--confirm",
        "process",
        "--confirm-runs",
        "6",
        "--junit",
        "told.xml",
    )
    done = zonelab_here(*words, cwd=tmp_path)
    (folder,) = tmp_path.glob("runs/short/evaluate-*")
    told = json.loads((folder / "evaluate.json").read_text())
    assert (done.returncode, told["exit_code"], told["recommended"]) == (2, 2, "as it is"), done.stderr
    (row,) = told["confirmation"]["rows"]
    assert row["status"] == "not confirmed"
    push = row["medians"][0]
    assert push["operation"] == "push"
    assert push["predicted_ms"]["value"] > 75, "two commands, one after the other"
    assert all(Path(tmp_path, run, "verdict.json").exists() for run in row["runs"])
    assert "not confirmed" in (folder / "report.html").read_text()
    assert "not confirmed" in done.stdout
    assert '<failure message="not confirmed: push' in (tmp_path / "told.xml").read_text()


def test_the_work_of_this_machine_is_measured_or_said_to_be_that_of_a_busy_one(tmp_path: Path):
    """A real machine always needs some; how much depends on it, so no figure is asked for."""
    faults = [{"kind": "kill", "zone": "a", "at_s": 0.1, "for_s": 0.1}]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({**SHORT, "level": "DC_QUORUM", "faults": faults, "seed": 5}))
    done = zonelab_here("measure-service", "mine.yaml", "--runs", "3", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    runs = [json.loads(Path(tmp_path, run, "run.json").read_text()) for run in told["runs"]]
    assert [run["seed"] for run in runs] == [5, 6, 7]
    assert {(run["arm"], run["status"]) for run in runs} == {("real", "complete")}
    if done.returncode == 0:
        assert told["work_ms"] > 0
        assert [pair["operation"] for pair in told["with"]] == ["push", "lease", "ack"]
    else:
        assert (done.returncode, told["work_ms"]) == (2, None), done.stderr
        assert len(told["busy"]) >= 2
