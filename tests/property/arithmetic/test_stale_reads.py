"""Goal: reads in simulation are as stale as PBS predicts, where both assume the same. Method: registers at DC_ONE.

A client of zone a writes a key of its own, one of zone b reads it a time t later. Nothing fails, no link is shared
within its coherence, and each server is at hand: then a read sees the write if the link's lag was shorter than t.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.pbs.estimates import sample
from zonelab.analysis.pbs.messages import Model
from zonelab.analysis.pbs.models import same_legs
from zonelab.analysis.pbs.rules import LocalRead, Quorum, ReplicaRule
from zonelab.analysis.proportions import Interval, proportion_interval
from zonelab.analysis.runs.accesses import VALUES_NAME
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Link
from zonelab.scenarios.lags.distributions import distribution_of

LAG = "exponential:20ms"
PAIRS = 250
APART_MS = 400


def seen_in_simulation(after_ms: float) -> Interval:
    """The share of reads that see the write, so long after it began, with its 99 % interval."""
    operations = []
    for number in range(PAIRS):
        at_ms, key = float(APART_MS * number), str(number)
        operations.append({"at_ms": at_ms, "zone": "a", "f": "write", "key": key, "value": "new"})
        operations.append({"at_ms": at_ms + after_ms, "zone": "b", "f": "read", "key": key})
    scenario = small(
        level="DC_ONE",
        links={"lag": LAG},
        load={"duration_s": PAIRS * APART_MS / 1_000, "rate_per_s": 0, "delay": "0"},
        workload={"kind": "register", "keys": PAIRS, "operations": operations},
    )
    _, tables, _ = run_in_memory(scenario)
    values = tables.tables[VALUES_NAME].batch(["argument", "result"]).to_pydict()
    found = [result for argument, result in zip(values["argument"], values["result"], strict=True) if argument is None]
    assert len(found) == PAIRS
    return proportion_interval(found.count("new"), PAIRS, confidence=0.99)


def predicted(rule: ReplicaRule, after_ms: float) -> float:
    none, link = (distribution_of(parse_lag(text)) for text in ("0", LAG))
    model = Model(name="zones", about="", own=same_legs(none, none), other=same_legs(link, link))
    (found,) = sample(model, [rule], replicas=3, trials=100_000, seed=1)
    return found.consistent_at(after_ms).value


@pytest.mark.parametrize("after_ms", [5.0, 20.0, 60.0])
def test_as_many_reads_in_another_zone_see_a_write_as_predicted(after_ms: float) -> None:
    seen = seen_in_simulation(after_ms)
    assert seen.low <= predicted(LocalRead(elsewhere=True), after_ms) <= seen.high
    assert predicted(Quorum(1, 1), after_ms) > seen.high or after_ms > 50


def test_a_link_that_draws_one_lag_for_all_its_messages_is_caught(monkeypatch) -> None:
    right = Link.__init__
    monkeypatch.setattr(Link, "__init__", lambda self, **given: right(self, **given | {"coherence_ns": 10**18}))
    seen = seen_in_simulation(20.0)
    assert not seen.low <= predicted(LocalRead(elsewhere=True), 20.0) <= seen.high
