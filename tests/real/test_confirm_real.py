"""Goal: ``zonelab evaluate --confirm`` finds a model that is wrong, on real zones. Method: a planted service time.

Servers of the simulation take 40 ms a command, real ones microseconds, and a busy machine makes nothing quicker.
Six runs, so that the interval stays below the prediction even where the machine held up one or two of them.
"""

import json
from pathlib import Path

import pytest
import yaml
from support.scenarios.commands import zonelab_here
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
