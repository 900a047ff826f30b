"""Goal: packages import only what the house allows. Method: import-linter's contracts, here and on a bad tree."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.project_files import FOLDERS

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
ROOMS = "rooms: each imports those below it only"
NO_CIRCLES = "no circles between siblings"
BOTH_ARMS = next(contract for contract in CONTRACTS if "both arms" in contract["name"])


def lint_imports(root):
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_is_kept():
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken" in linted.stdout


def test_what_belongs_to_neither_arm_is_all_under_contract():
    layers = next(contract for contract in CONTRACTS if contract["name"] == "layers of cluster")["layers"]
    arms = next(index for index, layer in enumerate(layers) if "real" in layer.split(" | "))
    below = {f"zonelab.cluster.{module}" for layer in layers[arms + 1 :] for module in layer.split(" | ")}
    assert set(BOTH_ARMS["source_modules"]) == {"zonelab.engine", *below}


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("engine/message.py", "import zonelab.cluster.votes.levels", ROOMS),
        ("cluster/votes/levels.py", "import zonelab.scenarios.spec.scenario", ROOMS),
        ("analysis/statistics.py", "import zonelab.engine.ports", "analysis imports none of the others"),
        ("analysis/statistics.py", "import zonelab.cluster.zone", ROOMS),
        ("scenarios/run/trial.py", "import zonelab.studies.hunt.seeds", ROOMS),
        ("studies/hunt/seeds.py", "import zonelab.app.terminal.junit", ROOMS),
        ("engine/message.py", "import zonelab.queues", ROOMS),
        ("cluster/resp/client.py", "import zonelab.cluster.resp.commands.dispatch", NO_CIRCLES),
        ("engine/fifo/log/record.py", "def f():\n    import zonelab.engine.fifo.topics.route", NO_CIRCLES),
        ("cluster/links/link.py", "import zonelab.cluster.real.timers", BOTH_ARMS["name"]),
        ("cluster/connections/peer.py", "import asyncio", BOTH_ARMS["name"]),
        ("engine/message.py", "import time", BOTH_ARMS["name"]),
        ("engine/message.py", "import zonelab.engine.common.mutex", "layers of engine"),
        ("engine/common/mutex.py", "import zonelab.engine.dyno", "what engines share knows no engine"),
        ("engine/dyno/v1/pop.py", "import zonelab.engine.dyno.v2.pop", "layers of engine.dyno"),
        ("cluster/links/link.py", "import zonelab.cluster.votes.vote", "layers of cluster"),
        ("scenarios/spec/reading.py", "import zonelab.scenarios.run.trial", "layers of scenarios"),
        ("studies/sweep/sweep.py", "import zonelab.studies.limit.limits", "layers of studies"),
        ("app/monitor/feed.py", "import zonelab.app.session.supervisor", "layers of app"),
        ("analysis/runs/history.py", "import zonelab.analysis.checkers.verdict", "layers of analysis"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path, module, line, broken):
    for folder in (*FOLDERS, "zonelab"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a") as file:
        file.write(f"\n{line}\n")
    linted = lint_imports(tmp_path)
    assert linted.returncode != 0
    assert f"{broken} BROKEN" in linted.stdout
