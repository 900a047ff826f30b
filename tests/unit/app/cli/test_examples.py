"""Goal: the help of every verb and group of verbs ends with examples that the command line accepts.

Method: parse each as the program does, without doing it; run those that only look at a run; and give the same parser an
example with a mistake.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from support.app.commands import zonelab_here
from support.app.every_verb import VERBS
from support.scenarios.short_runs import scenario_file

from zonelab.app.cli.app import app
from zonelab.app.cli.examples import EXAMPLES
from zonelab.app.cli.main import run_cli

GROUPS = ("", "fault", "gmq", "known")
LOOKS = ("check", "report", "lens", "diff", "export", "partitions", "plot", "compare", "index")


def parsed(words: list[str]) -> str:
    """Return the verb that ``words`` name; whatever is wrong with its options or arguments is raised."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("zonelab", list(words))
    path = []
    while (rest := [*context._protected_args, *context.args]) and hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        path.append(name)
        context = command.make_context(name, list(rest), parent=context)
    return " ".join(path)


def test_every_verb_and_group_has_two_examples():
    assert {name: len(found) for name, found in EXAMPLES.items()} == dict.fromkeys((*GROUPS, *VERBS), 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_accepted_and_the_help_shows_them_whole_at_80_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert run_cli([*name.split(), "--help"]) == 0
    told = capsys.readouterr().out
    for example in EXAMPLES[name]:
        assert f"  zonelab {example}\n" in told
        assert parsed(shlex.split(example)).startswith(name)
    assert max(map(len, told.splitlines())) <= 100


def test_an_example_with_a_mistake_is_noticed():
    with pytest.raises(Exception, match="No such option"):
        parsed(["lens", "runs/zone-crash/latest", "b-000134", "--opne"])


def test_examples_that_look_at_runs_work_where_there_are_such_runs(tmp_path: Path):
    scenario_file(tmp_path, load={"duration_s": 0.3})
    assert zonelab_here("run", "short.yaml", "--on", "sim", cwd=tmp_path).returncode == 0
    done = tmp_path / "runs/short/latest"
    for name in ("zone-crash/latest", "zone-crash/one", "zone-crash/two", "steady/one", "steady/two"):
        place = tmp_path / "runs" / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(done.resolve())
    for verb in LOOKS:
        for example in EXAMPLES[verb]:
            words = shlex.split(example.replace("b-000134", "b-000001"))
            if not any(word in example for word in ("registers", "order-states", "--nearest", "--open")):
                told = zonelab_here(*words, cwd=tmp_path)
                assert told.returncode == 0, (example, told.stderr)
