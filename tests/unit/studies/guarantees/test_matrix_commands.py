"""Goal: the two commands print, write and exit as they say. Method: command lines in this process, small tables."""

import json

import pytest

from zonelab.app.cli.exits import EXIT_LAB_FAILED, EXIT_UNKNOWN, EXIT_USAGE, EXIT_VALID
from zonelab.app.cli.main import run_cli
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass
from zonelab.studies.guarantees import ablation_report, matrix_report
from zonelab.studies.guarantees import matrix as matrix_module
from zonelab.studies.guarantees.ablation import AblationRun
from zonelab.studies.guarantees.matrix import Cell, CellResult, Matrix
from zonelab.studies.guarantees.paired import Conditions
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns


@pytest.fixture
def two_cells(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "250")
    cells = tuple(
        Cell(fault_class=fault_class, level=Level.DC_ONE, mode=EngineMode.DEFAULT)
        for fault_class in (FaultClass.NONE, FaultClass.ZONE_WIPED)
    )
    monkeypatch.setattr(matrix_module, "cells_of", lambda engine: cells)
    monkeypatch.chdir(tmp_path)
    return cells


def test_matrix_prints_what_held_and_what_broke_and_writes_page_and_files(two_cells, tmp_path, capsys):
    page, files = tmp_path / "page.md", tmp_path / "files"
    arguments = ["matrix", "--runs", "1", "--out", str(page), "--counterexamples", str(files), "--shrink-runs", "1"]
    assert run_cli(arguments) == EXIT_VALID
    told = capsys.readouterr()
    assert "held (below 95.0%; 1 run)" in told.out
    assert "stuck 100.0%" in told.out
    assert "does not name occurred in none of its runs: below 95.0%" in told.out
    (file,) = files.iterdir()
    assert f"zonelab run {file} --on sim" in told.out
    text = page.read_text()
    assert f"(files/{file.name})" in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# What holds under which faults", "## The default engine", "## Every broken cell"]
    assert run_cli(["run", str(file), "--on", "sim", "--dir", str(tmp_path), "--json"]) == 1


def test_matrix_as_json_is_one_document(two_cells, tmp_path, capsys):
    assert run_cli(["matrix", "--runs", "1", "--dir", str(tmp_path), "--shrink-runs", "1", "--json"]) == EXIT_VALID
    document = json.loads(capsys.readouterr().out)
    assert [(cell["faults"], cell["runs"]) for cell in document["cells"]] == [("none", 1), ("zone-wiped", 1)]


def test_matrix_runs_the_cells_that_are_asked_for_and_says_so(tmp_path, capsys):
    choice = ["--mode", "hardened", "--level", "DC_QUORUM", "--faults", "none", "--faults", "zone-wiped"]
    rest = ["--runs", "1", "--dir", str(tmp_path), "--json"]
    assert run_cli(["matrix", *choice, *rest]) == EXIT_VALID
    document = json.loads(capsys.readouterr().out)
    assert [(cell["mode"], cell["level"], cell["faults"]) for cell in document["cells"]] == [
        ("hardened", "DC_QUORUM", "none"),
        ("hardened", "DC_QUORUM", "zone-wiped"),
    ]
    assert " ".join(choice) in document["command"]


@pytest.mark.parametrize(
    "choice", [["--mode", "hard"], ["--faults", "meteorite"], ["--level", Level.DC_EACH_SAFE_QUORUM]]
)
def test_matrix_says_which_modes_and_classes_there_are(choice, capsys):
    assert run_cli(["matrix", *choice]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"{choice[0]}: got {choice[1]}" in told
    assert "; accepted: " in told


@pytest.mark.parametrize(
    ("complete", "problems", "code"), [(False, {}, EXIT_UNKNOWN), (True, {3: "the lab broke"}, EXIT_LAB_FAILED)]
)
def test_matrix_says_by_its_exit_that_something_is_missing(two_cells, tmp_path, monkeypatch, complete, problems, code):
    filled = Matrix(cells={two_cells[0]: CellResult(runs=5, problems=problems)})
    monkeypatch.setattr(Experiment, "run", lambda *_, **__: AllRuns(complete=complete))
    monkeypatch.setattr(matrix_report, "matrix_from", lambda *_: filled)
    assert run_cli(["matrix", "--runs", "1", "--shrink-runs", "1"]) == code


def test_ablate_prints_a_row_for_what_is_off_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ablation_report, "ablation_pairs", in_one_place(ablation_report.ablation_pairs))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    page = tmp_path / "page.md"
    assert run_cli(["ablate", "--runs", "8", "--off", "due-check", "--out", str(page)]) == EXIT_VALID
    assert "detected: early" in capsys.readouterr().out
    assert "| due-check | 1,000 (" in page.read_text()
    assert run_cli(["ablate", "--runs", "1", "--off", "due-check", "--json"]) == EXIT_VALID
    document = json.loads(capsys.readouterr().out)
    assert [(row["off"], row["runs"]) for row in document["rows"]] == [(["due-check"], 1)]


def test_ablate_says_by_its_exit_that_the_lab_failed(tmp_path, monkeypatch, capsys):
    def measure(run):
        raise RuntimeError(f"planted in seed {run.seed}")

    monkeypatch.setattr(ablation_report, "ablation_pairs", in_one_place(ablation_report.ablation_pairs))
    monkeypatch.setattr(AblationRun, "measure", measure)
    monkeypatch.chdir(tmp_path)
    assert run_cli(["ablate", "--runs", "1", "--off", "due-check", "--json"]) == EXIT_LAB_FAILED
    printed = capsys.readouterr()
    assert ", seed 1: RuntimeError: planted in seed 1" in printed.err
    document = json.loads(printed.out)
    assert len(document["problems"]) == 2


def in_one_place(pairs):
    under = [Conditions(FaultClass.NONE, Level.DC_ONE)]
    return lambda ablations, **options: pairs(ablations, under=under, **options)


def test_ablate_refuses_a_mechanism_that_there_is_not(capsys):
    assert run_cli(["ablate", "--off", "gravity"]) == EXIT_USAGE
    assert "got 'gravity'; accepted: unack-handler, lease-nx" in capsys.readouterr().err


def test_ablate_calls_a_mechanism_without_which_nothing_changes_a_hole_in_the_tests(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ablation_report, "ablation_pairs", in_one_place(ablation_report.ablation_pairs))
    monkeypatch.chdir(tmp_path)
    assert run_cli(["ablate", "--runs", "12", "--off", "warm-restart", "--off", "remove-check"]) == EXIT_VALID
    told = capsys.readouterr().out
    nothing = "worse in 0 and better in 0 comparisons: too few seeds, a hole in the tests"
    assert f"warm-restart, 12 seeds: {nothing}, or" in told
    assert "remove-check, 12 seeds: worse in " in told


@pytest.mark.parametrize("command", ["matrix", "ablate"])
def test_a_page_that_cannot_be_written_is_refused_before_the_first_run(tmp_path, monkeypatch, capsys, command):
    begun = []
    monkeypatch.setattr(Experiment, "conduct", lambda *_, **__: begun.append(command))
    page = tmp_path / "missing" / "page.md"
    assert run_cli([command, "--runs", "1", "--out", str(page)]) == EXIT_LAB_FAILED
    assert f"{page}: No such file or directory" in capsys.readouterr().err
    assert begun == []
