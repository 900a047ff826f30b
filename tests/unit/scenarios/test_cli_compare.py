"""Goal: ``zonelab compare`` shows two runs side by side. Method: compare two short runs in simulation, as a program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ZONELAB = Path(sys.executable).with_name("zonelab")


def zonelab(*words):
    wide = {**os.environ, "COLUMNS": "160"}
    return subprocess.run([ZONELAB, *words], capture_output=True, text=True, timeout=120, check=False, env=wide)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    directories = []
    for seed in ("1", "2"):
        ran = zonelab("run", "steady", "--arm", "sim", "--seed", seed, "--json", "--runs", folder)
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


def test_what_is_no_run_is_refused_in_one_line(runs):
    ran = zonelab("compare", runs[0], "nowhere")
    assert (ran.returncode, ran.stdout) == (64, "")
    assert ran.stderr == "zonelab: nowhere: no such run directory\n"
