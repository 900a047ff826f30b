"""Goal: every verb prints what it has where only ASCII can be printed. Method: the command line as a process."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.scenarios.commands import zonelab_here
from support.scenarios.short_runs import zonelab_command

from scenarios.cli.app import app

VERBS = [*(command.callback.__name__ for command in app.registered_commands), "fault"]


def printed(directory: Path, *words: str) -> str:
    done = subprocess.run(
        zonelab_command(*words),
        cwd=directory,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ascii")
    zonelab_here("run", "zone-crash", "--on", "sim", "--set", "load.duration_s=12", cwd=directory)
    return directory / "runs" / "zone-crash" / "latest"


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, tmp_path: Path):
    assert "Usage: zonelab" in printed(tmp_path, verb, "--help")


@pytest.mark.parametrize("words", ["scenarios", "engines", "hunt zone-crash --runs 2 --messages 5"])
def test_tables(words: str, tmp_path: Path):
    assert printed(tmp_path, *words.split()).isascii()


@pytest.mark.parametrize("verb", [["check"], ["report"], ["compare", "RUN"]])
def test_tables_of_a_run(verb: list[str], run: Path):
    words = [str(run) if word == "RUN" else word for word in [*verb, "RUN"]]
    assert printed(run, *words).isascii()


def test_json_is_json_still(run: Path):
    assert json.loads(printed(run, "compare", str(run), str(run), "--json"))["metrics"]
