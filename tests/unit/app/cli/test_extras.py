"""Goal: a verb that needs an extra which is not installed says which in one line and exits 64, before it does anything.

Method: every verb with an option for it, as the command line lists them, while Python is told that the packages are
missing.
"""

import sys
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path

import pytest
import typer
from support.app.every_verb import VERBS, line

from zonelab.app.cli.app import app
from zonelab.app.cli.main import run_cli
from zonelab.app.verbs.analyze import spark_step
from zonelab.cluster.real.zones import zones
from zonelab.cluster.zone import ZoneError

ABSENT = ("docker", "pyspark", "py4j", "requests")


def options_of(verb: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The options of a verb, each with its choices."""
    command = typer.main.get_command(app)
    for word in verb.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    for one in command.params:
        kind = one.type_descriptor.annotation
        yield one.opts[0], tuple(map(str, kind)) if isinstance(kind, EnumType) else ()


IN_CONTAINERS = [
    (verb, f"{option} docker") for verb in VERBS for option, choices in options_of(verb) if "docker" in choices
]
ON_SPARK = [verb for verb in VERBS if verb != "analyze" and "--master" in dict(options_of(verb))]


@pytest.fixture(autouse=True)
def without_extras(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ABSENT or name.startswith(
            ("zonelab.analysis.spark", "zonelab.cluster.real.zones.docker")
        ):
            monkeypatch.delitem(sys.modules, name)
    for name in ABSENT:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("ZONELAB_STATE", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_the_verbs_that_need_one_are_found():
    assert {verb for verb, _ in IN_CONTAINERS} == {
        *("demo", "engines", "run", "replay", "evaluate", "measure-service", "try", "up")
    }
    assert {"hunt", "sweep", "matrix", "ablate", "limit", "evaluate"} <= set(ON_SPARK)


@pytest.mark.parametrize(("verb", "option"), IN_CONTAINERS)
def test_containers_need_the_docker_sdk(
    verb: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli([*line(verb), *option.split()]) == 64
    told = f"zonelab: {option} needs the extra docker: pip install 'zonelab[docker]'\n"
    assert (capsys.readouterr().err, list(tmp_path.iterdir())) == (told, [])


@pytest.mark.parametrize("verb", ON_SPARK)
def test_a_master_needs_spark(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli([*line(verb), "--master", "local[2]"]) == 64
    told = "zonelab: --master needs the extra spark: pip install 'zonelab[spark]'\n"
    assert (capsys.readouterr().err, list(tmp_path.iterdir())) == (told, [])


@pytest.mark.parametrize(("verb", "extra"), [("image", "docker"), ("analyze", "spark")])
def test_verbs_that_are_nothing_without_one(verb: str, extra: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(line(verb)) == 64
    told = f"zonelab: zonelab {verb} needs the extra {extra}: pip install 'zonelab[{extra}]'\n"
    assert capsys.readouterr().err == told


def test_the_failure_of_a_state_machine_needs_hypothesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "failure.yaml").write_text("choices: []\n")
    with monkeypatch.context() as hidden:  # a plugin of pytest's uses it, too
        hidden.setitem(sys.modules, "hypothesis", None)
        assert run_cli(["replay", "failure.yaml"]) == 64
    told = "failure.yaml: the failure of a state machine needs the extra testing: pip install 'zonelab[testing]'\n"
    assert capsys.readouterr().err == f"zonelab: {told}"


def test_the_demo_leaves_out_what_needs_spark() -> None:
    assert spark_step([]).words == (
        "Spark aggregation left out: it needs the extra spark: pip install 'zonelab[spark]'"
    )


def test_zones_in_a_program_of_ones_own_say_the_same() -> None:
    with pytest.raises(ZoneError, match=r"container zones need the Docker SDK: pip install 'zonelab\[docker\]'"):
        zones("docker", ["a"])
