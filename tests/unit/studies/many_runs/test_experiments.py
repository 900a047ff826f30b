"""Goal: results are never taken for those of another experiment, whichever input has changed under the same name.

Method: every field of every model that decides a run, one at a time; a new field fails until it is named here.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from support.scenarios.sim_runs import SMALL

from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.spec.evaluate import Evaluate, ExpectedFaults
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.hunt.seeds import HuntTarget
from zonelab.studies.limit.limits import limits_of
from zonelab.studies.sweep.settings import settings_of
from zonelab.studies.sweep.sweep import sweep_of

SECTION = {
    "vary": {"level": ["DC_ONE", "DC_QUORUM"]},
    "objectives": ["p99(push) < 1s", "lost == 0 with down"],
    "prefer": ["p50(push)"],
    "faults": {
        "down": {
            "per_year": 12,
            "lasts_s": 60,
            "fault": {"kind": "kill", "zone": "any"},
            "lengths_s": [0.1, 0.2, 0.4],
        }
    },
}
LOAD = {"duration_s": 1, "rate_per_s": 10}


def models(value: Any, told: Any) -> Iterator[tuple[BaseModel, Any]]:
    """Every model in ``value`` beside what was written of it."""
    if isinstance(value, BaseModel):
        yield value, told
        for name in type(value).model_fields:
            yield from models(getattr(value, name), told.get(name) if isinstance(told, dict) else None)
    elif isinstance(value, list | tuple) and isinstance(told, list):
        for one, written in zip(value, told, strict=True):
            yield from models(one, written)
    elif isinstance(value, dict) and isinstance(told, dict):
        for name, one in value.items():
            yield from models(one, told.get(name))


@pytest.mark.parametrize("name", ["every-fault", "lock-race", "order-states", "zone-crash"])
def test_every_field_of_a_scenario_is_written_of_which_its_identity_is_made(name: str) -> None:
    scenario = load_scenario(name)
    told = yaml.safe_load(dump_scenario(scenario))
    for model, written in models(scenario, told):
        assert set(written) == set(type(model).model_fields), type(model).__name__


def rollout(folder: Path, **changes: Any) -> Evaluation:
    path = folder / "rollout.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "evaluate": {**SECTION, **changes}, "load": LOAD}), encoding="utf-8")
    return Evaluation(Rollout.load(str(path)))


def changed_fault(**changes: Any) -> dict[str, Any]:
    return {"faults": {"down": {**SECTION["faults"]["down"], **changes}}}


DECIDES = {
    "vary": {"vary": {"level": ["DC_ONE", "DC_SAFE_QUORUM"]}},
    "faults": {"faults": {}, "objectives": ["p99(push) < 1s"]},
    "fault": changed_fault(fault={"kind": "pause", "zone": "any"}),
    "fault of one zone": changed_fault(fault={"kind": "kill", "zone": "b"}),
    "lengths_s": changed_fault(lengths_s=[0.1, 0.2, 0.5]),
}
JUDGES = {
    "accept": {"accept": "unseen"},
    "objectives": {"objectives": ["p99(push) < 2s"]},
    "prefer": {"prefer": ["p99(push)"]},
    "per_year": changed_fault(per_year=13),
    "lasts_s": changed_fault(lasts_s=61),
    "verify": {"verify": {"p99(push)": "p99"}},
    "prices": {"prices": {"program": "1..6"}},
    "inputs": {"inputs": {"rate": "0.5..2"}},  # Runs at the ends are an experiment of their own.
}


def test_every_field_of_an_evaluation_decides_its_runs_or_only_how_they_are_judged(tmp_path: Path) -> None:
    assert {*Evaluate.model_fields, *ExpectedFaults.model_fields} == {*DECIDES, *JUDGES} - {"fault of one zone"}
    now = rollout(tmp_path).experiment.identity
    for name, changes in DECIDES.items():
        assert rollout(tmp_path, **changes).experiment.identity != now, name
    for name, changes in JUDGES.items():
        assert rollout(tmp_path, **changes).experiment.identity == now, f"{name}: results are kept"


def test_every_field_of_a_hunt_a_sweep_and_a_limit_makes_another_experiment() -> None:
    def other(*args: Any, **settings: Any) -> Any:
        return queue_under_test(*args, **settings)

    hunt = HuntTarget(scenario=load_scenario("steady"))
    hunts = {"scenario": load_scenario("steady", overrides=["seed=9"]), "messages": 7, "make_queue": other}
    assert set(hunts) == {field.name for field in fields(HuntTarget)}
    for name, value in hunts.items():
        assert replace(hunt, **{name: value}).experiment(()).identity != hunt.experiment(()).identity, name
    settings, others = (
        settings_of("steady", vary=[f"level=DC_ONE,{level}"]) for level in ("DC_QUORUM", "DC_SAFE_QUORUM")
    )
    sweeps = sweep_of(settings, ()), sweep_of(others, ()), sweep_of(settings, (), messages=7)
    assert len({one.identity for one in (*sweeps, limits_of(settings, ()), limits_of(others, ()))}) == 5


def test_a_trace_that_holds_something_else_under_the_same_name_makes_another_experiment(tmp_path: Path) -> None:
    trace = tmp_path / "lags.txt"
    lag = f"trace:{trace}"

    def experiments() -> list[str]:
        override = [f"links.lag={lag}"]
        fault = {"kind": "lag", "link": "a>b", "lag": lag}
        return [
            HuntTarget(scenario=load_scenario("steady", overrides=override)).experiment(()).identity,
            sweep_of(settings_of("steady", vary=[], overrides=override), ()).identity,
            rollout(tmp_path, **changed_fault(fault=fault)).experiment.identity,
        ]

    trace.write_text("1\n2\n3\n", encoding="utf-8")
    before = experiments()
    assert experiments() == before
    trace.write_text("1\n2\n30\n", encoding="utf-8")
    assert [one == other for one, other in zip(before, experiments(), strict=True)] == [False, False, False]
