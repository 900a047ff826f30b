"""Goal: what a verb judged stands in its JUnit file, whole, escaped, and never as a pass if nobody can tell.

Method: run command lines in this process on runs made by hand and short simulated ones; read the files with a parser.
"""

import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from support.pages import wrong_commands
from support.project_files import ROOT
from support.studies.in_memory import FACTS

from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.app.cli.app import app
from zonelab.app.cli.main import run_cli
from zonelab.app.terminal.junit import JUnitFile
from zonelab.app.verbs.judged_studies import hunt_suite, sweep_suite
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.hunt.findings import Group, HuntResult
from zonelab.studies.hunt.seeds import TWICE
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.rows import row_of

HOSTILE = '<script>alert("x")</script>&\'"]]>\x1b[31m\x00'
JUDGING = {"run", "replay", "check", "demo", "engines", "hunt", "sweep", "matrix", "ablate", "compare", "evaluate"}


def lossy(path: Path, *, scenario: str = "synthetic") -> RunBuilder:
    """Two messages, of which one is lost."""
    builder = RunBuilder(path, scenario=scenario, seed=7)
    builder.push("m-lost", at_ms=1)
    builder.push("m", at_ms=2)
    builder.ack("m", builder.pop("m", at_ms=5), at_ms=9)
    return builder


def cases(path: Path) -> dict[str, tuple[str, str]]:
    """How each test case ended, with what is told; the totals are checked by the way."""
    suite = ElementTree.parse(path).getroot()[0]
    found = {}
    for case in suite.findall("testcase"):
        ends = list(case)
        found[case.attrib["name"]] = (ends[0].tag, ends[0].text or "") if ends else ("passed", "")
    ended = [how for how, _ in found.values()]
    totals = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    counts = [len(ended), *map(ended.count, ("failure", "error", "skipped"))]
    assert list(totals.values()) == list(map(str, counts))
    return found


def test_every_verb_that_judges_has_both_options():
    options = {
        command.callback.__name__: set(command.callback.__annotations__)
        for command in app.registered_commands
        if command.callback is not None
    }
    assert {verb for verb, names in options.items() if "junit" in names} >= JUDGING
    assert all("as_json" in options[verb] for verb in JUDGING)


def test_a_violated_class_fails_with_its_count_seed_and_command(tmp_path: Path):
    lossy(tmp_path / "run").write(command="zonelab run lossy --seed 7")
    assert run_cli(["check", str(tmp_path / "run"), "--junit", str(tmp_path / "out.xml")]) == 1
    found = cases(tmp_path / "out.xml")
    how, told = found.pop("lost")
    assert how == "failure"
    assert told.startswith("1 lost in 2 begun: the push was acknowledged")
    assert {"seed 7", "again: zonelab run lossy --seed 7"} < set(told.splitlines())
    assert "m-lost" in told
    assert {how for how, _ in found.values()} == {"passed"}


def test_names_from_outside_are_text_whatever_is_in_them(tmp_path: Path):
    lossy(tmp_path / "run", scenario=HOSTILE).write(command=HOSTILE)
    run_cli(["check", str(tmp_path / "run"), "--junit", str(tmp_path / "out.xml")])
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert {element.tag for element in root.iter()} == {
        *("testsuites", "testsuite", "properties", "property", "testcase", "failure")
    }
    written_out = HOSTILE.replace("\x1b", r"\x1b").replace("\x00", r"\x00")
    assert {case.attrib["classname"] for case in root.iter("testcase")} == {f"zonelab.{written_out}.DC_ONE"}
    assert f"again: {written_out}" in (next(root.iter("failure")).text or "")


