"""Goal: whoever decides reads the next setting, its cost, the nearest change. Method: planted rollouts and changes."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support.analysis.planted_rollouts import ROLLOUTS
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.rates.decisive_inputs import DecisiveInput
from zonelab.analysis.rates.objectives import YEAR_S
from zonelab.analysis.rates.samples import Estimate
from zonelab.scenarios.errors import ScenarioError
from zonelab.studies.evaluate.decision_brief import NO_CHANGE, nearest_change, runner_up
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.yearly_cost import YearlyCost

DOWN = {"per_year": 2, "lasts_s": 1200, "lengths_s": [0.1, 0.2, 0.5], "fault": {"kind": "kill", "zone": "any"}}


def rollout(folder: Path, **evaluate: object) -> Rollout:
    """A rollout of 30 messages a second, 200 bytes each, which 3 programs a zone work on for 50 ms."""
    section = {"objectives": ["p99(push) < 1s"], "faults": {"any zone": DOWN}, **evaluate}
    load = {"duration_s": 1, "rate_per_s": 10, "payload_bytes": 200}
    consumers = {"per_zone": 3, "processing": "50ms"}
    file = folder / "rollout.yaml"
    whole = {**SMALL, "topology": {"zones": ["a", "b", "c"]}, "load": load, "consumers": consumers, "evaluate": section}
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return Rollout.load(str(file))


def cost(made: Rollout) -> YearlyCost:
    commands = Estimate(*map(np.asarray, (20.0, 18.0, 22.0)))
    found = YearlyCost.of(made.settings[0].scenario, made.year, commands, prices=made.evaluate.prices)
    assert found is not None
    return found


def test_the_runner_up_is_a_tie_then_what_is_behind_then_the_least_missed() -> None:
    assert runner_up(ROLLOUTS["a tie"].decided(seed=1)) in ROLLOUTS["a tie"].settings
    tie = ROLLOUTS["a tie"].decided(seed=1)
    assert runner_up(tie) in tie.tied
    assert runner_up(ROLLOUTS["the cheapest does"].decided(seed=1)) == "quorum"
    lost = ROLLOUTS["loss decides"].decided(seed=1)
    assert runner_up(lost) == "safe", "the rejected one comes last"


def test_the_nearest_change_is_that_by_the_least_factor_up_or_down() -> None:
    many = [
        DecisiveInput(what=name, now="1", then="2", answer="x", factor=factor)
        for name, factor in (("far", 30.0), ("near", 0.7), ("middle", 2.0))
    ]
    assert nearest_change(many).startswith("near: 1 → 2 makes it x; 2 more below")
    assert nearest_change([]) == NO_CHANGE


def test_a_year_costs_commands_memory_for_the_longest_outage_and_programs(tmp_path: Path) -> None:
    found = cost(rollout(tmp_path))
    assert found.messages == 30 * YEAR_S
    assert float(found.commands.value) == pytest.approx(600 * YEAR_S)
    assert (found.backlog, found.backlog_bytes) == (36_000, 7_200_000), "twenty minutes of all zones"
    assert (found.programs, found.busy) == (9, pytest.approx(10 * 0.05 / 3))
    commands, memory, programs = found.sentences()
    assert commands == "18.9 billion commands (17 billion to 20.8 billion) for 946 million messages"
    assert "36,000 messages, 7.2 MB of payloads" in memory
    assert "'any zone' (20min)" in memory
    assert programs == "9 programs that take messages, at work 16.7% of the time"


def test_prices_of_the_file_are_ends_of_what_it_costs(tmp_path: Path) -> None:
    found = cost(rollout(tmp_path, prices={"million_commands": "1..2", "program": 100}))
    assert found.price is not None
    millions = 600 * YEAR_S / 1e6
    assert (found.price.low, found.price.high) == (pytest.approx(millions + 900), pytest.approx(2 * millions + 900))
    assert list(found.sentences())[-1] == "19,822 to 38,743 by the prices of the file"


@pytest.mark.parametrize("prices", [{"programs": 1}, {"program": "6..1"}, {"program": "cheap"}])
def test_a_wrong_price_is_refused_with_its_place(tmp_path: Path, prices: dict[str, object]) -> None:
    with pytest.raises(ScenarioError, match=r"evaluate\.prices\.program"):
        rollout(tmp_path, prices=prices)
