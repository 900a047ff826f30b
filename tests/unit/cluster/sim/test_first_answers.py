"""Goal: of answers that arrive together in virtual time the own zone's is the first as often as in Dynomite.

Method: many commands on a simulated cluster whose zones differ; the seed makes the shares exact.
"""

from collections import Counter

import pytest
from support.cluster.stepped import planted

from zonelab.cluster.connections.failures import STORAGE_REFUSED
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.sim.first_answers import REFUSAL_NS, REFUSAL_SHARES, VALUE_SHARES
from zonelab.cluster.votes.levels import Level

TRIES = 400
SLACK = 0.06
"""More than two deviations of a share of 400."""

SERVICE_NS = 5_000
UNKNOWN_SCRIPT = ("EVALSHA", "0" * 40, "1", "k")


def answers(cluster, zone, *commands):
    """How often each outcome came, of an error its first word."""
    counted = Counter()
    for _ in range(TRIES):
        call = cluster.send(zone, Level.DC_QUORUM, *commands)
        told = call.error or call.outcome
        counted[str(told).split()[0] if isinstance(told, Exception) else repr(told)] += 1
        cluster.run(1)
    return counted


@pytest.mark.parametrize(
    ("commands", "outcome"),
    [
        ((("GET", "k"),), "b'{0}'"),
        ((("MGET", "k", "k"),), "[b'{0}', b'{0}']"),
        ((("GET", "k"), ("GET", "k")), "[b'{0}', b'{0}']"),
    ],
)
def test_of_three_values_the_own_zones_is_the_first_in_a_share_that_each_coordinator_draws(commands, outcome):
    cluster = planted("a", "b", "c", service_ns=SERVICE_NS)
    shares = []
    for zone in "abc":
        counted = answers(cluster, zone, *commands)
        assert set(counted) == {outcome.format(value) for value in "abc"}
        shares.append(counted[outcome.format(zone)] / TRIES)
    assert min(shares) >= VALUE_SHARES[0] - SLACK
    assert max(shares) <= VALUE_SHARES[1] + SLACK
    assert len(set(shares)) == 3


def test_the_own_error_comes_before_the_refusal_of_another_zones_server_in_a_share_of_the_whole_range():
    shares = []
    for seed in range(1, 6):
        cluster = planted("a", "b", "c", service_ns=SERVICE_NS, seed=seed)
        cluster.kill("b")
        for zone in "ac":
            counted = answers(cluster, zone, UNKNOWN_SCRIPT)
            assert set(counted) == {"NOSCRIPT", "ERR"}
            shares.append(counted["NOSCRIPT"] / TRIES)
    assert REFUSAL_SHARES[0] - SLACK <= min(shares) < 0.3
    assert 0.6 < max(shares) <= REFUSAL_SHARES[1] + SLACK


def test_an_own_error_that_takes_its_time_comes_after_the_refusal_of_another_zones_server():
    cluster = planted("a", "b", "c", service_ns=REFUSAL_NS + SERVICE_NS)
    cluster.kill("b")
    assert answers(cluster, "a", UNKNOWN_SCRIPT) == {"ERR": TRIES}


def test_the_refusal_of_the_own_server_is_known_before_anything_arrives():
    cluster = planted("a", "b", "c", service_ns=SERVICE_NS)
    cluster.kill("a")
    call = cluster.send("a", Level.DC_QUORUM, UNKNOWN_SCRIPT)
    assert str(call.error) == STORAGE_REFUSED
    assert answers(cluster, "a", UNKNOWN_SCRIPT) == {"ERR": TRIES}


def test_who_has_failed_at_once_is_told_in_the_order_of_asking():
    cluster = planted("a", "b", "c")
    cluster.isolate("b", Cut.DROP)
    cluster.kill("a")
    assert answers(cluster, "a", UNKNOWN_SCRIPT) == {"ERR": TRIES}
    assert {str(call.error) for call in cluster.calls} == {STORAGE_REFUSED}


def test_with_lag_nothing_arrives_together_and_the_nearest_is_the_first():
    cluster = planted("a", "b", "c", service_ns=SERVICE_NS, lag=ConstantLag(1))
    assert answers(cluster, "b", ("GET", "k")) == {"b'b'": TRIES}
    cluster.kill("a")
    assert answers(cluster, "b", UNKNOWN_SCRIPT) == {"NOSCRIPT": TRIES}
