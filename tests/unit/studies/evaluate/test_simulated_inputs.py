"""Goal: an objective is met only if it is at every simulated end of rate, lag and work. Method: planted ends, runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.analysis.planted_rollouts import ROLLOUTS, Rollout, Setting
from support.app.commands import zonelab_here
from support.scenarios.sim_runs import SMALL, small

from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.scenarios.errors import ScenarioError
from zonelab.studies.evaluate.simulated_inputs import InputEnd, at_every_end, finalists, scaled

PLANTED = ROLLOUTS["the cheapest does"]


def end(**setting: float) -> InputEnd:
    """An end of the lag at which the recommended setting is another one."""
    settings = {**PLANTED.settings, "one": Setting(**{"push_ms": 1.0, **setting})}
    found = Rollout(settings=settings, objectives=PLANTED.objectives, recommended="one").decided(seed=1)
    return InputEnd(what="lag", factor=3.0, found=found)


def test_what_is_met_at_every_end_stays_met_and_what_is_not_becomes_open_and_says_where() -> None:
    found = PLANTED.decided(seed=1)
    assert at_every_end(found, [end()]) == found
    slower = at_every_end(found, [end(), end(push_ms=200.0)])
    row = next(row for row in slower.rows if row.setting == "one")
    push, duplicates = row.judged
    assert (push.status, push.unseen, duplicates.status) == (ObjectiveStatus.OPEN, False, ObjectiveStatus.MET)
    assert "; at 3 times the lag it is not met: " in str(push)
    assert row.open == (push,)
    assert "one" in slower.undecided


def test_settings_that_are_no_finalists_and_objectives_that_are_not_met_stay_as_they_are() -> None:
    found = PLANTED.decided(seed=1)
    assert finalists(found) == ["one"]
    other = at_every_end(found, [end(push_ms=200.0)])
    assert [row for row in other.rows if row.setting == "quorum"] == [
        row for row in found.rows if row.setting == "quorum"
    ]
    lost = ROLLOUTS["none qualifies"].decided(seed=1)
    assert at_every_end(lost, [end()]) == lost


def test_an_end_without_runs_leaves_everything_open() -> None:
    never = replace(end(), found=None)
    row = next(row for row in at_every_end(PLANTED.decided(seed=1), [never]).rows if row.setting == "one")
    assert [str(one).partition("; ")[2] for one in row.open] == 2 * ["at 3 times the lag: no time for runs"]


def test_rate_lag_and_work_are_scaled_and_nothing_else() -> None:
    base = small(links={"lag": "lognormal:1ms:5ms", "overrides": {"a>b": "0.5*constant:2ms + 0.5*uniform:1ms:3ms"}})
    lag = scaled(base, "lag", 2.0)
    assert lag.links.lag == "lognormal:2ms:10ms"
    assert lag.links.overrides == {"a>b": "0.5*constant:4ms + 0.5*uniform:2ms:6ms"}
    assert lag.model_copy(update={"links": base.links}) == base
    work = scaled(base, "work", 0.5)
    assert work.consumers.processing == "exponential:1.5ms"
    assert work.model_copy(update={"consumers": base.consumers}) == base
    assert scaled(base, "rate", 3.0).load.rate_per_s == 45
    assert scaled(small(load={"rate_per_s": {"a": 2, "b": 4}}), "rate", 0.5).load.rate_of("b") == 2
    with pytest.raises(ScenarioError, match=r"evaluate\.inputs\.lag: got '0'"):
        scaled(small(links={"lag": "0"}), "lag", 2.0)


def evaluated(folder: Path, *words: str, **inputs: Any) -> tuple[int, str, dict[str, Any]]:
    evaluate = {"objectives": ["p50(push) < 12ms"], "inputs": inputs}
    whole = {**SMALL, "level": "DC_QUORUM", "load": {"duration_s": 1, "rate_per_s": 20}, "evaluate": evaluate}
    (folder / "rollout.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    done = zonelab_here("evaluate", "rollout.yaml", *words, cwd=folder)
    files = list(folder.rglob("evaluate.json"))
    return done.returncode, done.stdout + done.stderr, json.loads(files[0].read_text()) if files else {}


def test_an_evaluation_runs_finalists_at_the_ends_and_says_at_which_one_it_is_not_met(tmp_path: Path) -> None:
    code, printed, told = evaluated(tmp_path, "--runs", "12", lag="1..10")
    assert [(one["what"], one["factor"]) for one in told["ends"]] == [("lag", 10.0)]
    (judged,) = told["settings"][0]["objectives"]
    assert (judged["status"], code) == ("open", 2)
    assert "at 10 times the lag it is not met" in " ".join(printed.split())
    assert "but not proven, as open: p50(push) < 12ms" in told["answer"]


@pytest.mark.parametrize("span", ["2..3", "0..2", "3..1", "much"])
def test_factors_that_are_not_around_one_are_refused(tmp_path: Path, span: str) -> None:
    code, printed, _ = evaluated(tmp_path, "--runs", "12", rate=span)
    assert code == 64
    assert "evaluate.inputs.rate: got" in printed
