"""Goal: ``zonelab engines SCENARIO`` runs it under every engine and mode that it goes with, and shows the results.

Method: two short engines in simulation. A run made again, lost, interrupted or failed is seen by counting ``perform``.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from zonelab.app.cli.main import run_cli
from zonelab.app.verbs import engines as verb
from zonelab.app.verbs import run
from zonelab.scenarios.run_files.record import RunRecord
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
    assert [(run["engine"], run["mode"]) for run in told["rows"]] == [
        ("zset", "default"),
        ("youzan", "default"),
        ("youzan", "compat"),
    ]
    verdicts = [run["run"]["verdict"]["sections"]["queue"] for run in told["rows"]]
    (pushed,) = {verdict["totals"]["pushed"] for verdict in verdicts}
    assert pushed > 1
    assert ["abandoned" in verdict["not_judged"] for verdict in verdicts] == [True, False, False]
    assert "queue.compat=true" in told["rows"][2]["run"]["command"]


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
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Repeat or continue with: ")]
    assert "'topology.zones=[a]'" in line


@pytest.fixture
def made(monkeypatch):
    """The engine and mode of each run that is made."""
    names = []

    def perform(scenario, **how):
        names.append((scenario.queue.engine, scenario.queue.compat))
        return run.perform(scenario, **how)

    monkeypatch.setattr(verb, "perform", perform)
    return names


ALL = [("zset", False), ("youzan", False), ("youzan", True)]


@pytest.mark.usefixtures("few")
def test_the_same_command_makes_no_run_again_and_shows_the_same(capsys, made):
    shown = []
    for again in range(2):
        assert engines("--json", "--junit", f"{again}.xml") == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert made == ALL
    first, second = shown
    assert (first["runs"], first["known"], second["known"]) == (3, 0, 3)
    assert {**first, "known": 3, "took_s": second["took_s"]} == second
    assert json.loads((Path(first["directory"]) / "engines.json").read_text()) == second
    assert all((Path(row["run"]["run"]) / "history").is_dir() for row in first["rows"])
    suites = [ElementTree.parse(f"{again}.xml").getroot().iter("testcase") for again in range(2)]
    first_cases, second_cases = ([(one.attrib["name"], [how.tag for how in one]) for one in suite] for suite in suites)
    assert ("lost", []) in first_cases
    assert first_cases == second_cases
    assert engines() == 0
    assert "3 runs were reused from an earlier invocation." in capsys.readouterr().out


@pytest.mark.usefixtures("few")
def test_what_ctrl_c_left_is_shown_and_the_rest_is_made_by_the_same_command(capsys, made, monkeypatch):
    whole = verb.perform

    def interrupted(scenario, **how):
        done = whole(scenario, **how)
        return replace(done, record=RunRecord(status="interrupted")) if scenario.queue.compat else done

    monkeypatch.setattr(verb, "perform", interrupted)
    assert engines("--json") == 2
    told = json.loads(capsys.readouterr().out)
    assert ([row["engine"] for row in told["rows"]], told["complete"]) == (["zset", "youzan"], False)
    monkeypatch.setattr(verb, "perform", whole)
    assert engines("--json") == 0
    assert [row["mode"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["default", "default", "compat"]
    assert made == [*ALL, ALL[2]]


@pytest.mark.usefixtures("few")
def test_a_run_whose_directory_is_gone_is_made_again(capsys, made):
    assert engines("--json") == 0
    lost = json.loads(capsys.readouterr().out)["rows"][1]["run"]["run"]
    shutil.rmtree(lost)
    assert engines("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["known"], made) == (2, [*ALL, ALL[1]])


@pytest.mark.usefixtures("few")
def test_a_run_in_which_the_lab_failed_is_named_and_the_others_are_shown(capsys, made, monkeypatch):
    whole = verb.perform

    def failed(scenario, **how):
        done = whole(scenario, **how)
        return replace(done, record=RunRecord(status="failed", error="no room"), result=None) if made[1:] else done

    monkeypatch.setattr(verb, "perform", failed)
    assert engines("--junit", "out.xml") == 3
    told = capsys.readouterr()
    assert told.err.splitlines()[-1].startswith("zonelab: youzan compat, seed 1: no room; see runs/steady/")
    assert "zset   │ default │ valid" in told.out
    assert "no verdict: youzan default, seed 1: no room" in told.out
    cases = ElementTree.parse("out.xml").getroot().iter("testcase")
    assert [one.attrib["name"] for one in cases if one.find("error") is not None] == [
        "youzan compat, seed 1",
        "youzan default, seed 1",
    ]


def test_real_servers_are_run_one_after_another(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["engines", "steady", "--on", "process", "--jobs", "2"]) == 64
    assert "--jobs and --master need --on sim" in capsys.readouterr().err
