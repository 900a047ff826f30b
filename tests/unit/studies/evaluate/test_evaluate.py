"""Goal: an evaluation makes the runs it should, goes on with what is there, and says what they say.

Method: short runs through the command line; and planted outcomes in place of runs, which come by the same door.
"""

import json
import re
import resource
import subprocess
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from support.app.commands import Done, zonelab_here
from support.programs import HANGS_S
from support.project_files import ROOT
from support.scenarios.short_runs import zonelab_command
from support.scenarios.sim_runs import SMALL
from support.studies.planted_outcomes import Planted, outcome

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.year import NO_FAULT, RunKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.given_faults import RatesGivenFaults
from zonelab.studies.evaluate.one_run import EvaluationMeasure
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.template import TEMPLATE, plain_rollout
from zonelab.studies.many_runs.recorded import result_files
from zonelab.studies.many_runs.state import RESULTS_NAME

DOWN = "any one zone down"
SECTION = {
    "vary": {"level": ["DC_ONE", "DC_QUORUM"]},
    "objectives": ["p99(push) < 1s", f"lost == 0 with {DOWN}"],
    "faults": {
        DOWN: {
            "per_year": 12,
            "lasts_s": 60,
            "fault": {"kind": "kill", "zone": "any"},
            "lengths_s": [0.125, 0.25, 0.5],
        }
    },
}
LOAD = {"duration_s": 1, "rate_per_s": 10}

LEAST = 16
"""Runs of a setting: four of each of four kinds."""


def file(folder: Path, **changes) -> Path:
    path = folder / "rollout.yaml"
    section = {name: value for name, value in {**SECTION, **changes}.items() if value is not None}
    path.write_text(yaml.safe_dump({**SMALL, "evaluate": section, "load": LOAD}), encoding="utf-8")
    return path


def evaluated(folder: Path, *words: str) -> Done:
    return zonelab_here("evaluate", "rollout.yaml", *words, cwd=folder)


def test_a_rollout_is_decided_and_told_on_the_terminal_as_json_and_as_a_page(tmp_path: Path):
    file(tmp_path)
    done = evaluated(tmp_path, "--runs", str(LEAST), "--junit", "told.xml")
    assert done.stderr.startswith(
        "evaluate: 2 settings x 4 kinds of runs, 1 s of load each, simulated; for at most 16 runs"
    )
    (folder,) = tmp_path.glob("runs/small/evaluate-*")
    told = json.loads((folder / "evaluate.json").read_text())
    assert [row["setting"] for row in told["settings"]] == ["level=DC_ONE", "level=DC_QUORUM"]
    chosen = next(row for row in told["settings"] if row["setting"] == told["recommended"])
    zero = chosen["objectives"][1]
    assert (zero["status"], zero["unseen"], done.returncode, told["exit_code"]) == ("open", True, 2, 2)
    assert "but not proven, as open: " in told["answer"]
    assert zero["objective"] in told["answer"].partition("but not proven, as open: ")[2]
    seen = f"{zero['objective']} (none in {zero['messages']:,} messages; no number of runs proves it)"
    assert seen in told["reasons"][0]
    assert told["brief"]["proof"] == told["reasons"][0]
    assert told["brief"]["runner_up"] in told["reasons"]
    assert min(told["runs"].values()) >= 4
    one, quorum = (row["year"]["p50(push)"]["value"] for row in told["settings"])
    assert one < 0.0005 < quorum, "at DC_ONE no push waits for a link: the rows are in their places"
    page = (folder / "report.html").read_text()
    assert page.count('<svg class="bar"') == 4 + len(told["settings"]) * len(told["objectives"])
    for state in ("met", "open", "not met"):
        assert f'<span class="tone">{state}</span></li>' in page, "the legend has every state"
    assert page.index("What is left out") < page.index("<h2>Objectives") < page.index("What would change the answer")
    every_day, _, _ = page.partition("<h2>For experts")
    assert not re.search("clump|design effect", every_day)
    for words in (told["answer"], *SECTION["objectives"], "level=DC_QUORUM", told["settings"][0]["told"]["p99(push)"]):
        assert escape(words) in page
    assert {cost["figure"] for cost in told["settings"][0]["faults"]} >= {"unavailable"}
    assert result_files(tmp_path / "runs") == [], "runs without verdicts are no findings of the index"
    assert told["answer"] in done.stdout
    assert told["doubts"][0].startswith(f"'{DOWN}' lasts 60 s in the year and at most 0.5 s in these runs")
    assert told["doubts"][0] in done.stdout
    assert "The year, with 95 % intervals" in done.stdout
    assert told["assumptions"][0] in done.stdout
    assert "as if each came alone" in told["assumptions"][0]
    assert not re.search(r"\de-\d", done.stdout), "no power of ten is printed"
    every_day, experts = done.stdout, ""
    if "For experts" in done.stdout:
        every_day, _, experts = done.stdout.partition("For experts")
        experts, _, last = experts.partition(told["answer"])
        every_day += last
    assert not re.search("clump|design effect", every_day)
    assert told["command"] in done.stdout
    cases = {case.attrib["name"]: list(case) for case in ElementTree.parse(tmp_path / "told.xml").iter("testcase")}
    assert list(cases) == ["every run was made", "a setting is recommended", "level=DC_ONE", "level=DC_QUORUM"]
    (skipped,) = cases["a setting is recommended"]
    assert (skipped.tag, skipped.attrib["message"]) == ("skipped", told["answer"])
    timed = evaluated(tmp_path, "--budget", "1ms").stderr
    assert timed.splitlines()[0].endswith("; for about 0.001 s, and some seconds more for the answer and its page")


