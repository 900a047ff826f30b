"""Goal: packages import only what the house allows. Method: import-linter's contracts, here and on a bad tree."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "cluster", "scenarios", "analysis")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
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
    modules = {f"cluster.{path.stem}" for path in (ROOT / "cluster").glob("*.py")} - {"cluster.__init__"}
    packages = {"cluster.real", "cluster.sim"}
    listed = set(BOTH_ARMS["source_modules"])
    assert "engine" in listed
    assert modules - listed == set(), "list them in pyproject.toml"
    assert not packages & listed


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("engine/message.py", "import cluster.votes.vote", "engine imports none of the others"),
        ("cluster/levels.py", "import scenarios.spec.scenario", "cluster imports only engine"),
        ("analysis/stats.py", "import engine.ports", "analysis imports none of the others"),
        ("cluster/link.py", "import cluster.real.timers", BOTH_ARMS["name"]),
        ("cluster/peer.py", "import asyncio", BOTH_ARMS["name"]),
        ("engine/message.py", "import time", BOTH_ARMS["name"]),
    ],
)
def test_a_forbidden_import_is_found(tmp_path, module, line, broken):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a") as file:
        file.write(f"\n{line}\n")
    linted = lint_imports(tmp_path)
    assert linted.returncode != 0
    assert f"{broken} BROKEN" in linted.stdout
