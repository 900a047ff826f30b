"""Goal: an ablation tells what a mechanism prevents, and of others nothing. Method: plants, and short runs."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support.app.commands import zonelab_here
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.objectives import Figure
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import NO_FAULT, RunKind
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.studies.evaluate.ablation_runs import PART, AblationRuns, mechanisms_off
from zonelab.studies.evaluate.ablations import ablations_of
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.rollout import Rollout

KILL = RunKind("kill", 5.0)


def outcomes(*, again: float = 0.0, pairs: int = 12, kinds: tuple[RunKind, ...] = (NO_FAULT, KILL)) -> Outcomes:
    """Runs of 100 messages: what the seed decides is the same in all of them, and ``again`` a message comes on top."""
    found: dict[RunKind, dict[int, Observation]] = {}
    for place, kind in enumerate(kinds):
        found[kind] = {}
        for seed in range(pairs):
            rng = np.random.default_rng([place, seed])
            common, more = int(rng.poisson(3)), int(rng.poisson(100 * again)) if again else 0
            found[kind][seed] = Observation(begun=100, counts={"redelivered": common + more}, numbers={"commands": 900})
    return Outcomes(found)


def test_only_a_mechanism_that_prevents_something_has_an_effect() -> None:
    without = {"renews": outcomes(again=0.07), "idle": outcomes()}
    found = ablations_of("x", outcomes(), without, [NO_FAULT, KILL])
    assert {(one.mechanism, one.kind, str(one.figure)) for one in found.effects} == {
        ("renews", kind, "duplicates") for kind in (NO_FAULT, KILL)
    }
    calm = next(one for one in found.effects if one.kind == NO_FAULT)
    assert calm.more == pytest.approx(0.07, rel=0.3)
    assert "% a message more of duplicates without a fault (12 pairs)" in str(calm)
    assert found.alike == ("idle",)
    assert found.more_of(Figure.parsed("duplicates"), "renews") is not None
    assert found.more_of(Figure.parsed("losses"), "renews") is None


def test_kinds_with_too_few_pairs_are_missing_and_not_alike() -> None:
    few = outcomes(pairs=5, again=5.0)
    assert ablations_of("x", outcomes(), {"renews": few}, [NO_FAULT]).missing == (NO_FAULT,)
    calm = outcomes(again=0.07, kinds=(NO_FAULT,))
    found = ablations_of("x", outcomes(), {"renews": calm}, [NO_FAULT, KILL])
    assert found.missing == (KILL,)
    assert list(found.sentences())[-1] == "no time for enough pairs of runs: kill for 5 s"


def test_chance_is_no_effect_in_nineteen_of_twenty_tables() -> None:
    """Without a mechanism other seeds are drawn, so pairs differ, but by chance alone."""
    wrong = 0
    for table in range(100):
        runs = [
            Outcomes(
                {
                    NO_FAULT: {
                        seed: Observation(
                            begun=100,
                            counts={"redelivered": int(np.random.default_rng([table, side, seed]).poisson(4))},
                        )
                        for seed in range(8)
                    }
                }
            )
            for side in range(6)
        ]
        found = ablations_of("x", runs[0], {str(place): one for place, one in enumerate(runs[1:])}, [NO_FAULT])
        wrong += bool(found.effects)
    assert wrong <= 10


@pytest.mark.parametrize(
    ("queue", "has", "lacks"),
    [
        ({"mode": "hardened"}, "lease-heartbeat", "lease-nx"),
        ({"mode": "default"}, "lease-nx", "lease-heartbeat"),
    ],
)
def test_a_queue_is_tried_without_what_its_mode_has(queue: dict[str, str], has: str, lacks: str) -> None:
    names = mechanisms_off(scenario_of({**SMALL, "queue": {**SMALL["queue"], **queue}}, source="x"))
    assert has in names
    assert lacks not in names
    assert "warm-restart" not in names, "it is of the servers, and not of the queue"


def file(folder: Path) -> Path:
    """Work is longer than the shorter lease, which only renewals hide."""
    evaluate = {"vary": {"queue.unack_ms": [400, 800]}, "objectives": ["duplicates < 50%"], "prefer": ["p99(push)"]}
    whole = {
        **SMALL,
        "queue": {"mode": "hardened", "unack_ms": 400, "unack_interval_ms": 100},
        "load": {"duration_s": 1, "rate_per_s": 5},
        "consumers": {"per_zone": 2, "batch": 1, "wait_ms": 100, "processing": "0.6*constant:50ms + 0.4*constant:1s"},
        "evaluate": evaluate,
    }
    path = folder / "rollout.yaml"
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return path


def test_an_answer_says_which_mechanism_makes_leases_alike(tmp_path: Path) -> None:
    file(tmp_path)
    done = zonelab_here("evaluate", "rollout.yaml", "--runs", "80", cwd=tmp_path)
    assert "lease-heartbeat off: " in done.stdout
    assert "more of duplicates without a fault (8 pairs)" in " ".join(done.stdout.split())
    assert "duplicates; leases are renewed (lease-heartbeat off: " in " ".join(done.stdout.split())
    page = next(tmp_path.rglob("report.html")).read_text()
    assert "without a mechanism of its queue" in page
    assert "lease-heartbeat off: " in page


def test_a_part_of_a_time_is_kept_for_ablations_and_nothing_of_what_cannot_be_ablated(tmp_path: Path) -> None:
    evaluation = Evaluation(Rollout.load(str(file(tmp_path))))
    budget = Budget(seconds=100.0)
    runs = AblationRuns.within(budget, evaluation)
    assert runs.seconds == pytest.approx(100 * PART)
    assert runs.rest(budget).seconds == pytest.approx(100 * (1 - PART))
    assert AblationRuns.within(Budget(runs=50), evaluation).pairs < 6, "too few to tell anything, so none is made"
    plain = Evaluation(Rollout.load(str(file(tmp_path)), overrides=["queue.mode=default", "queue.compat=true"]))
    assert AblationRuns.within(budget, plain).rest(budget) == budget
