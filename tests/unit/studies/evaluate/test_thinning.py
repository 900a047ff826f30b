"""Goal: thinned runs show what thinning leaves as it is, and never prove what it hides.

Method: scenarios are thinned; and benchmarks/rollout-120.yaml, with times a tenth as long, is run both ways.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.app.commands import zonelab_here
from support.project_files import ROOT
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ObjectiveJudgement, ObjectiveStatus, judge
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Figure, Objective, TimedOperation
from zonelab.analysis.rates.outcomes import Outcomes, RunScale
from zonelab.analysis.rates.year import NO_FAULT, RunKind, Year, YearlyFaults
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.thinning import CONSUMERS_MAX, MESSAGES_MAX, most_thinned, refusal, thinned
from zonelab.studies.evaluate.budget import FEWEST, Budget
from zonelab.studies.evaluate.first_stages import first_stages
from zonelab.studies.evaluate.one_run import EvaluationMeasure
from zonelab.studies.evaluate.rollout import UNTHINNED_MESSAGES_MAX, Rollout

ROLLOUT = ROOT / "benchmarks/rollout-120.yaml"
LARGE = {
    "name": "large",
    "load": {"duration_s": 10, "rate_per_s": {"a": 60, "b": 20}},
    "drain": {"bound_s": 60},
    "consumers": {"per_zone": 86, "processing": "exponential:1s"},
    "replication": {"hinted_handoff": {"queue": 1000}, "anti_entropy": {"entries": 100}},
    "queue": {"unack_ms": 30_000},
}


def scenario(**changes) -> Scenario:
    return scenario_of({**LARGE, **changes}, source="large.yaml")


def busy_consumers(one: Scenario, zone: str) -> float:
    """Return the arrivals of a zone for each of its consumers."""
    return one.load.rate_of(zone) / one.consumers.per_zone


def as_busy(before: Scenario, after: Scenario) -> bool:
    return all(busy_consumers(after, zone) == pytest.approx(busy_consumers(before, zone)) for zone in before.zones)


@pytest.mark.parametrize("k", [2, 5, 40, 43])
def test_consumers_are_as_busy_as_before_and_all_that_they_share_is_divided(k: int):
    before = scenario()
    found = thinned(before, k)
    after = found.scenario
    assert after.consumers.per_zone == 86 // k
    assert found.factor == pytest.approx(86 / after.consumers.per_zone)
    assert as_busy(before, after)
    hints, compared = after.replication.hinted_handoff, after.replication.anti_entropy
    assert (hints and hints.queue) == round(1000 / found.factor)
    assert (compared and compared.entries) == round(100 / found.factor)
    kept = ("links", "queue", "faults", "topology", "level")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert after.consumers.processing == before.consumers.processing
    assert after.load.duration_s == before.load.duration_s
    keeps_consumers = after.model_copy(update={"consumers": before.consumers})
    assert not as_busy(before, keeps_consumers), "thinning that keeps consumers is noticed"


@pytest.mark.parametrize(
    ("changes", "most", "why"),
    [
        ({}, 43, "fewer than 2 a zone"),
        ({"consumers": {"per_zone": 3}}, 1, "fewer than 2 a zone"),
        ({"queue": {"engine": "gmq"}}, 1, "timers that work off one job after the other"),
        ({"load": {"duration_s": 1, "operations": [{"at_ms": 0, "zone": "a", "id": "1"}]}}, 1, "no rate to divide"),
        (
            {"queue": {"engine": "fifo", "partitions": 6}, "consumers": {"per_zone": 24}, "replication": {}},
            6,
            "partitions 6 is",
        ),
        ({"queue": {"engine": "fifo", "order": "global"}, "replication": {}}, 1, "a single partition"),
    ],
)
def test_what_cannot_be_thinned_says_why_in_a_line(changes: dict, most: int, why: str):
    one = scenario(**changes)
    assert most_thinned(one) == most
    refused = [refusal(one, k) or "" for k in range(most + 1, 90)]
    assert all(refused)
    assert all("\n" not in line for line in refused)
    assert any(why in line for line in refused)
    with pytest.raises(ValueError, match=f"thinning: got 90; accepted: up to {most}, as "):
        thinned(one, 90)
    assert thinned(one, 1).scenario is one


def test_ordered_messages_keep_the_rate_of_a_partition():
    ordered = {"engine": "fifo", "partitions": 12, "credit": 100}
    load = {"duration_s": 10, "rate_per_s": 60, "keys": {"count": 8}}
    one = scenario(queue=ordered, load=load, consumers={"per_zone": 24}, replication={})
    after = thinned(one, 4).scenario
    assert (after.queue.partitions, after.queue.credit, after.load.keys.count) == (3, 100, 2)


def large(folder: Path, rate_per_s: float) -> Rollout:
    document = yaml.safe_load(ROLLOUT.read_text(encoding="utf-8"))
    document["load"]["rate_per_s"] = rate_per_s
    down = {"per_year": 2, "lasts_s": 10, "lengths_s": [5, 7, 10], "fault": {"kind": "kill", "zone": "any"}}
    document["evaluate"] |= {"faults": {"down": down}, "objectives": ["losses == 0"]}
    path = folder / f"rollout-{rate_per_s:g}.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return Rollout.load(str(path))


def test_a_load_too_large_for_a_run_is_thinned_with_faults_and_shortened_without(tmp_path: Path):
    small, big = large(tmp_path, 40), large(tmp_path, 1_000)
    assert {kind.thinning for kind in small.year.cells} == {1}, "30 s of 120 messages a second fit"
    assert small.year.cells[0] == NO_FAULT
    assert all(kind.thinning > 1 for kind in big.year.cells if kind.fault)
    for kind in big.year.cells:
        load, scale = big.run(0, kind, 1).load, big.scale(0, kind)
        messages = 3 * load.rate_per_s * load.duration_s
        assert messages <= UNTHINNED_MESSAGES_MAX
        assert messages * scale.thinned_by * scale.shortened_by == pytest.approx(3_000 * big.year.load_s(kind))
    assert str(RunKind("a", 2, 40)) == "a for 2 s, thinned by 40"


def test_an_outage_of_twenty_minutes_is_simulated_as_long_as_it_is():
    rollout = Rollout.load(str(ROLLOUT))
    down = rollout.year.fault("any one zone down")
    assert (down.lasts_s, down.lengths_s[-1], down.passes) == (1_200, 1_200, "")
    scenario = rollout.run(0, down.cells[-1], 1)
    (fault,) = scenario.faults
    assert fault.for_s == 1_200
    assert sum(map(scenario.load.rate_of, scenario.zones)) * scenario.load.duration_s <= MESSAGES_MAX
    calm = RunKind(thinning=down.thinning)
    assert calm in rollout.year.cells
    same = rollout.run(0, calm, 1)
    assert (same.faults, same.consumers, same.load.rate_per_s) == ((), scenario.consumers, scenario.load.rate_per_s)


def planted(
    kind: RunKind, scale: RunScale, *, calm: Mapping[str, int] | None = None, passes: str = "", **counts: int
) -> SettingRates:
    """Return what runs of a load of 7,200 messages show, thinned as ``scale`` says where there is a fault.

    ``calm``: what runs without a fault show that are not thinned.
    """
    pushed = round(7_200 / scale.thinned_by)
    fault = YearlyFaults(
        name="down", per_year=2, lasts_s=10, lengths_s=(10,), loads_s=(60,), thinning=kind.thinning, passes=passes
    )
    alike = Observation(begun=pushed, numbers=scale.numbers(), samples={"push": [1_000] * pushed})
    shown = {
        RunKind(thinning=kind.thinning): alike,
        NO_FAULT: Observation(begun=7_200, counts=calm or {}, samples={"push": [1_000] * 7_200}),
        kind: replace(alike, counts=counts),
    }
    runs = {one: dict.fromkeys(range(400), run) for one, run in shown.items()}
    return SettingRates(Outcomes(runs), Year(run_s=60, faults=(fault,)))


THINNED, WHOLE = RunKind("down", 10, 7), RunKind("down", 10)
SCALE = RunScale(thinned_by=7.2)


@pytest.mark.parametrize(
    "text", ["losses < 1%", "losses < 1% with down", "losses == 0", "losses == 0 with down", "p99(push) < 1s with down"]
)
def test_what_thinned_runs_do_not_show_is_never_met_and_not_accepted_as_unseen(text: str):
    found = judge(planted(THINNED, SCALE), Objective.parsed(text), error=0.05)
    assert (found.status, found.unseen, found.hidden) == (ObjectiveStatus.OPEN, False, True)
    assert str(found).endswith("; thinned runs do not show it")
    whole = judge(planted(WHOLE, RunScale()), Objective.parsed(text), error=0.05)
    assert whole.unseen or whole.status is ObjectiveStatus.MET


@pytest.mark.parametrize("text", ["p50(push) < 1s with down", "redelivered < 1% with down"])
def test_what_survives_thinning_may_be_met_by_thinned_runs(text: str):
    assert judge(planted(THINNED, SCALE), Objective.parsed(text), error=0.05).status is ObjectiveStatus.MET


def test_cases_of_thinned_runs_count_for_the_load_that_they_stand_for():
    loss = Objective.parsed("losses < 1% with down")
    thin = planted(THINNED, SCALE, lost=3).outcomes
    assert float(thin.counted(THINNED, "losses").mean) == pytest.approx(3 * 7.2)
    assert float(thin.messages(THINNED).mean) == pytest.approx(7_200)
    assert float(thin.slower(THINNED, TimedOperation.PUSH, 0.0).mean[0]) == pytest.approx(7_200)
    assert thin.counted(THINNED, "losses").grain == pytest.approx(7.2)
    assert RunScale(thinned_by=7.2, shortened_by=2).cases("unavailable") == 2, "a larger load is away no longer"
    assert judge(planted(THINNED, SCALE, lost=100), loss, error=0.05).status is ObjectiveStatus.NOT_MET


def year_with_outages(per_year: float, *, slow: int = 0, calm_runs: int = 4) -> SettingRates:
    """Return what a year shows of whose runs with a fault, 600 s of load each, only thinned ones are known."""
    down = YearlyFaults(
        name="down", per_year=per_year, lasts_s=300, lengths_s=(300,), loads_s=(600,), thinning=7, lasts_span=None
    )
    year = Year(run_s=60, faults=(down,))
    rng = np.random.default_rng(1)
    calm = {
        seed: Observation(begun=7_200, samples={"push": np.where(rng.random(7_200) < slow / 7_200, 9e6, 1e3).tolist()})
        for seed in range(calm_runs)
    }
    thin = Observation(begun=1_000, numbers=SCALE.numbers(), samples={"push": [1_000] * 1_000})
    return SettingRates(Outcomes({NO_FAULT: calm, THINNED_LONG: {1: thin}, RunKind(thinning=7): {1: thin}}), year)


THINNED_LONG = RunKind("down", 300, 7)


def test_a_percentile_of_the_year_is_met_if_it_is_whatever_thinned_runs_hide():
    """10 outages are 0.02 % of a year's pushes, 1,000 are 1.9 %; one slow push in 200 is half of what p99 lets pass."""
    tail = Objective.parsed("p99(push) < 1s")
    assert judge(year_with_outages(10, slow=36), tail, error=0.001).status is ObjectiveStatus.MET
    often = judge(year_with_outages(1_000), tail, error=0.001)
    assert (often.status, often.hidden) == (ObjectiveStatus.OPEN, True)
    closely = judge(year_with_outages(200, slow=36, calm_runs=1), tail, error=0.001)
    assert (closely.status, closely.hidden) == (ObjectiveStatus.OPEN, False), "more runs without a fault decide it"
    assert closely.needs[NO_FAULT] > 1
    losses = judge(year_with_outages(10), Objective.parsed("losses < 1%"), error=0.001)
    assert losses.hidden, "one message may be lost more than once a message"