def test_what_nobody_can_tell_is_an_error_and_what_is_not_judged_is_skipped(tmp_path: Path):
    builder = lossy(tmp_path / "run")
    builder.write(status="interrupted", queue={"engine": "zset", "shards": {"a": "a"}, "leases": False})
    (tmp_path / "run" / "final_state.parquet").unlink(missing_ok=True)
    assert run_cli(["check", str(tmp_path / "run"), "--junit", str(tmp_path / "out.xml")]) == 2
    found = cases(tmp_path / "out.xml")
    assert found["carried out and decided"][0] == "error"
    assert {name for name, (how, _) in found.items() if how == "skipped"} == {"abandoned", "concurrent"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["run", "no-such"], 64, "no-such: no such scenario"),
        (["hunt", "steady", "--runs", "0"], 64, "'--runs': Input should be greater than or equal to 1"),
        (["check", "."], 3, "not a run directory"),
    ],
)
def test_a_verb_that_failed_leaves_an_error_and_not_the_verdict_of_before(
    words: list[str], code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("out.xml").write_text("<testsuites/>")
    assert run_cli([*words, "--junit=out.xml"]) == code
    [(how, words_told)] = cases(Path("out.xml")).values()
    assert how == "error"
    assert told in words_told


@pytest.mark.parametrize("place", ["missing/out.xml", "."])
def test_a_file_that_cannot_be_is_told_before_the_run(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["run", "steady", "--on", "sim", "--junit", place]) == 64
    assert capsys.readouterr().err.startswith(f"zonelab: --junit: got {place}; accepted: ")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_under_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(tree: ElementTree.ElementTree, path: Path, **_: object) -> None:
        path.write_text("<testsuites><testsuite")
        raise OSError(28, "No space left on device", str(path))

    lossy(tmp_path / "run").write()
    monkeypatch.setattr(ElementTree.ElementTree, "write", full)
    assert run_cli(["check", str(tmp_path / "run"), "--junit", str(tmp_path / "out.xml")]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_verdict_on_a_full_disk_is_no_fault_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def full(path: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device", str(path))

    lossy(tmp_path / "run").write()
    monkeypatch.setattr(Path, "write_text", full)
    assert run_cli(["check", str(tmp_path / "run")]) == 3
    assert capsys.readouterr().err == f"zonelab: {tmp_path / 'run' / 'verdict.json'}: No space left on device\n"


def observed(*, valid: bool | str | None = True, problem: str = "no room", **counts: int) -> Observation:
    return Observation(
        valid=valid, begun=10, counts=counts, violated=tuple(counts), problem=problem if valid is None else None
    )


def test_a_hunt_tells_shares_broken_seeds_and_seeds_without_a_verdict(tmp_path: Path):
    hunted = HuntResult(
        scenario="steady",
        directory=tmp_path,
        observations={
            **{1: observed(), 2: observed(valid=False, lost=3), 3: observed(valid="unknown")},
            **{4: observed(valid=None), 5: replace(observed(), problem="event 9", numbers={TWICE: 1})},
        },
        groups=(Group(name="lost", seeds=(2,), counterexample=Path("lost.yaml")),),
        complete=False,
        known=0,
        command="zonelab hunt steady",
    )
    JUnitFile(tmp_path / "out.xml").write(hunt_suite(hunted, load_scenario("steady")))
    found = cases(tmp_path / "out.xml")
    how, told = found["lost"]
    assert (how, told.splitlines()[1:]) == ("failure", ["seeds 2", "again: zonelab replay lost.yaml"])
    assert told.startswith("lost in 1 of 3 runs (0.84% to 90.6% with 95 % confidence): ")
    assert found["stuck"] == ("passed", "")
    assert found["every run was made"][0] == "error"
    assert found["seeds without a verdict"] == (
        "skipped",
        "not judged: 1 of 5 runs are neither valid nor invalid\nseeds 3",
    )
    assert [found[f"seed {seed}"][1].splitlines()[0] for seed in (4, 5)] == ["no room", "event 9"]


def test_where_no_run_could_be_judged_no_share_is_told_and_no_case_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    hunted = HuntResult(
        scenario="steady",
        directory=tmp_path,
        observations={1: observed(valid=None), 2: observed(valid="unknown")},
        groups=(),
        complete=True,
        known=0,
        command="zonelab hunt steady",
    )
    hunted.print()
    told = capsys.readouterr().out
    assert "2 runs, 20 messages, 0 s of virtual time; none could be judged." in told
    assert "%" not in told
    assert hunted.to_json()["failure_rate"] is None
    broken = {1: Observation(problem="no room"), 2: Observation(problem="killed")}
    rows = tuple(row_of(level, broken, first=first) for level, first in (("a", None), ("b", {})))
    sweep = SweepResult(**FACTS, rows=rows)
    sweep.print()
    figures = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("a ", "b "))]
    assert len(figures) == 3
    assert not any(figure in line for line in figures for figure in ("%", "none", "of 0"))
    assert [row.to_json()["failing_share"] for row in rows] == [None, None]
    difference = rows[1].to_json()["difference"]
    assert (difference["pairs"], difference["failing_share"]) == (0, None)
    suites = hunt_suite(hunted, load_scenario("steady")), sweep_suite(replace(sweep, rows=rows[1:]), {"b": ["lost"]})
    for suite in suites:
        JUnitFile(tmp_path / "out.xml").write(suite)
        assert cases(tmp_path / "out.xml")["lost"] == ("skipped", "not judged: no run is valid or invalid")


def test_a_matrix_has_a_case_a_cell_and_class_and_an_ablation_one_a_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    chosen = ["--faults", "zone-wiped", "--level", "DC_ONE", "--mode", "default"]
    assert run_cli(["matrix", "--runs", "2", *chosen, "--shrink-runs", "1", "--junit", "matrix.xml"]) == 0
    found = cases(Path("matrix.xml"))
    assert found["zone-wiped: early"] == ("passed", "")
    how, told = found["zone-wiped: stuck"]
    assert how == "failure"
    (example,) = Path("runs").rglob("zone-wiped-DC_ONE-default-stuck.yaml")
    assert f"again: zonelab replay {example}" in told
    assert run_cli(["ablate", "--runs", "1", "--off", "unack-handler", "--junit", "ablate.xml"]) == 0
    assert cases(Path("ablate.xml"))["unack-handler"] == (
        "skipped",
        "not judged: nothing got worse without it in 1 seed",
    )


def test_two_runs_that_nobody_can_tell_apart_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        lossy(Path(name)).write()
    assert run_cli(["compare", "one", "two", "--junit", "out.xml"]) == 0
    assert {how for how, _ in cases(Path("out.xml")).values()} == {"skipped"}


def test_a_sweep_has_a_case_a_setting_and_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    words = ["sweep", "zone-wiped", "--vary", "level=DC_ONE,DC_QUORUM", "--runs", "1", "--draw", "--messages", "20"]
    assert run_cli([*words, "--set", "checks.forbid=[lost, redelivered]", "--junit", "out.xml"]) == 0
    root = ElementTree.parse("out.xml").getroot()
    judged = {(one.attrib["classname"], one.attrib["name"]) for one in root.iter("testcase")}
    assert judged >= {
        (f"zonelab.sweep.zone-wiped.level={level}", name)
        for level in ("DC_ONE", "DC_QUORUM")
        for name in ("lost", "redelivered")
    }


def workflow_scripts(text: str) -> list[str]:
    jobs = yaml.safe_load(text)["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def faults_of(script: str) -> list[str]:
    """What is wrong with the commands of a script: with its shell, or with verbs and options of ``zonelab``."""
    parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    commands = [
        line[line.index("zonelab ") :] for line in script.replace("\\\n", " ").splitlines() if "zonelab " in line
    ]
    page = "".join(f"    {command.partition(' || ')[0]}\n" for command in commands)
    return [*([parsed.stderr] if parsed.returncode else []), *wrong_commands(page, page="workflow")]


def test_the_example_workflow_uses_what_there_is():
    scripts = workflow_scripts((ROOT / "docs/ci/nightly-hunt.yaml").read_text(encoding="utf-8"))
    assert sum("zonelab " in script for script in scripts) == 3
    assert [fault for script in scripts for fault in faults_of(script)] == []
    assert faults_of("zonelab hunt steady --seeds-from 3\n") == ["workflow: there is no zonelab hunt --seeds-from"]
    assert faults_of("for file in *; do\n") != []
