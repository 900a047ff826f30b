"""Goal: ``zonelab compare`` shows two runs side by side. Method: compare two short simulated runs by its command."""

import json
from pathlib import Path

import pytest
from support.app.commands import zonelab_here


def zonelab(*words):
    return zonelab_here(*map(str, words), cwd=Path.cwd(), columns=160)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    directories = []
    for seed in ("1", "2"):
        ran = zonelab(
            "run", "steady", "--on", "sim", "--seed", seed, "--json", "--dir", folder, "--set", "load.duration_s=5"
        )
        directories.append(json.loads(ran.stdout)["run"])
    return directories


def test_two_runs_of_one_scenario_are_shown_with_their_medians_and_intervals(runs):
    ran = zonelab("compare", *runs)
    assert ran.returncode == 0
    assert "push p50, ms" in ran.stdout
    assert "all medians" in ran.stdout


def test_the_comparison_as_json_holds_every_metric(runs):
    told = json.loads(zonelab("compare", *runs, "--json").stdout)
    assert {metric["metric"] for metric in told["metrics"]} == {"push", "pop", "lease_step", "ack", "lateness"}
    wide, narrow = (json.loads(zonelab("compare", *runs, "--json", "--within", text).stdout) for text in ("9", "0.001"))
    assert [one["agree"]["within"] for one in (told, wide, narrow)] == [0.15, 9, 0.001]
    assert (wide["agree"]["overall"], narrow["agree"]["overall"] != "yes") == ("yes", True)


def test_a_run_is_checked_and_reported_again_from_its_directory(runs):
    checked = zonelab("check", runs[0])
    assert (checked.returncode, "messages delivered" in checked.stdout) == (0, True)
    page, *plots = zonelab("report", runs[0]).stdout.split()
    assert Path(page).name == "report.html"
    assert plots


def test_what_is_no_run_is_refused_in_one_line(runs):
    ran = zonelab("compare", runs[0], "nowhere")
    assert (ran.returncode, ran.stdout) == (64, "")
    assert ran.stderr == "zonelab: nowhere: no such run directory\n"