def test_what_is_merely_unseen_counts_if_the_file_accepts_it(tmp_path: Path):
    planted = {"objectives": [f"lost == 0 with {DOWN}"], "accept": "unseen"}
    done = carried_out(tmp_path, Planted(outcome), Budget(runs=LEAST), **planted)
    chosen = next(row for row in done.found.rows if row.setting == done.found.recommended)
    assert (chosen.setting, str(chosen.status), chosen.open) == ("level=DC_QUORUM", "open", ())
    del planted["accept"]
    again = carried_out(tmp_path, Planted(outcome), Budget(runs=LEAST), **planted)
    assert again.found.recommended == chosen.setting
    assert [one.unseen for row in again.found.rows if row.setting == chosen.setting for one in row.open] == [True]


def test_a_run_has_its_fault_in_the_zone_of_its_seed_and_the_figures_of_its_history(tmp_path: Path):
    rollout = Rollout.load(str(file(tmp_path)))
    short = rollout.year.cells[1]
    zones = [rollout.run(0, short, seed).faults[0].target for seed in rollout.seeds(short, 3, first=1)]
    assert sorted(zones) == ["a", "b", "c"]
    assert rollout.run(0, NO_FAULT, 1).faults == ()
    calm, hit = (EvaluationMeasure(rollout)((0, cell, 7)) for cell in (NO_FAULT, rollout.year.cells[3]))
    assert calm.begun == len(calm.samples["push"]) > 15
    assert (calm.numbers["unavailable"], min(calm.samples["push"]) > 0) == (0.0, True)
    assert calm.numbers["commands"] > calm.begun
    assert len(calm.samples["late"]) == len(calm.samples["lease"]) == calm.begun
    assert -1 in hit.samples["push"], "the pushes to a dead zone at DC_ONE are not confirmed"
    assert 0.1 < hit.numbers["unavailable"] < 0.5, "one zone of three, for half a second"


def carried_out(folder: Path, planted: Planted, budget: Budget, **changes):
    folder.mkdir(exist_ok=True)
    evaluation = Evaluation(Rollout.load(str(file(folder, **changes))), workers=planted)
    with evaluation.experiment.state(folder) as state:
        return evaluation.run(budget, state=state)


def test_planted_outcomes_are_decided_by_the_door_of_runs(tmp_path: Path):
    planted = Planted(outcome)
    done = carried_out(tmp_path, planted, Budget(runs=1000))
    one, quorum = done.found.rows
    assert (done.found.recommended, done.looks < 5) == ("level=DC_QUORUM", True), "it ends as soon as all is decided"
    assert one.binding is not None
    assert str(one.binding.objective) == f"lost == 0 with {DOWN}"
    assert quorum.binding is None
    seeds = {
        name: {(cell, seed) for setting, cell, seed in planted.made if setting == name} for name, _, _ in planted.made
    }
    assert seeds["level=DC_ONE"] < seeds["level=DC_QUORUM"], "runs are pairs; what is rejected gets no more"


