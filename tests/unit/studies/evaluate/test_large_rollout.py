"""Goal: fifteen minutes of two processors decide what they can of benchmarks/rollout-120.yaml, and say what is left.

Method: the file as it is, with its twelve settings and ten kinds of runs. Runs are planted: they take what runs of this
file took of a processor (5 ms a message with few consumers, twice as long with 200), and show what these showed:
default mode abandons messages unthinned if jobs outlast the lease, and loses some in an outage; hardened mode neither.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from support.project_files import ROOT
from support.studies.planted_outcomes import Planted

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.recommendation import Recommendation
from zonelab.analysis.rates.year import NO_FAULT, RunKind
from zonelab.scenarios.spec.thinning import CONSUMERS_DOUBLING, MESSAGES_MAX
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation, EvaluationRounds
from zonelab.studies.evaluate.one_run import PROCESSOR_S
from zonelab.studies.evaluate.rollout import Rollout

ROLLOUT = Rollout.load(str(ROOT / "benchmarks/rollout-120.yaml"))
PLACES = {one.name: place for place, one in enumerate(ROLLOUT.settings)}
OUTAGE = "any one zone down"
JOBS = 2
MESSAGE_S = 0.005
QUARTER_OF_AN_HOUR_S = 900.0
ABLATIONS = 0.15
"""Part of a budget that goes to ablations, before the evaluation has the rest."""


def messages_and_consumers(cell: RunKind) -> tuple[int, int]:
    scenario = ROLLOUT.run(0, cell, 1)
    messages = sum(map(scenario.load.rate_of, scenario.zones)) * scenario.load.duration_s
    return round(messages), scenario.consumers.per_zone * len(scenario.zones)


def run_s(cell: RunKind) -> float:
    messages, consumers = messages_and_consumers(cell)
    return messages * MESSAGE_S * (1 + consumers / CONSUMERS_DOUBLING)


@dataclass
class Runs:
    """Planted runs of a machine that is ``slower`` so many times than the one that was measured."""

    slower: float = 1.0
    now_s: float = 0.0
    made: list[tuple[str, RunKind]] = field(default_factory=list)
    first: list[tuple[float, Recommendation]] = field(default_factory=list)

    def make(self, setting: str, cell: RunKind, seed: int) -> Observation:
        (messages, _), took_s = messages_and_consumers(cell), run_s(cell) * self.slower
        self.now_s += took_s / JOBS
        self.made.append((setting, cell))
        rng = np.random.default_rng(seed)
        median_us = 50 if "DC_ONE" in setting else 5_000
        times = np.rint(median_us * (0.8 + rng.exponential(0.2, messages))).astype(int)
        scale = ROLLOUT.scale(PLACES[setting], cell).numbers()
        return Observation(
            begun=messages,
            counts=_cases(setting, cell, messages),
            numbers={"commands": 10.0 * messages, PROCESSOR_S: took_s, **scale},
            samples={"push": times.tolist(), "lease": [500] * times.size},
        )

    def evaluated(self, seconds: float, first_seed: int) -> EvaluationRounds:
        workers, rest = Planted(self.make), Budget(seconds=(1 - ABLATIONS) * seconds, jobs=JOBS)
        evaluation = Evaluation(ROLLOUT, workers=workers, now_s=lambda: self.now_s, first_seed=first_seed)
        evaluation.first_answer = lambda found, after_s: self.first.append((after_s, found))
        with TemporaryDirectory() as folder, evaluation.experiment.state(Path(folder)) as state:
            return evaluation.run(rest, state=state)


def _cases(setting: str, cell: RunKind, messages: int) -> Mapping[str, int]:
    if "mode=hardened" in setting:
        return {}
    outlasted = "unack_ms=30000" in setting
    return {
        "redelivered": round(0.05 * messages) if outlasted else 0,
        "abandoned": round(0.03 * messages) if outlasted and cell == NO_FAULT else 0,
        "stuck": 3 if cell.fault == OUTAGE else 0,
    }


@cache
def evaluated(
    first_seed: int, seconds: float = QUARTER_OF_AN_HOUR_S, slower: float = 1.0
) -> tuple[Runs, EvaluationRounds]:
    runs = Runs(slower=slower)
    return runs, runs.evaluated(seconds, first_seed)


@pytest.fixture(autouse=True)
def no_trial_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("zonelab.studies.evaluate.evaluation.EvaluationMeasure", lambda rollout: lambda which: None)


def statuses(done: EvaluationRounds, text: str) -> Mapping[str, ObjectiveStatus]:
    place = ROLLOUT.evaluate.objectives.index(Objective.parsed(text))
    return {row.setting: row.judged[place].status for row in done.found.rows}


def test_no_run_takes_longer_than_the_messages_that_one_may_have():
    for cell in ROLLOUT.year.cells:
        if cell.fault is not None:
            assert run_s(cell) <= MESSAGES_MAX * MESSAGE_S


def test_default_mode_is_rejected_for_what_it_loses_and_every_row_is_decided_or_has_its_time():
    runs, done = evaluated(1)
    losses = statuses(done, "losses == 0")
    assert {name for name, one in losses.items() if one is ObjectiveStatus.NOT_MET} == {
        name for name in losses if "mode=default" in name
    }
    assert set(statuses(done, "p99(push) < 30ms").values()) == {ObjectiveStatus.MET}
    unthinned = Counter(setting for setting, cell in runs.made if cell == NO_FAULT)
    assert unthinned.keys() == PLACES.keys(), "one unthinned run of each setting"
    for row in done.found.rows:
        for one in row.judged:
            if one.is_open and not one.objective.is_zero:
                assert (done.needs_s[row.setting, one.objective] or 0) > QUARTER_OF_AN_HOUR_S, (row.setting, one)
    assert "mode=hardened" in (done.found.recommended or "")


def test_the_first_answer_comes_within_a_minute_and_the_budget_is_kept():
    runs, _ = evaluated(1)
    ((after_s, _),) = runs.first
    assert after_s <= 60
    longest_s = max(map(run_s, ROLLOUT.year.cells))
    assert runs.now_s <= (1 - ABLATIONS) * QUARTER_OF_AN_HOUR_S + longest_s


def test_three_seeds_agree():
    """One of them on a machine half as fast: the same recommendation, a tie, or open for want of a run; and nothing met
    here and not met there.
    """
    found = [evaluated(seed, slower=slower)[1].found for seed, slower in ((1, 1.0), (1_001, 1.0), (2_001, 2.0))]
    without_runs = [[row.setting for row in one.rows if row.is_possible and not row.is_known] for one in found]
    best = [{one.recommended, *one.tied, *others} for one, others in zip(found, without_runs, strict=True)]
    assert set.intersection(*best), "nothing speaks against what another one recommends"
    assert all(one.recommended for one in found)
    for rows in zip(*(one.rows for one in found), strict=True):
        for judged in zip(*(row.judged for row in rows), strict=True):
            assert not {ObjectiveStatus.MET, ObjectiveStatus.NOT_MET} <= {one.status for one in judged}
