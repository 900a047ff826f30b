"""Goal: a scenario with recorded lags can be run from anywhere, and so can the files that runs and hunts write of it.

Method: write one beside its trace, run and hunt it from another directory, take the result elsewhere and run that.
"""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from support.scenarios.sim_runs import SMALL

from zonelab.app.cli.main import run_cli
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.spec.reading import load_scenario, write_scenario

KILL = {"kind": "kill", "zone": "c", "at_s": 0.1, "for_s": 0.1}


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """A scenario that names a trace beside it, twice; the tests run elsewhere."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "my lags.csv").write_text("lag_ms\n1\n2\n3\n")
    lag = {"kind": "lag", "zone": "b", "at_s": 0.3, "for_s": 0.1, "lag": "0.5*trace:my lags.csv + 0.5*constant:2ms"}
    document = {**SMALL, "name": "traced", "links": {"lag": "trace:my lags.csv"}, "faults": [KILL, lag]}
    (folder / "traced.yaml").write_text(yaml.safe_dump(document))
    return folder / "traced.yaml"


@pytest.mark.usefixtures("undrawn")
def test_a_counterexample_can_be_taken_elsewhere(
    traced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    monkeypatch.chdir(here)
    assert run_cli(["hunt", str(traced), "--runs", "8", "--messages", "40", "--json"]) == 1
    found = Path(json.loads(capsys.readouterr().out)["groups"]["stuck"]["counterexample"])
    shutil.move(found.parent, there)
    shutil.rmtree(traced.parent)
    monkeypatch.chdir(there)
    assert run_cli(["replay", found.name, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same"] is True


def test_a_trace_is_copied_once_and_named_from_the_file(traced: Path, tmp_path: Path):
    write_scenario(load_scenario(str(traced)), tmp_path / "copy.yaml")
    assert [file.name for file in (tmp_path / "traces").iterdir()] == ["1-my lags.csv"]
    copy = yaml.safe_load((tmp_path / "copy.yaml").read_text())
    assert copy["links"]["lag"] == "trace:traces/1-my lags.csv"
    assert copy["faults"][1]["lag"] == "0.5*trace:traces/1-my lags.csv + 0.5*constant:2ms"


def test_a_trace_that_is_nowhere_is_refused(traced: Path):
    (traced.parent / "my lags.csv").unlink()
    with pytest.raises(ScenarioError, match=r"links\.lag: cannot read lag trace 'my lags\.csv'"):
        load_scenario(str(traced))
