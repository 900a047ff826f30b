"""Goal: the dyno-queues engine runs unchanged on simulated zones, and loses nothing without faults. Method: Hypothesis.

Seed, level, lag, tie-break and load are drawn; producers and consumers of every zone share one queue; at the end every
message must have been delivered once, and every shard must be empty where it is served.
"""

from collections import Counter

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.engine.sim_dyno import Load, nothing_left, run_load, served

from cluster.links.lag_text import parse_lag
from cluster.sim.cluster import SimCluster, SimSettings
from cluster.sim.schedule import Schedule, TieBreak
from cluster.votes.levels import Level

ZONES = ("a", "b", "c")


def simulate(load, **options):
    made = SimCluster(ZONES, SimSettings(**options))

    async def program():
        async with made:
            return await run_load(made, load)

    return made.runtime.run_until_complete(program())


@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    level=st.sampled_from(tuple(Level)),
    lag=st.sampled_from(["0", "constant:1ms", "uniform:0.1ms:5ms", "exponential:2ms", "lnkd-ssd"]),
    tie_break=st.sampled_from(tuple(TieBreak)),
    messages=st.integers(1, 25),
    consumers=st.integers(1, 3),
    timeout_ms=st.sampled_from([0, 20]),
)
def test_without_faults_every_message_is_delivered_once_and_nothing_is_left(
    seed, level, lag, tie_break, messages, consumers, timeout_ms
):
    load = Load(level=level, messages_per_zone=messages, consumers_per_zone=consumers, timeout_ms=timeout_ms)
    result = simulate(load, seed=seed, lag=parse_lag(lag), schedule=Schedule(tie_break=tie_break))
    assert Counter(result.delivered) == Counter(result.pushed)
    assert result.acked == len(result.pushed) == 3 * messages
    assert served(result.contents)
    assert nothing_left(result.contents) or not lag.startswith(("0", "constant"))
    assert result.early_ms <= 1


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


@pytest.mark.parametrize("level", tuple(Level))
def test_thousands_of_messages_go_through_at_every_level(level):
    load = Load(level=level, messages_per_zone=700, consumers_per_zone=4, timeout_ms=0)
    result = simulate(load, seed=1, lag=parse_lag("uniform:0.2ms:1ms"))
    assert sorted(result.delivered) == sorted(result.pushed)
    assert len(result.pushed) == 2100
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


def test_a_message_that_is_never_acked_comes_back_after_its_lease():
    load = Load(level=Level.DC_QUORUM, messages_per_zone=10, consumers_per_zone=2, timeout_ms=0, forget_first=True)
    result = simulate(load, seed=3, lag=parse_lag("constant:1ms"))
    counts = Counter(result.delivered)
    assert sorted(counts) == sorted(result.pushed)
    assert dict.fromkeys(counts.values()) == {2: None}
    assert nothing_left(result.contents)
