"""Goal: every command exits with the code of its outcome, tells errors in lines, and with --json prints JSON only.

Method: the command line, as a subprocess where a run is involved; what costs no servers is tried in every wrong way.
"""

import json
from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.scenarios.short_runs import scenario_file, zonelab

from zonelab.scenarios.spec.library import library_names


def told(cwd: Path, *arguments: str) -> tuple[int, str, str]:
    done = zonelab(*arguments, cwd=cwd)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def told_here(cwd: Path, *arguments: str) -> tuple[int, str, str]:
    done = zonelab_here(*arguments, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("fault",), "Missing command; accepted: lag, "),
        (("bogus",), "No such command 'bogus'; accepted: demo, "),
        (("run",), "Missing argument 'NAME|FILE'; accepted: "),
        (("run", "steady", "--bogus"), "No such option: --bogus; accepted: "),
        (("run", "steady", "--seed", "many"), "Invalid value for '--seed'"),
        (("run", "nowhere"), f"nowhere: no such scenario; accepted: {', '.join(library_names())}, or the path"),
        (("run", "steady", "--set", "links.lag=constant:-2ms"), "--set: links.lag: lag 'constant:-2ms': expected"),
        (("run", "steady", "--set", "faults[0].zone=b"), "faults is a list, got 0; accepted: nothing, it is empty"),
        (("check", "nowhere"), "nowhere: no such run directory"),
        (("check", "/etc/passwd"), "/etc/passwd: is not a directory"),
    ],
)
def test_bad_usage_exits_64_with_one_line(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    code, out, err = told_here(tmp_path, *arguments)
    assert (code, out) == (64, "")
    assert line in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_two_faults_on_a_dead_zone_exit_64_and_start_nothing(tmp_path: Path) -> None:
    faults = [{"kind": kind, "zone": "b", "at_s": at_s, "for_s": 1} for kind, at_s in (("kill", 0.2), ("pause", 0.7))]
    path = scenario_file(tmp_path, faults=faults)
    code, out, err = told_here(tmp_path, "run", str(path))
    assert (code, out) == (64, "")
    assert err == (
        f"zonelab: {path}: faults[1].at_s: got pause at 0.7 s for 1 s; accepted: a time when "
        "faults[0] (kill, 0.2 to 1.2 s) does not already hold zone b\n"
    )
    assert not (tmp_path / "runs").exists()


def test_bad_usage_with_json_prints_json_only(tmp_path: Path) -> None:
    code, out, _ = told_here(tmp_path, "run", "nowhere", "--json")
    assert code == 64
    answer = json.loads(out)
    assert answer["exit_code"] == 64
    assert answer["errors"][0].startswith("nowhere: no such scenario")


def test_a_directory_that_is_no_run_exits_3(tmp_path: Path) -> None:
    code, out, err = told_here(tmp_path, "check", str(tmp_path))
    assert (code, out) == (3, "")
    assert err.startswith(f"zonelab: {tmp_path}: not a run directory")


def test_a_directory_for_runs_that_cannot_be_made_exits_3(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    code, out, err = told_here(tmp_path, "run", "steady", "--dir", str(tmp_path / "taken"))
    assert (code, out) == (3, "")
    assert str(tmp_path / "taken") in err


def test_help_and_version_exit_0(tmp_path: Path) -> None:
    code, out, _ = told_here(tmp_path, "--version")
    assert (code, out.split()[0]) == (0, "zonelab")
    code, out, _ = told_here(tmp_path, "--help")
    assert code == 0
    assert "0 valid, 1 invalid, 2 unknown, 3 the lab itself failed, 64" in " ".join(out.split())
    _, out, _ = told_here(tmp_path, "demo", "--help")
    assert "Exits 0 when the lab did its job" in " ".join(out.split())


def test_the_library_is_listed_as_json(tmp_path: Path) -> None:
    code, out, _ = told_here(tmp_path, "scenarios", "--json")
    assert code == 0
    assert [item["name"] for item in json.loads(out)] == library_names()


@pytest.mark.real
def test_a_valid_run_exits_0_and_can_be_checked_again_from_disk(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, load={"duration_s": 1})
    code, out, err = told(tmp_path, "run", str(path), "--level", "DC_QUORUM", "--seed", "5", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["valid"], answer["level"], answer["seed"], answer["status"]) == (True, "DC_QUORUM", 5, "complete")
    assert answer["problem"] is None
    assert all((tmp_path / plot).stat().st_size > 1000 for plot in answer["plots"])
    assert len(answer["plots"]) >= 4
    assert [line.split(": ")[1].split(" (")[0].split(";")[0] for line in err.splitlines()][:3] == [
        "set-up",
        "load",
        "heal",
    ]
    run = tmp_path / answer["run"]
    assert run.parent == tmp_path / "runs" / "short"
    (run / "verdict.json").unlink()
    code, out, _ = told(tmp_path, "check", str(run), "--json")
    assert code == 0
    assert json.loads(out)["verdict"] == answer["verdict"]
    code, out, _ = told(tmp_path, "check", "runs/short/latest")
    assert code == 0
    assert "valid" in out
    code, out, _ = told(tmp_path, "report", str(run))
    assert code == 0
    assert out.splitlines()[0] == str(run / "report.html")
    assert "<html" in (run / "report.html").read_text()


@pytest.mark.real
def test_an_invalid_run_exits_1_and_names_what_is_missing(tmp_path: Path) -> None:
    kill = {"kind": "kill", "zone": "b", "at_s": 0.5, "for_s": 1.5}
    path = scenario_file(tmp_path, faults=[kill], load={"duration_s": 3}, persistence="aof-everysec")
    code, out, _ = told(tmp_path, "run", str(path), "--level", "DC_QUORUM")
    assert code == 1
    assert "nobody finished " in " ".join(out.split())
    assert "Repeat with: zonelab run" in out