def test_runs_go_where_a_rate_given_a_fault_is_not_known_well(tmp_path: Path):
    """Two of 40 messages come again while a zone is down, or none does."""
    rng = np.random.default_rng(1)

    def made(twice: bool):
        def make(setting: str, cell: RunKind, seed: int) -> Observation:
            again = 2 if twice and cell.fault else 0
            return replace(outcome(setting, cell, seed), counts={"redelivered": int(rng.poisson(again))})

        name, objectives = f"twice-{twice}", ["unavailable < 1s/year"]
        return carried_out(tmp_path / name, Planted(make), Budget(runs=60), objectives=objectives)

    often, never = made(twice=True), made(twice=False)
    faulty = [sum(count for cell, count in one.runs.items() if cell.fault) for one in (often, never)]
    assert (faulty[0] >= 40, faulty[0] > faulty[1]) == (True, True)
    assert sum(often.runs.values()) == pytest.approx(60, abs=4), "the budget is kept"
    rates = RatesGivenFaults.of(replace(often, seconds_a_run=2.0))
    (row,), (told,) = rates.table.cells(), rates.to_json("level=DC_ONE")
    assert row[:2] == [DOWN, "redelivered"]
    assert told["budget_s"] is None or told["budget_s"] > 2.0 * 2 * 56
    assert "known to ± 20%" in next(rates.sentences())
    assert RatesGivenFaults.of(never).table is None
    broken = carried_out(tmp_path / "broken", Planted(outcome, until=8), Budget(runs=60))
    told = ["unknown", "unknown", "3", "too few runs to tell"]
    assert all(row[3:] == told for row in RatesGivenFaults.of(broken).table.cells())


def test_ctrl_c_leaves_what_is_known_and_the_rest_is_made_later(tmp_path: Path):
    broken = carried_out(tmp_path, Planted(outcome, until=20), Budget(runs=100))
    assert (broken.complete, sum(broken.runs.values())) == (False, 10)
    assert len((tmp_path / RESULTS_NAME).read_text().splitlines()) == 1 + 20
    planted = Planted(outcome)
    done = carried_out(tmp_path, planted, Budget(runs=100))
    assert (done.complete, done.known) == (True, 20)
    assert len(planted.made) == len(set(planted.made)) <= 2 * 101 - 20 + 2


def test_a_full_disk_is_told_in_one_line_and_the_same_command_goes_on(tmp_path: Path):
    """The limit holds for every file: without ``-B`` Python would leave modules that it compiles cut off for others."""
    file(tmp_path)
    room = 12_000
    python, *words = zonelab_command("evaluate", "rollout.yaml", "--runs", str(LEAST))
    full = subprocess.run(
        [python, "-B", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (room, room)),
        timeout=HANGS_S,
    )
    (folder,) = tmp_path.glob("runs/small/evaluate-*")
    assert (full.returncode, full.stdout) == (3, "")
    assert full.stderr.splitlines()[-1].endswith(f"{folder.name}/{RESULTS_NAME}: File too large")
    assert [path.name for path in folder.iterdir()] == [RESULTS_NAME]
    told = json.loads(evaluated(tmp_path, "--runs", str(LEAST), "--json").stdout)
    assert 2 <= told["known"] < 2 * LEAST
    assert sum(told["runs"].values()) == LEAST


def test_a_budget_of_time_makes_as_many_runs_as_fit(tmp_path: Path):
    """A clock that a run moves by a second, so that no load of the machine decides."""
    evaluation = Evaluation(Rollout.load(str(file(tmp_path, objectives=["p99(push) < 8.6ms"]))))
    now = [0.0]

    def slow(setting: str, cell: RunKind, seed: int) -> Observation:
        now[0] += 1.0
        return outcome(setting, cell, seed)

    evaluation.workers, evaluation.now_s = Planted(slow), lambda: now[0]
    with evaluation.experiment.state(tmp_path) as state:
        done = evaluation.run(Budget(seconds=200.0), state=state)
    assert 150 <= now[0] <= 220
    assert done.looks == 5
    with (
        evaluation.experiment.state(tmp_path / "other") as state,
        pytest.raises(NotAccepted, match=r"--runs: got 7; accepted: at least 16, 4 of each of 4 kinds"),
    ):
        evaluation.run(Budget(runs=7), state=state)


