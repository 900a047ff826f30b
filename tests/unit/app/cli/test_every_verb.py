"""Goal: what holds for the command line holds for every verb, also for one that comes later.

Method: the verbs as the command line lists them; Ctrl-C comes at the first module that a verb itself imports; streams
are closed before a process begins.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.app.every_verb import ELSEWHERE, SLOW_TO_LOAD, VERBS, WORDS, line
from support.app.interrupting import interrupted
from support.programs import HANGS_S
from support.scenarios.short_runs import scenario_file, zonelab_command

from zonelab.app.cli.main import run_cli

_HELP_OF_EVERY_VERB = """
import contextlib, io, sys
from zonelab.app.cli.main import run_cli
for verb in ["", *sys.argv[1:]]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run_cli([*verb.split(), "--help"]) == 0
    assert f"zonelab {verb}".strip() + " " in " ".join(out.getvalue().split()), verb
    print(verb, *{name.partition(".")[0] for name in sys.modules}, sep=",")
"""


def test_every_verb_has_words_to_be_tried_with():
    assert sorted(WORDS) == sorted(VERBS)


def test_the_help_of_no_verb_loads_anything_slow():
    done = subprocess.run(
        [sys.executable, "-c", _HELP_OF_EVERY_VERB, *VERBS], capture_output=True, text=True, check=True
    )
    rows = [row.split(",") for row in done.stdout.splitlines()]
    assert [verb for verb, *_ in rows] == ["", *VERBS]
    assert {verb: slow for verb, *loaded in rows if (slow := SLOW_TO_LOAD.intersection(loaded))} == {}
    assert "pydantic" not in rows[0]  # which typer loads for the help of a verb alone


@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_ends_any_verb_with_2_and_one_line(verb: str, tmp_path: Path):
    assert interrupted(tmp_path, *line(verb), at="the verb") == (2, "zonelab: interrupted\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a user who has made one short run."""
    made = tmp_path_factory.mktemp("user")
    scenario_file(made, load={"duration_s": 0.5})
    done = zonelab_here("run", "short.yaml", "--on", "sim", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ELSEWHERE])
def test_a_closed_pipe_ends_any_verb_with_141(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    reader, writer = os.pipe()
    os.close(reader)
    closed = open(writer, "w", closefd=False)  # noqa: SIM115 (what it still holds cannot be written when it is closed)
    with contextlib.chdir(folder), contextlib.redirect_stdout(closed):
        assert run_cli(line(verb)) == 141
    os.close(writer)
    assert "Traceback" not in capsys.readouterr().err


def _close(*streams: int) -> None:
    for stream in streams:
        os.close(stream)


@pytest.mark.parametrize("verb", VERBS)
def test_any_verb_with_its_three_streams_closed_ends_as_with_dev_null(verb: str, folder: Path, tmp_path: Path):
    """Verbs that take their time are asked for what they refuse, after the same start."""
    quick = ("scenarios", "run", "check", "index", "down")
    words, code = (line(verb), 0) if verb in quick else ([*verb.split(), "--no-such"], 64)
    here = shutil.copytree(folder, tmp_path / "user", symlinks=True, ignore=shutil.ignore_patterns("rollout.yaml"))
    assert with_closed(0, 1, 2, words=words, cwd=here).returncode == code


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_no_file_takes_the_place_of_a_closed_stream(stream: int, folder: Path):
    done = with_closed(stream, words=["index"], cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (stream != 1)
    assert "runs" in json.loads((folder / "runs" / "index.json").read_text())


def with_closed(*streams: int, words: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    """What the command line comes to in a process that begins without these streams."""
    return subprocess.run(
        zonelab_command(*words),
        cwd=cwd,
        env={**os.environ, "ZONELAB_STATE": str(cwd)},
        preexec_fn=lambda: [os.close(stream) for stream in streams],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
