"""Goal: what holds for the command line holds for every verb, also for one that comes later.

Method: the verbs as the command line lists them; Ctrl-C comes at the first module that a verb itself imports.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.scenarios.commands import zonelab_here
from support.scenarios.every_verb import ELSEWHERE, SLOW_TO_LOAD, VERBS, WORDS, line
from support.scenarios.interrupting import interrupted
from support.scenarios.short_runs import scenario_file

from scenarios.cli.main import run_cli

_HELP_OF_EVERY_VERB = """
import contextlib, io, sys
from scenarios.cli.main import run_cli
for verb in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run_cli([*verb.split(), "--help"]) == 0
    assert f"zonelab {verb} " in " ".join(out.getvalue().split()), verb
    print(verb, *{name.partition(".")[0] for name in sys.modules}, sep=",")
"""


def test_every_verb_has_words_to_be_tried_with():
    assert sorted(WORDS) == sorted(VERBS)


def test_the_help_of_no_verb_loads_anything_slow():
    done = subprocess.run(
        [sys.executable, "-c", _HELP_OF_EVERY_VERB, *VERBS], capture_output=True, text=True, check=True
    )
    rows = [row.split(",") for row in done.stdout.splitlines()]
    assert [verb for verb, *_ in rows] == list(VERBS)
    assert {verb: slow for verb, *loaded in rows if (slow := SLOW_TO_LOAD.intersection(loaded))} == {}


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