def test_a_budget_too_small_for_one_round_is_refused(tmp_path: Path):
    file(tmp_path)
    done = evaluated(tmp_path, "--budget", "1ms")
    assert (done.returncode, done.stdout) == (64, "")
    assert len(done.stderr.splitlines()) == 1, "what will be run is said once it is known to fit"
    assert re.search(r"--budget: got 0.001 s; accepted: at least \d+ s, as 2 runs without a fault of 2 ", done.stderr)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"objectives": ["p99(push) < 20"]},
            "evaluate.objectives[0]: p99(push) < 20: got '20'; accepted: a number with",
        ),
        ({"objectives": ["p99(pusj) < 20ms"]}, "objectives[0]: got 'p99(pusj) < 20ms'; accepted: p99(push) < 20ms"),
        (
            {"objectives": [{"http_req_duration": ["p(95)<500"]}]},
            "objectives[0]: got 'http_req_duration: p(95)<500'; accepted: p95(push) < 500ms",
        ),
        ({"objectives": ["lost == 0 with rain"]}, f"got 'rain'; accepted: with a fault of evaluate.faults ({DOWN})"),
        (
            {"objectives": ["duplicates < 1%", "duplicates < 2%"]},
            "evaluate.objectives: got duplicates < 2% beside duplicates < 1%; accepted: one bound",
        ),
        ({"objectives": None}, "evaluate.objectives: missing; it has no default"),
        (
            {"vary": {"level": ["DC_ONE", "DC_TWO"]}},
            "evaluate.vary: level: got 'DC_TWO' (did you mean DC_ONE?); accepted: DC_ONE",
        ),
        ({"vary": {"level": "DC_ONE"}}, "got level: 'DC_ONE'; accepted: a list of values"),
        (
            {"wary": {}},
            "evaluate.wary: unknown field (did you mean vary?), got {}; accepted fields: vary, objectives, ",
        ),
        ({"objectives": ["late == 0"]}, "evaluate.objectives[0]: late == 0 needs checks.late_ms, how late is too late"),
        ({"prefer": ["cheap"]}, "evaluate.prefer[0]: got the figure 'cheap'; accepted: avg and percentiles"),
        (
            {"faults": {DOWN: {"per_year": -1, "lasts_s": 60, "fault": {"kind": "kill", "zone": "any"}}}},
            f"evaluate.faults['{DOWN}'].per_year: got -1; accepted: a number from 0 on",
        ),
        (
            {"faults": {DOWN: {"per_year": "6..1", "lasts_s": 60, "fault": {"kind": "kill", "zone": "any"}}}},
            f"evaluate.faults['{DOWN}'].per_year: got '6..1'; accepted: LOW..HIGH, the lower end first",
        ),
        (
            {"faults": {DOWN: {"per_year": "1..1e6", "lasts_s": 60, "fault": {"kind": "kill", "zone": "any"}}}},
            "evaluate.faults: got '190% of the year'; accepted: at most half of the year",
        ),
        ({"objectives": ["p99(push) < 40..20ms"]}, "objectives[0]: got '40..20ms'; accepted: LOW..HIGH, the lower end"),
        ({"accept": "all"}, "evaluate.accept: got 'all'; accepted: unseen"),
        (
            {"faults": {DOWN: {"per_year": 1, "lasts_s": 60, "fault": {"kind": "kill", "zone": "z"}}}},
            f"evaluate.faults.{DOWN}.fault.zone: got 'z'; accepted: a zone of the topology (a, b, c)",
        ),
        (
            {"faults": {DOWN: {"per_year": 1, "lasts_s": 60, "fault": {"kind": "kil", "zone": "any"}}}},
            f"evaluate.faults.{DOWN}.fault.kind: got 'kil' (did you mean kill?); accepted: kill",
        ),
        (
            {"faults": {DOWN: {"per_year": 1e6, "lasts_s": 60, "fault": {"kind": "kill", "zone": "any"}}}},
            "evaluate.faults: got '190% of the year'; accepted: at most half of the year",
        ),
    ],
)
def test_what_is_wrong_with_the_section_is_told_in_one_line(changes, told: str, tmp_path: Path):
    file(tmp_path, **changes)
    done = evaluated(tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("zonelab: rollout.yaml: ")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_scenario_without_the_section_or_with_faults_of_its_own_is_refused(tmp_path: Path):
    done = zonelab_here("evaluate", "zone-crash", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0][:36]) == (64, "zonelab: zone-crash: evaluate: missi")
    path = file(tmp_path)
    own = {**yaml.safe_load(path.read_text()), "faults": [{"kind": "kill", "zone": "a", "at_s": 0.1, "for_s": 0.2}]}
    path.write_text(yaml.safe_dump(own))
    done = evaluated(tmp_path)
    assert (done.returncode, "faults: got 1; accepted: none" in done.stderr) == (64, True)


