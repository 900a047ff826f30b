"""Goal: every verb prints what it has where only ASCII can be printed. Method: the command line as a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.programs import HANGS_S
from typer.main import get_command

from zonelab.app.cli.app import app

VERBS = list(get_command(app).commands)


# Several command lines, one after another: a process spends most of its time on imports.
_PROGRAM = """
import json, sys
from zonelab.app.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        print(json.dumps(ended.code), end="\\0")
"""


def printed(directory: Path, *lines: list[str]) -> list[str]:
    """What each command line printed, in a process that can print ASCII alone."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(lines)],
        cwd=directory,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    assert "Traceback" not in done.stderr
    told = [one.rpartition("\n") for one in done.stdout.split("\0")[:-1]]
    assert [code for *_, code in told if code not in ("0", "1")] == [], done.stderr
    assert len(told) == len(lines)
    return [text for text, *_ in told]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ascii")
    zonelab_here("run", "zone-crash", "--on", "sim", "--set", "load.duration_s=6", cwd=directory)
    return directory / "runs" / "zone-crash" / "latest"


def test_help(tmp_path: Path):
    told = dict(zip(VERBS, printed(tmp_path, *([verb, "--help"] for verb in VERBS)), strict=True))
    assert [verb for verb, text in told.items() if "Usage: zonelab" not in text] == []


def test_tables(tmp_path: Path):
    lines = ("scenarios", "engines", "hunt zone-crash --runs 2 --messages 5")
    told = dict(zip(lines, printed(tmp_path, *(line.split() for line in lines)), strict=True))
    assert [line for line, text in told.items() if not text.strip() or not text.isascii()] == []
    assert [line for line, text in told.items() if "\\u" in text] == []


def test_tables_of_a_run_and_json_is_json_still(run: Path):
    lines = [["check", str(run)], ["report", str(run)], ["compare", str(run), str(run)]]
    *tables, told = printed(run, *lines, [*lines[-1], "--json"])
    assert [words[0] for words, text in zip(lines, tables, strict=True) if not text.strip() or not text.isascii()] == []
    assert json.loads(told)["metrics"]