def compared(counts: tuple[int, int], *, runs: int, spread: int = 0) -> ObjectiveJudgement:
    """Return what is known of redelivered messages: so many of 1,000 in runs thinned by 40, and in those by 10."""
    down = YearlyFaults(name="down", per_year=2, lasts_s=10, lengths_s=(10,), loads_s=(60,), thinning=40)
    year = Year(run_s=60, faults=(down,), compared={40: 10})
    numbers = RunScale(thinned_by=40).numbers()

    def drawn(mean: int) -> dict[int, Observation]:
        return {
            seed: Observation(begun=1_000, counts={"redelivered": mean + spread * (seed % 3 - 1)}, numbers=numbers)
            for seed in range(runs)
        }

    shown = {kind: drawn(counts[kind == RunKind(thinning=10)]) for kind in year.cells}
    objective = Objective.parsed("redelivered < 20% with down")
    return judge(SettingRates(Outcomes(shown), year), objective, error=0.05)


def test_what_moves_with_thinning_is_open_and_named():
    same = compared((50, 50), runs=100, spread=5)
    assert (same.status, same.moved) == (ObjectiveStatus.MET, "")
    moved = compared((50, 60), runs=100, spread=5)
    assert (moved.status, moved.unseen) == (ObjectiveStatus.OPEN, False)
    assert str(moved).endswith("; it moves with thinning: 5% thinned by 40, 6% by 10")


