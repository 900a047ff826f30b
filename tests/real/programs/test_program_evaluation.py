"""Goal: a rollout of programs is decided by runs on real servers, and what programs do not say is not judged.

Method: the command line with a small queue in Python that loses a job when its worker is killed over it, and a producer
that pushes as long as the load lasts, in two runs of each kind; the same command again makes no run.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from zonelab.app.cli.main import run_cli

pytestmark = pytest.mark.real

GUEST = f"{sys.executable} {Path(__file__).parents[2] / 'support' / 'guests' / 'buggy_queue.py'}"
KILL = {"kind": "program_kill", "program": "worker", "at": "LPOP waiting", "nonempty": True, "when": "applied"}


def test_a_queue_that_loses_on_a_kill_is_rejected_and_silence_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {
        "name": "own",
        "topology": {"zones": ["a"]},
        "load": {"duration_s": 12},
        "programs": {
            "producer": {"command": f"{GUEST} push {{url}} lost 100000", "ends": True},
            "worker": {"command": f"{GUEST} work {{url}} lost"},
        },
        "drain": {"bound_s": 60, "quiet_s": 5},
        "evaluate": {
            "objectives": ["losses == 0 with a kill", "p99(push) < 60s", "p99(lease) < 1s"],
            "faults": {"a kill": {"per_year": 6, "lasts_s": 8, "fault": KILL}},
        },
    }
    Path("own.yaml").write_text(yaml.safe_dump(given))

    def evaluated() -> tuple[int, dict[str, Any]]:
        code = run_cli(["evaluate", "own.yaml", "--on", "process", "--runs", "4", "--json"])
        return code, json.loads(capsys.readouterr().out)

    code, said = evaluated()
    assert (code, said["recommended"], said["not_judged"]) == (1, None, ["p99(lease) < 1s"])
    (setting,) = said["settings"]
    losses, pushes = setting["objectives"]
    assert (losses["status"], losses["runs"]) == ("not met", 2)
    assert losses["cases"] >= 2
    assert pushes["status"] != "not met"
    assert said["runs"] == {"no fault": 2, "a kill for 8 s": 2}
    made = sorted(Path("runs").rglob("run.json"))
    assert len(made) == 4
    again, _ = evaluated()
    assert (again, sorted(Path("runs").rglob("run.json"))) == (1, made)
