"""Goal: an event of a class of faults is what the file says, in one place, and as long as it really is where it can be.

Method: the scenarios of single runs, and the arithmetic of made-up runs whose truth is known.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.rates.year import NO_FAULT, Year, YearlyFaults
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate import rollout as rollouts
from zonelab.studies.evaluate.outage_limits import beyond, shortened
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.template import TEMPLATE

KILLED_AND_CUT = [
    {"kind": "kill", "zone": "any"},
    {"kind": "cut", "isolate": "any", "after_s": 0.5, "for_s": 2},
]
SEEDS = range(1, 13)


def rollout(folder: Path, fault: Any, *, persistence: str = "none", **changes: Any) -> Rollout:
    """One setting, with one class of faults."""
    named = {"per_year": 2, "lasts_s": 20, "fault": fault, **changes}
    section = {
        "objectives": ["p99(push) < 1s"],
        "faults": {"outage": {name: value for name, value in named.items() if value is not None}},
    }
    path = folder / "rollout.yaml"
    load = {"duration_s": 4, "rate_per_s": 5}
    whole = {**SMALL, "evaluate": section, "load": load, "persistence": persistence}
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return Rollout.load(str(path))


def events(asked: Rollout) -> list[Scenario]:
    return [asked.run(0, asked.year.cells[-1], seed) for seed in SEEDS]


def times(asked: Rollout) -> list[list[tuple[str, float, float]]]:
    """Return what happens in an event of each length, when and for how long."""
    return [[(one.kind, one.at_s, one.for_s) for one in asked.run(0, cell, 1).faults] for cell in asked.year.cells[1:]]


def differing(runs: list[Scenario]) -> set[tuple[str, ...]]:
    """The targets of events whose faults are not in one zone."""
    return {places for run in runs if len(set(places := tuple(one.target for one in run.faults))) > 1}


class TestFaultsThatHappenTogether:
    def test_all_of_them_are_in_the_zone_that_the_seed_says_and_every_zone_has_its_turn(self, tmp_path: Path) -> None:
        runs = events(rollout(tmp_path, KILLED_AND_CUT))
        assert differing(runs) == set()
        assert sorted(run.faults[0].target for run in runs) == [zone for zone in "abc" for _ in range(4)]

    def test_parts_that_draw_places_of_their_own_would_be_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        placed, drawn = rollouts.placed, iter(range(10_000))
        monkeypatch.setattr(rollouts, "placed", lambda fault, targets, _: placed(fault, targets, next(drawn)))
        assert differing(events(rollout(tmp_path, KILLED_AND_CUT))) != set()

    def test_each_has_its_times_and_what_has_none_lasts_as_long_as_the_event(self, tmp_path: Path) -> None:
        asked = rollout(tmp_path, KILLED_AND_CUT)
        assert times(asked) == [[("kill", 1.0, cell.length_s), ("cut", 1.5, 2.0)] for cell in asked.year.cells[1:]]

    def test_a_second_fault_that_is_dropped_would_be_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = Rollout._faults
        monkeypatch.setattr(Rollout, "_faults", lambda *event: made(*event)[:1])
        assert [len(event) for event in times(rollout(tmp_path, KILLED_AND_CUT))] == [1, 1]

    def test_a_full_disk_is_in_any_zone_whose_server_writes_files(self, tmp_path: Path) -> None:
        full = {"kind": "disk_full", "zone": "any"}
        with pytest.raises(ScenarioError, match="persistence: got 'none'; accepted: any that writes files, as"):
            rollout(tmp_path, full)
        runs = events(rollout(tmp_path, full, persistence="aof-everysec"))
        assert sorted(run.faults[0].target for run in runs) == [zone for zone in "abc" for _ in range(4)]

    def test_a_link_that_fails_both_ways_and_a_zone_on_it_are_drawn_for_all(self, tmp_path: Path) -> None:
        cut = [{"kind": "cut", "link": "any"}, {"kind": "lag", "link": "any", "lag": "9ms"}]
        runs = events(rollout(tmp_path, cut))
        assert {run.faults[0].target for run in runs} == {"a:b", "a:c", "b:c"}
        assert differing(runs) == set()
        one_way = events(
            rollout(tmp_path, [{"kind": "cut", "one_way": "any"}, {"kind": "lag", "link": "any", "lag": "9ms"}])
        )
        assert len({run.faults[0].target for run in one_way}) == 6
        assert all(set(run.faults[0].target) - {">"} == set(run.faults[1].target) - {":"} for run in one_way)


class TestLengths:
    def test_a_class_is_simulated_as_long_as_it_is_with_load_before_and_after_it(self, tmp_path: Path) -> None:
        asked = rollout(tmp_path, KILLED_AND_CUT)
        assert asked.year.faults[0].lengths_s == (5.0, 20.0)
        whole = asked.run(0, asked.year.cells[-1], 1)
        assert whole.load.duration_s == asked.year.load_s(asked.year.cells[-1]) > 1 + 20 + asked.times.settle_s - 1e-6
        assert asked.run(0, NO_FAULT, 1).load.duration_s == 4
        weights = asked.year.line(asked.year.faults[0]).weights
        assert {cell for cell, weight in weights.items() if weight} == {NO_FAULT, asked.year.cells[-1]}

    def test_a_class_too_long_for_a_run_has_three_lengths_up_to_what_a_run_may_cost(self, tmp_path: Path) -> None:
        """5,000 messages at 15 a second are 333 seconds."""
        short, middle, long = rollout(tmp_path, {"kind": "kill", "zone": "b"}, lasts_s=86_400).year.faults[0].lengths_s
        assert 300 < long < 333
        assert (short, middle) == pytest.approx((long / 4, long / 2), abs=1e-3)

    def test_busier_consumers_have_more_load_after_the_fault_for_its_backlog(self) -> None:
        calm, busy = (rollouts.LoadTimes(run_s=4, busy=busy, settle_s=1) for busy in (0.0, 0.75))
        assert (calm.load_s(20), busy.load_s(20)) == (22.0, 82.0)
        assert rollouts.LoadTimes(run_s=4, most_s=82, settle_s=1, busy=0.75).longest_s == 20.0

    def test_a_class_whose_parts_have_lengths_of_their_own_has_one(self, tmp_path: Path) -> None:
        rolling = [
            {"kind": "kill", "zone": zone, "after_s": 3.0 * place, "for_s": 1.0} for place, zone in enumerate("abc")
        ]
        asked = rollout(tmp_path, rolling, lasts_s=None)
        (fault,) = asked.year.faults
        assert (fault.lengths_s, fault.lasts_s, fault.has_line) == ((7.0,), 7.0, False)
        assert [(one.target, one.at_s) for one in asked.run(0, asked.year.cells[1], 1).faults] == [
            ("a", 1.0),
            ("b", 4.0),
            ("c", 7.0),
        ]


def lasting(*, lengths_s: tuple[float, ...], lasts_s: float, loads_s: tuple[float, ...] = ()) -> Year:
    down = YearlyFaults(name="down", per_year=10.0, lasts_s=lasts_s, lengths_s=lengths_s, loads_s=loads_s)
    return Year(run_s=10.0, faults=(down,))


@pytest.mark.parametrize(
    "year",
    [
        lasting(lengths_s=(60.0,), lasts_s=60.0, loads_s=(100.0,)),
        lasting(lengths_s=(15.0, 60.0), lasts_s=60.0, loads_s=(40.0, 100.0)),
        lasting(lengths_s=(5.0, 15.0), lasts_s=60.0, loads_s=(20.0, 40.0)),
        lasting(lengths_s=(1.0, 2.0, 4.0), lasts_s=60.0, loads_s=(10.0, 30.0, 20.0)),
    ],
)
def test_runs_with_loads_of_their_own_give_the_event_beside_what_is_without_it(year: Year) -> None:
    """A run with a fault of L seconds shows its edges, L times the cost of a second, and the rest as without it."""
    calm, edges, second = 0.7, 3.0, 2.0
    shown = {NO_FAULT: calm * 10.0}
    for cell in year.cells[1:]:
        shown[cell] = calm * (year.load_s(cell) - cell.length_s) + edges + second * cell.length_s
    line = year.line(year.fault("down"))
    for weights in (line.weights, line.other, line.flat if not line.steady else {}):
        if weights:
            assert sum(weight * shown[cell] for cell, weight in weights.items()) == pytest.approx(edges + second * 60)


def test_a_fault_as_long_as_it_is_does_not_wait_for_a_line() -> None:
    """What ends by itself, as a backlog at its bound does, costs what the run shows, not what a line would say."""
    year = lasting(lengths_s=(15.0, 60.0), lasts_s=60.0)
    line = year.line(year.fault("down"))
    assert line.contrast == line.other == {}
    assert line.weights[year.cells[1]] == 0.0
    assert line.flat == line.weights
    longer = replace(year.fault("down"), lasts_s=120.0)
    assert year.line(longer).weights[year.cells[1]] < 0, "other durations are told by the line"


@pytest.mark.parametrize(
    ("fault", "changes", "told"),
    [
        ({"kind": "kill", "zone": "b"}, {"lasts_s": None}, "outage.lasts_s: missing; it has no default"),
        ({"kind": "kill", "zone": "b", "at_s": 1}, {}, "outage.fault.at_s: got 1; accepted: no times of"),
        ({"kind": "kill", "zone": "b", "for_s": 2}, {}, "outage.lasts_s: got 20.0; accepted: nothing, as each fault"),
        ([], {}, "outage.fault: got []; accepted: at least one"),
        ([{"kind": "kill", "zone": "b", "after_s": -1}], {}, "fault[0].after_s: got -1; accepted: greater than"),
        ([*KILLED_AND_CUT, {"kind": "cut", "link": "a:d"}], {}, "outage.fault[2].link: got 'a:d'; accepted: a link"),
        ([*KILLED_AND_CUT, {"kind": "clog", "zone": "a"}], {}, "a time when evaluate.faults.outage.fault[1] ("),
        ([{"kind": "kill", "zone": "b", "after_s": 6}], {}, "outage.fault: got 'faults that begin or end 6 s after"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_class_is_told_in_one_line(fault: Any, changes: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        rollout(tmp_path, fault, **changes)
    (line,) = refused.value.lines
    assert told in line


def test_the_template_has_its_outages_at_their_real_lengths() -> None:
    year = Rollout.load(str(TEMPLATE)).year
    assert [one.lengths_s[-1] for one in year.faults] == [one.lasts_s for one in year.faults]


def test_a_time_of_the_scenario_between_the_longest_run_and_the_real_length_is_named(tmp_path: Path) -> None:
    (told,) = beyond(rollout(tmp_path, {"kind": "kill", "zone": "b"}, lengths_s=[0.05, 0.1, 0.2]))
    assert "at most 0.2 s in these runs" in told
    assert told.endswith("the line through its lengths, which knows nothing of the lease (0.4 s)")
    assert rollout(tmp_path, {"kind": "kill", "zone": "b"}, lengths_s=[0.05, 0.1, 0.2]).year.faults[0].passes
    (plain,) = beyond(rollout(tmp_path, {"kind": "kill", "zone": "b"}, lengths_s=[1, 2, 3]))
    assert plain.endswith("the line through its lengths")
    assert list(beyond(rollout(tmp_path, {"kind": "kill", "zone": "b"}))) == []


def test_outages_that_short_time_outs_shorten_are_named(tmp_path: Path) -> None:
    (told,) = shortened(rollout(tmp_path, {"kind": "kill", "zone": "b"}))
    assert told.startswith("replication.time_factor is 0.1: ")
    assert "'outage'" in told
    assert list(shortened(Rollout.load(str(TEMPLATE)))) == []
