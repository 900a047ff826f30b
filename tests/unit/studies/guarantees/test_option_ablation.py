"""Goal: the table of options compares equal runs, shows what an option prevents, and calls nothing an effect by chance.

Method: a few simulated runs of two places; tables whose counts are given.
"""

import json
from pathlib import Path

import pytest
from support.studies.in_memory import FACTS, ablate_options

from zonelab.analysis.observation import Observation
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.cli.main import run_cli
from zonelab.scenarios.fault_draws.fault_classes import FaultClass
from zonelab.studies.guarantees import option_ablation
from zonelab.studies.guarantees.option_ablation import (
    ANSWERED,
    BEGUN,
    ROWS,
    TESTS,
    UNDER,
    Option,
    answers,
    changed,
    option_pairs,
    scenario_of,
)
from zonelab.studies.guarantees.option_report import OptionReport
from zonelab.studies.guarantees.paired import Conditions, PairedStudy, RowResult

SETS = Conditions(FaultClass.CUT_DROP, workload=WorkloadKind.SET)
REGISTERS = Conditions(FaultClass.LAG_HEAVY, workload=WorkloadKind.REGISTER)
NONE = ()


def measured(**cases):
    return Observation(valid=not cases, counts=cases, numbers={"repairs": 2, BEGUN: 10, ANSWERED: 9})


def test_runs_of_a_seed_differ_by_the_options_alone():
    for conditions in UNDER:
        plain, *others = (scenario_of(row, conditions, seed=3) for row in ROWS)
        for other in others:
            assert (other.replication, other.clients) != (plain.replication, plain.clients)
            same = {"replication": plain.replication, "clients": plain.clients, "about": plain.about}
            assert other.model_copy(update=same) == plain


def test_what_anti_entropy_and_hints_prevent_in_sets_is_seen_and_what_read_repair_does_not():
    rows = (NONE, (Option.READ_REPAIR,), (Option.HINTED_HANDOFF,), (Option.ANTI_ENTROPY,))
    found = ablate_options(seeds=range(1, 17), rows=rows, under=(SETS,))
    assert [result.runs for result in found.rows.values()] == [16] * 4
    failing = [found.rows[row, SETS].failed_runs for row in rows]
    assert failing[0] == failing[1] >= 14
    assert failing[2] == failing[3] == 0
    assert [changed(found, (row, SETS)) for row in rows[1:]] == [((), ()), (("divergent",), ()), (("divergent",), ())]
    assert found.rows[rows[3], SETS].numbers["anti-entropy copied"] > 0
    assert all(not result.problems for result in found.rows.values())


def test_a_client_that_goes_elsewhere_is_answered_while_its_coordinator_is_gone():
    gone = Conditions(FaultClass.COORDINATOR_LOST, workload=WorkloadKind.SET)
    row = (Option.CLIENT_FAILOVER, Option.CLIENT_RETRIES)
    found = ablate_options(seeds=range(1, 11), rows=(NONE, row), under=(gone,))
    with_policy, without = found.rows[row, gone], found.rows[NONE, gone]
    assert with_policy.numbers[ANSWERED] == with_policy.numbers[BEGUN] == without.numbers[BEGUN]
    assert without.numbers[ANSWERED] < 0.9 * without.numbers[BEGUN]
    assert (answers(found, (row, gone)), answers(found, (NONE, gone))) == ("more", "")
    assert with_policy.numbers["client fail-overs"] == 10


def test_a_run_without_a_verdict_of_true_or_false_is_a_problem(monkeypatch):
    def short_of_budget(*run, seed):
        scenario = scenario_of(*run, seed=seed)
        return scenario.model_copy(
            update={"workload": scenario.workload.model_copy(update={"budget_configurations": 1})}
        )

    monkeypatch.setattr(option_ablation, "scenario_of", short_of_budget)
    (result,) = ablate_options(seeds=range(1, 2), rows=(NONE,), under=(REGISTERS,)).rows.values()
    assert result.failed_runs == 0
    assert "too costly to decide" in result.problems[1]


@pytest.mark.parametrize(("fewer", "more", "told"), [(30, 0, True), (30, 29, False), (5, 0, False), (0, 0, False)])
def test_an_effect_is_what_chance_does_not_explain(fewer, more, told):
    cell, result = ((Option.ANTI_ENTROPY,), SETS), RowResult()
    for seed in range(fewer):
        result.add(measured(), measured(divergent=1), conditions=SETS, seed=seed)
    for seed in range(more):
        result.add(measured(divergent=2), measured(divergent=1), conditions=SETS, seed=seed)
    assert changed(study({cell: result}), cell) == ((("divergent",) if told else ()), ())
    assert result.failed_runs == more


def study(rows):
    return PairedStudy(rows=rows, tests=TESTS)


def test_the_page_has_a_row_a_cell_and_says_where_an_option_does_nothing():
    cells = {(row, under): RowResult() for row in (NONE, (Option.READ_REPAIR,)) for under in (SETS, REGISTERS)}
    for (row, under), result in cells.items():
        for seed in range(40):
            without = measured(divergent=1)
            run = measured() if row and under is REGISTERS else without
            result.add(run, without, conditions=under, seed=seed)
    page = OptionReport(**FACTS, study=study(cells)).document(Path("page.md"))
    assert "| set, cut-drop | read-repair | 1,000 (912 to 1,000) | divergent 1,000 | 90.0 | repairs 2.0 | – |" in page
    assert "| register, lag-heavy | read-repair | 0 (below 88) | none | 90.0 | repairs 2.0 | fewer: divergent |" in page
    assert (
        "- **read-repair**: fewer: divergent (register: lag-heavy). Elsewhere nothing that chance would not do." in page
    )


def test_the_command_refuses_what_is_of_the_other_table(capsys):
    assert run_cli(["ablate", "--options", "--off", "lease-nx"]) == 64
    assert "exclude each other" in capsys.readouterr().err


def test_the_command_writes_the_page_and_prints_json(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "zonelab.studies.guarantees.option_report.option_pairs", lambda **given: option_pairs(**given, under=(SETS,))
    )
    out = tmp_path / "page.md"
    assert run_cli(["ablate", "--options", "--runs", "1", "--out", str(out), "--dir", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["on"] for row in told["rows"]] == [list(row) for row in ROWS]
    assert told["command"] == f"zonelab ablate --options --out {out} --runs 1 --jobs 1 --dir {tmp_path}"
    assert f"`{told['command']}` made this page" in out.read_text()
