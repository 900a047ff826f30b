"""Goal: a rollout of programs is refused in one line wherever it would be simulated, or cannot be run.

Method: the command line, with a file that nothing is run of.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from zonelab.app.cli.main import run_cli

ROLLOUT: dict[str, Any] = {
    "name": "own",
    "load": {"duration_s": 20},
    "programs": {"worker": {"command": "true {url}"}},
    "evaluate": {
        "objectives": ["losses == 0 with a kill"],
        "faults": {"a kill": {"per_year": 6, "lasts_s": 2, "fault": {"kind": "kill", "zone": "any"}}},
    },
}
ON = ("--on", "process")


@pytest.mark.parametrize(
    ("words", "changed", "told"),
    [
        ((), {}, "programs: cannot be simulated, so they are evaluated on real servers only: --on process"),
        (ON, {}, "--runs: got nothing; accepted: at least 4, 2 of each of 2 kinds"),
        ((*ON, "--runs", "3"), {}, "--runs: got 3; accepted: at least 4, 2 of each of 2 kinds"),
        ((*ON, "--runs", "8", "--confirm", "process"), {}, "--confirm and --on exclude each other"),
        ((*ON, "--runs", "8", "--limit", "3"), {}, "--limit and --on exclude each other"),
        ((*ON, "--runs", "8", "--jobs", "2"), {}, "--jobs and --on exclude each other"),
        (
            (*ON, "--runs", "8"),
            {"load": {"duration_s": 2}},
            "own.yaml: evaluate.faults.a kill.lasts_s: got 2; accepted: up to 1.5, 3/4 of the load",
        ),
        ((*ON, "--runs", "8"), {"evaluate": None}, "own.yaml: evaluate: missing; accepted: a section with objectives"),
        (
            ON,
            {"programs": {}, "load": {"rate_per_s": 5, "duration_s": 20}},
            "--on: accepted with a scenario that has programs; use --confirm for others",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    words: tuple[str, ...],
    changed: dict[str, Any],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(yaml.safe_dump({**ROLLOUT, **changed}))
    assert run_cli(["evaluate", "own.yaml", *words]) == 64
    assert capsys.readouterr().err.splitlines() == [f"zonelab: {told}"]
    assert not Path("runs").exists()
