"""Goal: whoever decides reads the next setting, its cost, the nearest change. Method: planted rollouts and changes."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support.analysis.planted_rollouts import ROLLOUTS
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.activity_parts import WAITED_S, ActivityParts
from zonelab.analysis.rates.decisive_inputs import DecisiveInput
from zonelab.analysis.rates.objectives import YEAR_S
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.samples import Estimate
from zonelab.analysis.rates.year import NO_FAULT, RunKind
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


def shown(cells: dict[RunKind, tuple[int, float]]) -> Outcomes:
    """Return runs of so many messages and seconds of waiting, at 20 commands a message and 30 a second of waiting."""

    def run(messages: int, waited_s: float, seed: int) -> Observation:
        commands = (20 * messages + 30 * waited_s) * (1 + 0.001 * seed)
        numbers = {"commands": commands, "bytes": 100 * commands, WAITED_S: waited_s}
        return Observation(begun=messages, numbers=numbers)

    return Outcomes({cell: {seed: run(*size, seed) for seed in range(3)} for cell, size in cells.items()})


def test_commands_and_bytes_of_a_year_are_those_of_messages_and_of_waiting(tmp_path: Path) -> None:
    """Runs wait for 5 s a message, thinned ones for 2; the year, whose programs work half of the time, for 0.15."""
    made, commands = rollout(tmp_path), Estimate(*map(np.asarray, (170.0, 160.0, 180.0)))
    outcomes = shown({NO_FAULT: (1_000, 5_000.0), RunKind(thinning=4): (600, 1_200.0)})
    found = YearlyCost.of(made.settings[0].scenario, made.year, commands, prices=None, outcomes=outcomes)
    assert found is not None
    waited_s = 9 * (1 - found.busy) * YEAR_S
    assert found.all_commands == pytest.approx(20 * found.messages + 30 * waited_s, rel=0.01)
    assert found.sent_bytes == pytest.approx(100 * found.all_commands, rel=0.01)
    assert found.all_commands < 0.5 * float(found.commands.value), "waiting at the end of runs is none of the year's"
    first, second, *_ = found.sentences()
    assert "20 a message, 30 a second of each program that waits) for 946 million messages" in first
    assert second.endswith("2 kB a message, 3 kB a second of each program that waits")


def test_parts_are_told_only_where_runs_wait_for_different_times_a_message(tmp_path: Path) -> None:
    alike = shown({NO_FAULT: (1_000, 5_000.0), RunKind(thinning=4): (600, 3_000.0)})
    assert ActivityParts.of(alike, "commands") is None
    assert ActivityParts.of(Outcomes({}), "bytes") is None
    made, commands = rollout(tmp_path), Estimate(*map(np.asarray, (170.0, 160.0, 180.0)))
    found = YearlyCost.of(made.settings[0].scenario, made.year, commands, prices=None, outcomes=alike)
    assert found is not None
    assert found.all_commands == float(found.commands.value)
    assert found.sent_bytes == pytest.approx(17_000 * found.messages, rel=0.01), "of all commands alike"


def test_bytes_between_zones_have_their_price(tmp_path: Path) -> None:
    made, commands = rollout(tmp_path, prices={"gb_between_zones": "0.01..0.02"}), Estimate(*map(np.asarray, (1, 1, 1)))
    outcomes = shown({NO_FAULT: (1_000, 5_000.0)})
    found = YearlyCost.of(
        made.settings[0].scenario, made.year, commands, prices=made.evaluate.prices, outcomes=outcomes
    )
    assert found is not None
    assert found.price is not None
    assert found.price.low == pytest.approx(0.01 * (found.sent_bytes or 0) / 1e9)
    assert found.price.high == pytest.approx(2 * found.price.low)
