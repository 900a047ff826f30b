"""Goal: a counterexample from simulation runs on real servers with the same operations and faults.

Method: one found in simulation is replayed through the command line; what the servers saw is compared with the file.
"""

import json
from pathlib import Path

import pytest
from support.scenarios.short_runs import scenario_file, table_rows, zonelab
from support.scenarios.sim_runs import SMALL

from zonelab.scenarios.spec.reading import load_scenario

pytestmark = pytest.mark.real

WIPE = {"kind": "wipe", "zone": "b", "at_s": 0.4, "for_s": 0.4}


def test_a_counterexample_replays_its_operations_and_faults_on_real_servers(tmp_path: Path) -> None:
    changes = {"name": "short", "arm": "real", "faults": [WIPE], "drain": {"bound_s": 8}, "level": "DC_ONE"}
    file = scenario_file(tmp_path, **{**SMALL, **changes})
    hunted = json.loads(zonelab("hunt", str(file), "--runs", "8", "--messages", "60", "--json", cwd=tmp_path).stdout)
    path = hunted["groups"]["stuck"]["counterexample"]
    scenario = load_scenario(str(tmp_path / path))
    replay = zonelab("replay", path, "--on", "process", "--json", cwd=tmp_path)
    told = json.loads(replay.stdout)
    assert told["status"] == "complete", replay.stderr
    assert told["same"] is None
    directory = tmp_path / told["run"]
    assert json.loads((directory / "run.json").read_text())["arm"] == "real"
    faults = table_rows(directory, "faults")
    assert [fault["kind"] for fault in faults] == [
        fault.kind for fault in sorted(scenario.faults, key=lambda f: f.at_s)
    ]
    rows = table_rows(directory, "operations")
    pushed = {row["message_id"]: row for row in rows if (row["f"], row["type"]) == ("push", "invoke")}
    assert set(pushed) == {operation.id for operation in scenario.load.operations}
    begin_ns = json.loads((directory / "run.json").read_text())["phases"]["load"][0]
    intended_ms = {name: (row["intended_ns"] - begin_ns) / 1e6 for name, row in pushed.items()}
    assert intended_ms == pytest.approx({one.id: one.at_ms for one in scenario.load.operations})