@pytest.mark.parametrize(
    ("engine", "objective"), [("fifo", "p99(lease) < 1s"), ("fifo", "overlap < 1e-4"), ("zset", "duplicates < 1%")]
)
def test_an_objective_about_what_the_queue_has_not_is_refused(engine: str, objective: str, tmp_path: Path):
    """No run could show a case, so it would always be held."""
    done = zonelab_here(
        "evaluate", str(file(tmp_path, objectives=[objective])), "--set", f"queue.engine={engine}", cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (64, "")
    assert "evaluate.objectives[0]: got '" in done.stderr
    assert "; accepted: what this queue has: not " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_rollout_is_also_a_scenario_and_is_written_and_read_as_one(tmp_path: Path):
    loaded = load_scenario(str(file(tmp_path)))
    (tmp_path / "resolved.yaml").write_text(dump_scenario(loaded))
    assert load_scenario(str(tmp_path / "resolved.yaml")) == loaded
    assert Rollout.load(str(tmp_path / "resolved.yaml")).year == Rollout.load(str(tmp_path / "rollout.yaml")).year


def test_without_a_file_the_plain_question_is_asked_of_the_file_that_new_writes(tmp_path: Path):
    written = zonelab_here("new", "rollout", cwd=tmp_path)
    assert (written.returncode, written.stdout.split(":")[0]) == (0, "rollout.yaml")
    assert Rollout.load(str(tmp_path / "rollout.yaml")).settings == Rollout.load(str(TEMPLATE)).settings
    again = zonelab_here("new", "rollout", cwd=tmp_path)
    assert (again.returncode, "rollout.yaml: exists already" in again.stderr) == (64, True)
    mine = zonelab_here("new", "rollout", "mine.yaml", cwd=tmp_path)
    assert (mine.stdout.split(":")[0], (tmp_path / "mine.yaml").read_text()) == ("mine.yaml", TEMPLATE.read_text())
    changed = plain_rollout(zones=2, lag="3ms", rate=7.0).scenario
    assert (changed.zones, changed.links.lag, changed.load.rate_per_s) == (("a", "b"), "3ms", 7.0)
    for option, words in (
        ("--lag", ("--lag", "soon")),
        ("--set: links.lag", ("--lag", "1ms", "--set", "links.lag=soon")),
    ):
        plain = zonelab_here("evaluate", "--zones", "2", *words, "--runs", "99", cwd=tmp_path)
        assert (plain.returncode, plain.stderr.partition(": unknown lag")[0]) == (64, f"zonelab: {option}")
    both = zonelab_here("evaluate", "rollout.yaml", "--zones", "2", cwd=tmp_path)
    assert (both.returncode, "--zones: excluded by FILE" in both.stderr) == (64, True)


@pytest.mark.parametrize("name", ["rollout.yaml", "rollout-long-leases.yaml"])
def test_the_benchmark_has_three_levels_three_leases_and_four_classes_of_faults(name: str):
    rollout = Rollout.load(str(ROOT / "benchmarks" / name))
    assert (len(rollout.settings), len(rollout.year.cells)) == (9, 1 + 4 * 2)


def test_settings_can_differ_in_what_their_clients_do_alone():
    plain, other = Rollout.load(str(ROOT / "benchmarks" / "failover.yaml")).settings
    assert (plain.scenario.clients.failover, other.scenario.clients.failover) == (False, True)
    assert other.scenario.model_copy(update={"clients": plain.scenario.clients}) == plain.scenario


def test_values_with_commas_are_settings_too(tmp_path: Path):
    rates = [{"a": 1, "b": 2}, 5]
    rollout = Rollout.load(str(file(tmp_path, vary={"load.rate_per_s": rates})))
    assert [one.scenario.load.rate_per_s for one in rollout.settings] == rates
    evaluation = Evaluation(rollout, workers=Planted(outcome))
    with evaluation.experiment.state(tmp_path) as state:
        done = evaluation.run(Budget(runs=LEAST), state=state)
    assert all(min(map(len, one.outcomes.runs.values())) >= 4 for one in done.measured.values())
