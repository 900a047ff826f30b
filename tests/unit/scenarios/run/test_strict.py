"""Goal: every engine runs in strict mode as it does without while zones are healthy, so all it sends works on Dynomite;
what a scenario's clients send beyond that is refused.

Method: short simulated runs of one seed with and without ``replication.strict``, compared by the hash of all events.
"""

from itertools import product

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.cluster.options.strict.door import REFUSED
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run.network_settings import network_of

ENGINES = {
    "V1": {},
    "V1 compat": {"compat": True},
    "V2": {"engine": "dyno-v2"},
    "V2 compat": {"engine": "dyno-v2", "compat": True},
    "hardened": {"mode": "hardened"},
}


@pytest.mark.parametrize(
    ("engine", "level"), [*product(ENGINES, ["DC_QUORUM"]), ("V2", "DC_ONE"), ("V2", "DC_SAFE_QUORUM")]
)
def test_an_engine_runs_in_strict_mode_as_it_does_without(engine, level):
    def run(strict):
        scenario = small(level=level, queue=ENGINES[engine], replication={"strict": strict})
        done, _, verdict = run_in_memory(scenario)
        refused = [each["options"].get(REFUSED, 0) for each in done.record.coordinators.values()]
        return done.trace_hash, verdict.valid, refused

    strict, without = run(strict=True), run(strict=False)
    assert strict == without
    assert strict[2] == [0] * 3


def test_a_scenario_in_strict_mode_refuses_its_clients_what_dynomite_does_not_do():
    scenario = small(replication={"strict": True})
    cluster = SimCluster(scenario.servers, network_of(SimSettings, scenario))

    async def program():
        async with cluster:
            return await cluster.connection("a", scenario.level).execute(("HSET", "h", "f", "1", "g", "2"))

    (answer,) = cluster.runtime.run_until_complete(program())
    assert str(answer).startswith("ERR strict: HSET: a number of arguments that Dynomite does not take")


@pytest.mark.parametrize(
    "other", [{"read_repair": True}, {"votes": "version"}, {"hinted_handoff": {}}, {"anti_entropy": {}}]
)
def test_a_scenario_is_not_strict_with_an_option_that_dynomite_does_not_have(other):
    with pytest.raises(ScenarioError, match="strict: got true; accepted: false with hinted_handoff"):
        small(replication={"strict": True, **other})
