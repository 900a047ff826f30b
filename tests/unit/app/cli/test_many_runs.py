"""Goal: verbs over many runs have the same options, and the command that they print repeats them.

Method: the options as they are parsed; the command lines of all such verbs.
"""

from pathlib import Path
from typing import Any

import pytest
import typer

from zonelab.app.cli.app import app
from zonelab.app.cli.many_runs import RUNS, StudyOptions, words_of
from zonelab.studies.many_runs.where import HERE, Where

OVER_MANY_RUNS = ("hunt", "sweep", "limit", "matrix", "ablate", "evaluate")
COMMON = {"runs", "seed_from", "jobs", "master", "conf", "directory", "junit", "as_json"}


@pytest.mark.parametrize("verb", OVER_MANY_RUNS)
def test_every_verb_over_many_runs_has_their_options(verb: str) -> None:
    command: Any = typer.main.get_command(app)
    assert {one.name for one in command.commands[verb].params} >= COMMON


def told(**changes: Any) -> str:
    plain: dict[str, Any] = {"verb": "sweep", "seeds": range(1, 8), "where": HERE, "directory": RUNS}
    options = StudyOptions(**{**plain, **changes}, junit=None, as_json=False)
    return options.command("a b", *words_of("--vary", ["x=1", "y=2"]), *words_of("--set", None))


def test_a_printed_command_has_every_word_that_differs_from_the_default() -> None:
    own = "zonelab sweep 'a b' --vary x=1 --vary y=2"
    assert told() == f"{own} --runs 7 --jobs 1"
    on_spark = Where(master="local[2]", settings={"k": "v", "l": "w"})
    every = told(seeds=range(5, 9), where=on_spark, directory=Path("there"))
    assert every == f"{own} --runs 4 --seed-from 5 --master 'local[2]' --conf k=v --conf l=w --dir there"
    assert told(seeds=range(3, 3)) == f"{own} --seed-from 3 --jobs 1"
