"""Goal: an engine that claims leases where it has none is found, whichever way a consumer dies with what it took.

Method: the sorted set, which has none, claims them; honest and lying, it runs the same deaths of consumers.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import NEED_LEASES, MessageClass
from zonelab.engine.queue import Features
from zonelab.scenarios.queues.zset import ZsetUnderTest

CRASHES = {"faults": [{"kind": "consumer_crash", "zone": "a", "consumer": "all", "at_s": 0.3, "for_s": 0.3}]}
POISON = {"load": {"rate_per_s": 0, "operations": [{"at_ms": 0, "zone": "a", "id": "poison", "poison": True}]}}
DEATHS = [{**CRASHES, "load": {"rate_per_s": 60}, "consumers": {"processing": "constant:50ms"}}, POISON]


class ClaimsLeases(ZsetUnderTest):
    features = Features(priorities=False)


def verdict_of(queue, death):
    return run_in_memory(small(topology={"zones": ["a"]}, queue=queue, **death))[2]


@pytest.mark.parametrize("death", DEATHS)
def test_whoever_claims_leases_and_has_none_owes_what_its_dead_consumers_took(death):
    honest = verdict_of({"engine": "zset"}, death)
    assert (honest.valid, set(NEED_LEASES) <= set(honest.not_judged)) == (True, True)
    lying = verdict_of({"factory": f"{__name__}:ClaimsLeases"}, death)
    assert (lying.valid, lying.violated, lying.not_judged) == (
        False,
        (MessageClass.ABANDONED,),
        (MessageClass.PRIORITY_INVERSION, MessageClass.LATE),
    )
