"""Goal: the throughput limit is that of arithmetic. Method: planted limits, and servers whose work is known."""

import pytest
from support.scenarios.sim_runs import small

from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.limit.keeping_up import behind
from zonelab.scenarios.limit.limits import Limits
from zonelab.scenarios.limit.search import PRECISION, Limit, Searching, knee
from zonelab.scenarios.many_runs.run_all import AllRuns
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.sweep.settings import Setting


@pytest.mark.parametrize("planted", [0.013, 0.99, 1.0, 700.0])
def test_a_planted_limit_is_found_wherever_the_search_begins(planted: float):
    found = knee(lambda factor: "acks" if factor > planted else None, factor_max=1e6)
    assert found.kept_per_s <= planted < found.above_per_s <= found.kept_per_s * PRECISION
    assert found.behind == "acks"


def test_where_nothing_is_behind_there_is_no_limit_and_where_all_is_the_search_ends():
    assert knee(lambda factor: None, factor_max=50) == Limit(kept_per_s=50, above_per_s=None, behind=None, runs=7)
    with pytest.raises(RuntimeError, match="too much: pushes are behind"):
        knee(lambda factor: "pushes", factor_max=50)


@pytest.mark.parametrize(("level", "work"), [("DC_ONE", (0.8 + 0.6) / 3), ("DC_QUORUM", (2.4 + 0.6) / 3)])
def test_scale_out_is_limited_by_the_work_of_its_servers(level: str, work: float):
    """A read is work for one server of three at DC_ONE and for all at DC_QUORUM, a write for all; 1 ms each."""
    scenario = load_scenario("scale-out", overrides=[f"level={level}", "load.duration_s=1"])
    found = Searching((scenario,))((0, 1))
    law_per_s = 1_000 / work
    # Runs are behind from 5 % above the law on; drawn arrivals of half a second are some 3 % more or fewer.
    assert 0.94 * law_per_s < found.kept_per_s < 1.10 * law_per_s
    assert found.behind == "operations"


def test_consumers_can_be_the_limit_and_are_told():
    consumers = {"per_zone": 1, "batch": 1, "wait_ms": 10, "processing": "constant:20ms"}
    zones = {"queue": {"unack_ms": 60_000}, "links": {"lag": "0"}, "level": "DC_ONE", "drain": {"bound_s": 61}}
    scenario = small(consumers=consumers, load={"duration_s": 4}, **zones)
    found = Searching((scenario,))((0, 1))
    assert 0.8 * 3 * 50 < found.kept_per_s < 1.15 * 3 * 50
    assert found.behind in ("deliveries", "acks")


def test_a_load_that_is_kept_up_with_is_not_behind_whatever_came_before_and_one_whose_pushes_fail_is():
    """Only the last half of the load counts: the first may have its faults."""
    load = {"duration_s": 8, "rate_per_s": 40}
    found = [
        behind(small(load=load, faults=[{"kind": "kill", "zone": zone, "at_s": at_s, "for_s": 2} for zone in "bc"]))
        for at_s in (0.5, 5.5)
    ]
    assert found == [None, "pushes"]


def test_rows_have_an_interval_over_seeds_and_say_where_there_is_no_limit():
    limits = Limits(settings=(Setting(name="as it is", scenario=small()),))
    found = {
        ("as it is", seed): Limit(kept_per_s=90.0 + seed, above_per_s=94.0, behind="acks", runs=9) for seed in (1, 2)
    }
    (row,) = limits.rows(AllRuns(results=found))
    assert row.low_per_s < row.value_per_s < row.high_per_s
    assert row.told.startswith("92.7 (")
    (alone,) = limits.rows(AllRuns(results={key: found[key] for key in [("as it is", 1)]}))
    assert alone.told == "92.5 ± 2.5%, one seed", "one seed tells nothing of others"
    none = {("as it is", 1): Limit(kept_per_s=5_000.0, above_per_s=None, behind=None, runs=9)}
    assert limits.rows(AllRuns(results=none))[0].told == "more than 5,000"


def test_what_will_be_searched_is_said_beforehand():
    limits = Limits(settings=(Setting(name="as it is", scenario=small(load={"duration_s": 2})),))
    assert limits.forecast(3) == "3 searches x about 10 runs x 2 s of load, simulated"


def test_a_load_that_cannot_be_scaled_is_refused():
    with pytest.raises(NotAccepted, match=r"load\.rate_per_s: got 0; accepted: a rate"):
        Limits(settings=(Setting(name="told", scenario=small(load={"rate_per_s": 0, "operations": []})),))