def test_thinned_runs_are_drawn_until_they_can_be_5_percent_apart():
    few = compared((50, 50), runs=30, spread=20)
    assert few.status is ObjectiveStatus.OPEN
    assert "not known yet whether it moves with thinning: 5% thinned by 40, 5% by 10, up to " in str(few)
    wanted = max(few.needs.values())
    assert 30 < wanted < 1_000
    assert compared((50, 50), runs=wanted + 3, spread=20).status is ObjectiveStatus.MET


def test_less_thinned_runs_are_made_for_figures_that_thinning_should_leave(tmp_path: Path):
    document = yaml.safe_load(ROLLOUT.read_text(encoding="utf-8"))
    document["evaluate"]["objectives"].append("redelivered < 1% with any one zone down")
    path = tmp_path / "rollout.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    year, without = Rollout.load(str(path)).year, Rollout.load(str(ROLLOUT)).year
    thinning = year.fault("any one zone down").thinning
    assert set(year.cells) - set(without.cells) == {RunKind(thinning=thinning // 4)}
    assert year.less_thinned(RunKind(thinning=thinning)) == RunKind(thinning=thinning // 4)
    assert without.compared == {}


def lost_in_an_event(measured: SettingRates) -> float:
    return float(measured.estimate(Figure.parsed("losses"), "down"))


def test_what_a_fault_costs_is_told_beside_runs_that_are_thinned_alike(monkeypatch: pytest.MonkeyPatch):
    """Without a fault 1 % is lost, thinned nothing. A fault of 10 s, 1,200 messages, loses 3 x 7.2 more."""
    shown = planted(THINNED, SCALE, calm={"abandoned": 72}, lost=3)
    assert lost_in_an_event(shown) == pytest.approx((3 * 7.2 + 12) / 1_200)
    a_year_s = 365 * 86_400
    assert float(shown.estimate(Figure.parsed("losses"))) == pytest.approx(0.01 + 2 * 3 * 7.2 / (120 * a_year_s))
    monkeypatch.setattr(Year, "_beside", lambda year, weights: {NO_FAULT: -50 / 60 * sum(weights.values()), **weights})
    assert lost_in_an_event(shown) == 0, "what is not thinned in place of what is thinned alike is noticed"


@pytest.mark.parametrize("text", ["p50(push) < 1s with down", "redelivered < 1%", "losses == 0 with down"])
def test_what_no_simulated_fault_reaches_is_open_and_named(text: str):
    found = judge(planted(WHOLE, RunScale(), passes="the lease (30 s)"), Objective.parsed(text), error=0.05)
    assert (found.status, found.unseen) == (ObjectiveStatus.OPEN, False)
    assert str(found).endswith("; no simulated fault reaches the lease (30 s)")
    lost = planted(WHOLE, RunScale(), passes="the lease (30 s)", lost=100)
    assert judge(lost, Objective.parsed("losses == 0 with down"), error=0.05).status is ObjectiveStatus.NOT_MET


def a_tenth_as_long(folder: Path) -> Rollout:
    """Return one setting of the rollout, with leases, long jobs and runs a tenth as long."""
    document = yaml.safe_load(ROLLOUT.read_text(encoding="utf-8"))
    document["load"]["duration_s"] = 5
    document["consumers"] |= {
        "per_zone": 80,
        "processing": document["consumers"]["processing"].replace("40s", "4s"),
    }
    document["queue"] = {"mode": "default", "unack_ms": 3_000, "unack_interval_ms": 750}
    document |= {"level": "DC_QUORUM", "drain": {"bound_s": 12}}
    document["evaluate"] |= {"vary": {}, "faults": {}, "objectives": ["losses == 0"]}
    path = folder / "rollout.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return Rollout.load(str(path))


def test_what_thinning_hides_is_there_unthinned(tmp_path: Path):
    """Jobs that outlast their lease are left to nobody when many consumers take them; thinned, they never are."""
    run = EvaluationMeasure(a_tenth_as_long(tmp_path))
    whole = run((0, NO_FAULT, 1))
    thin = [run((0, RunKind(thinning=40), seed)) for seed in range(1, 13)]
    assert whole.counts["abandoned"] > 0
    assert sum(one.counts.get("abandoned", 0) for one in thin) == 0
    assert sum(one.counts.get("redelivered", 0) for one in thin) > 0
    assert [one.numbers["thinned_by"] for one in thin] == [40] * 12
    assert "thinned_by" not in whole.numbers
    shown = {NO_FAULT: [whole], RunKind(thinning=40): thin}
    found = {kind: judged_alone(kind, runs, "losses == 0") for kind, runs in shown.items()}
    assert found == {NO_FAULT: ObjectiveStatus.NOT_MET, RunKind(thinning=40): ObjectiveStatus.OPEN}


def judged_alone(kind: RunKind, runs: list[Observation], objective: str) -> ObjectiveStatus:
    """Return what these runs say if there are no others."""
    measured = SettingRates(Outcomes({kind: dict(enumerate(runs))}), Year(run_s=5, faults=(), calm=kind))
    return judge(measured, Objective.parsed(objective), error=0.05).status


def test_an_evaluation_of_a_large_load_names_what_thinned_runs_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("zonelab.studies.evaluate.rollout.UNTHINNED_MESSAGES_MAX", 40)
    monkeypatch.setattr("zonelab.studies.evaluate.rollout.MESSAGES_MAX", 20)
    fault = {"kind": "kill", "zone": "any"}
    down = {"per_year": 12, "lasts_s": 60, "lengths_s": [0.1, 0.2, 0.4], "fault": fault}
    section = {
        "objectives": ["p50(push) < 1s with down", "losses == 0", "p99(push) < 1s with down"],
        "accept": "unseen",
        "faults": {"down": down},
    }
    load = {"duration_s": 1, "rate_per_s": 20}
    document = {**SMALL, "evaluate": section, "load": load, "consumers": {"per_zone": 8}, "level": "DC_QUORUM"}
    (tmp_path / "rollout.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    zonelab_here("evaluate", "rollout.yaml", "--runs", "20", cwd=tmp_path)
    (folder,) = tmp_path.glob("runs/small/evaluate-*")
    told = json.loads((folder / "evaluate.json").read_text())
    assert any(", thinned by " in kind for kind in told["runs"]), told["runs"]
    median, losses, tail = told["settings"][0]["objectives"]
    assert not median["hidden"]
    assert [one["status"] for one in (losses, tail)] in (["open", "open"], ["not met", "open"], ["not met", "not met"])
    assert "none" in str(losses["told"]) or losses["status"] == "not met"
    assert all(one["hidden"] for one in (losses, tail) if one["status"] == "open")
    assert told["exit_code"] != 0


def first_answer_messages(folder: Path, times: int) -> float:
    """Return the messages of the runs before a first answer, of the rollout with so many times the load."""
    document = yaml.safe_load(ROLLOUT.read_text(encoding="utf-8"))
    document["load"]["rate_per_s"] *= times
    document["consumers"]["per_zone"] *= times
    path = folder / f"times-{times}.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    rollout = Rollout.load(str(path))
    (kind,) = first_stages(rollout.year, rollout.evaluate.objectives, Budget(seconds=900.0, jobs=2))[0].kinds
    for cell in rollout.year.cells:
        scenario = rollout.run(0, cell, 1)
        assert 3 * scenario.consumers.per_zone <= CONSUMERS_MAX, "idle consumers would be most of a run"
        messages = sum(map(scenario.load.rate_of, scenario.zones)) * scenario.load.duration_s
        assert messages <= (MESSAGES_MAX if cell.fault else UNTHINNED_MESSAGES_MAX)
    first = rollout.run(0, kind, 1)
    assert first.faults == ()
    return FEWEST * len(rollout.settings) * 3 * first.load.rate_per_s * first.load.duration_s


def test_a_first_answer_costs_the_same_whatever_the_load(tmp_path: Path):
    """A minute of two processors, at 200 messages a second each, is 24,000 messages."""
    small, big, huge = (first_answer_messages(tmp_path, times) for times in (1, 10, 50))
    assert small < 24_000 / 1.5
    assert max(big, huge) < 1.2 * small


def test_the_rollout_of_the_benchmarks_asks_what_its_user_asked():
    """Three zones, 120 jobs a second, work longer than leases, an outage, restarts and a flap; twelve settings."""
    rollout = Rollout.load(str(ROLLOUT))
    scenario, faults = rollout.scenario, rollout.evaluate.faults
    assert sum(map(scenario.load.rate_of, scenario.zones)) == 120
    assert len(rollout.settings) == 12
    assert scenario.replication.time_factor == 1
    kinds = {part.fault["kind"]: one for one in faults.values() for part in one.fault}
    often = {kind: (one.per_year.middle, one.lasts_s.middle) for kind, one in kinds.items()}
    assert often == {"zone_outage": (2, 1_200), "kill": (52, 10), "flap": (52, 30)}
