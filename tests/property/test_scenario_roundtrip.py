"""Goal: every scenario that is accepted prints to a file that reads back equal, and plans the same load every time.

Method: Hypothesis builds scenarios from the models' own limits; what the rules refuse is refused in whole lines.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from zonelab.cluster.random_streams import Streams
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.links import CutFault
from zonelab.scenarios.faults.traffic import LagFault
from zonelab.scenarios.spec.push_plan import plan_pushes
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.scenarios.spec.scenario import Scenario

ZONES = st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"]])
SECONDS = st.floats(0.25, 9, allow_nan=False).map(lambda value: round(value, 3))
DELAYS = st.sampled_from([0, "constant:1ms", "lognormal:2ms:15ms", "0.5*constant:0ms + 0.5*uniform:1ms:2s"])


def faults(zone: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    times = {"at_s": SECONDS, "for_s": SECONDS}
    return st.one_of(
        st.fixed_dictionaries({"kind": st.sampled_from(["kill", "wipe", "pause"]), "zone": zone, **times}),
        st.fixed_dictionaries({"kind": st.just("lag"), "lag": DELAYS, **times}, optional={"zone": zone}),
        st.fixed_dictionaries({"kind": st.just("cut"), "isolate": zone, **times}),
        st.fixed_dictionaries({"kind": st.just("consumer_crash"), "zone": zone, "consumer": st.just("all"), **times}),
    )


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    zones = draw(ZONES)
    # One zone more than there is, so that the rules have something to refuse.
    zone = st.sampled_from([*zones, "z"])
    return {
        "name": "drawn",
        "seed": draw(st.integers(0, 2**63)),
        "level": draw(st.sampled_from([level.value for level in Level])),
        "topology": {"zones": zones},
        "persistence": draw(st.sampled_from([value.value for value in Persistence])),
        "links": {"lag": draw(DELAYS)},
        "load": {
            "duration_s": draw(SECONDS),
            "rate_per_s": draw(st.one_of(st.floats(0, 50), st.dictionaries(zone, st.floats(0, 50)))),
            "delay": draw(DELAYS),
            "batch": draw(st.integers(1, 4)),
        },
        "faults": draw(st.lists(faults(zone), max_size=3)),
        "drain": {"bound_s": draw(st.floats(1, 30))},
    }


@given(document=documents())
def test_an_accepted_scenario_reads_back_equal_and_a_refused_one_says_why(document: dict[str, Any]) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "scenario.yaml"
        path.write_text(yaml.safe_dump(document))
        try:
            scenario = load_scenario(str(path))
        except ScenarioError as error:
            _every_line_tells_enough(error, path)
            return
        path.write_text(dump_scenario(scenario))
        assert load_scenario(str(path)) == scenario
        _links_are_links_of_the_topology(scenario)
        _plans_repeat(scenario)


def _every_line_tells_enough(error: ScenarioError, path: Path) -> None:
    for line in error.lines:
        assert line.startswith(f"{path}: ")
        assert "accepted: " in line
        assert "\n" not in line


def _links_are_links_of_the_topology(scenario: Scenario) -> None:
    for fault in scenario.faults:
        if isinstance(fault, LagFault | CutFault):
            links = fault.links(scenario)
            assert set(links) <= set(scenario.links_all)
            assert len(set(links)) == len(links)


def _plans_repeat(scenario: Scenario) -> None:
    for zone in scenario.zones:
        plans = [list(plan_pushes(scenario.load, zone=zone, random=Streams(scenario.seed).stream)) for _ in range(2)]
        assert plans[0] == plans[1]
        offsets = [push.offset_ns for push in plans[0]]
        assert offsets == sorted(offsets)
        assert all(0 <= offset < scenario.load.duration_s * 1e9 for offset in offsets)
