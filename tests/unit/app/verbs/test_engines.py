"""Goal: ``zonelab engines SCENARIO`` runs it under every engine and mode that it goes with, and tells the result."""

import json

import pytest

from zonelab.app.cli.main import run_cli
from zonelab.app.verbs import engines as verb
from zonelab.scenarios.spec.engines import ENGINES

SHORT = ("load.duration_s=0.3", "load.rate_per_s=30", "topology.zones=[a]", "links.overrides={}", "level=DC_ONE")
STRIKE = "faults=[{kind: service_crash, zone: a, service: timers, at_s: 0.1, for_s: 0.1}]"


@pytest.fixture
def few(undrawn, monkeypatch, tmp_path):
    """Engines with two modes in all, and an empty folder to run them in."""
    monkeypatch.setattr(verb, "ENGINES", {name: ENGINES[name] for name in ("zset", "youzan")})
    monkeypatch.chdir(tmp_path)


def engines(*words, changes=SHORT):
    overrides = [part for change in changes for part in ("--set", change)]
    return run_cli(["engines", "steady", "--on", "sim", *overrides, *words])


@pytest.mark.usefixtures("few")
def test_one_scenario_is_run_under_every_engine_in_each_of_its_modes(capsys):
    assert engines("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(run["engine"], run["mode"]) for run in told["runs"]] == [
        ("zset", "default"),
        ("youzan", "default"),
        ("youzan", "compat"),
    ]
    verdicts = [run["run"]["verdict"]["sections"]["queue"] for run in told["runs"]]
    (pushed,) = {verdict["totals"]["pushed"] for verdict in verdicts}
    assert pushed > 1
    assert ["abandoned" in verdict["not_judged"] for verdict in verdicts] == [True, False, False]
    assert "queue.compat=true" in told["runs"][2]["run"]["command"]


@pytest.mark.usefixtures("few")
def test_an_engine_that_the_scenario_does_not_go_with_is_left_out_and_told_why(capsys):
    assert engines(changes=(*SHORT, STRIKE)) == 0
    printed = capsys.readouterr().out
    assert "left out: zset, default: " in printed
    assert "youzan, compat: " in printed


@pytest.mark.usefixtures("few")
def test_a_scenario_without_a_queue_is_refused(capsys):
    assert run_cli(["engines", "registers", "--on", "sim"]) == 64
    assert "registers: has a workload (register) and no queue" in capsys.readouterr().err


@pytest.mark.usefixtures("few")
def test_the_command_to_repeat_it_is_shown_with_its_brackets(capsys):
    assert engines() == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Repeat with: ")]
    assert "'topology.zones=[a]'" in line
