"""Goal: bulk pops and scripts of V1 lose nothing on simulated zones without faults. Method: Hypothesis.

Seed, level, lag and load are drawn; producers and consumers of every zone share one queue; at the end every message
must have been delivered as often as it should, and every shard must be empty where it is served. Plain pops are in
``test_properties_machine.py``, and in ``tests/conformance/test_redis_model_cluster.py``.
"""

from collections import Counter

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.engine.sim_dyno import Load, nothing_left, run_load, served

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level

ZONES = ("a", "b", "c")


def simulate(load, **options):
    made = SimCluster(ZONES, SimSettings(**options))

    async def program():
        async with made:
            return await run_load(made, load)

    return made.runtime.run_until_complete(program())


@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    level=st.sampled_from([Level.DC_ONE, Level.DC_QUORUM]),
    lag=st.sampled_from(["0", "constant:1ms", "uniform:0.1ms:5ms", "lnkd-ssd"]),
    messages=st.integers(1, 25),
    consumers=st.integers(1, 3),
    forget_first=st.booleans(),
)
def test_with_scripts_too_every_message_is_delivered_once_or_again_after_its_lease(
    seed, level, lag, messages, consumers, forget_first
):
    load = Load(
        level=level,
        messages_per_zone=messages,
        consumers_per_zone=consumers,
        timeout_ms=0,
        forget_first=forget_first,
        scripts=True,
    )
    result = simulate(load, seed=seed, lag=parse_lag(lag))
    times = 2 if forget_first else 1
    assert Counter(result.delivered) == Counter(result.pushed * times)
    assert served(result.contents)


def test_without_faults_a_replica_that_serves_nobody_may_keep_an_id_for_ever():
    """A push from a to b and c, popped in b: if b's removal reaches c before a's push does, the id stays in c."""

    def phantoms(lag):
        load = Load(level=Level.DC_ONE, messages_per_zone=200, consumers_per_zone=4, timeout_ms=0)
        result = simulate(load, seed=1, lag=parse_lag(lag))
        assert sorted(result.delivered) == sorted(result.pushed)
        return not nothing_left(result.contents)

    assert not phantoms("constant:1ms")
    assert any(phantoms(lag) for lag in ("exponential:2ms", "lognormal:1ms:50ms", "uniform:0.1ms:9ms"))
