"""Goal: with hinted handoff a zone that was away gets what it missed, in order, once; without it, not.

Method: simulated clusters whose servers are killed, or whose links are cut, under writes.
"""

import pytest
from support.cluster.racks import even_rack
from support.cluster.sim_lab import simulated

from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart
from zonelab.engine.ports import Indeterminate, Unavailable

MS, S = 1_000_000, 1_000_000_000
ZONES = ("a", "b", "c")
ON = HandoffSettings()


async def write_through(cluster, zone, count, *, every_ms=250):
    connection = cluster.connection(zone, Level.DC_QUORUM)
    for number in range(count):
        assert await connection.execute(("RPUSH", "list", number), ("SET", f"k{number}", number)) == [number + 1, b"OK"]
        await cluster.runtime.sleep(every_ms * MS)


def missing_after_an_outage(**settings):
    @simulated(**settings)
    async def missing(cluster):
        await cluster.runtime.sleep(S)
        await cluster.zones["b"].kill()
        await cluster.runtime.sleep(S)
        await write_through(cluster, "a", 140)
        await cluster.zones["b"].restart(Restart.KEEP)
        await cluster.runtime.sleep(15 * S)
        (found,) = await cluster.direct("b").execute(("LRANGE", "list", 0, -1))
        (keys,) = await cluster.direct("b").execute(("DBSIZE",))
        return [int(item) for item in found], keys, cluster.coordinators["a"].statistics.options

    return missing()


def test_without_it_a_zone_that_was_away_for_35_s_misses_140_of_140_writes_for_ever():
    assert missing_after_an_outage() == ([], 0, {})


def test_with_it_the_zone_gets_all_of_them_in_order():
    items, keys, counts = missing_after_an_outage(hinted_handoff=ON)
    assert items == list(range(140))
    assert keys == 141
    assert counts == {"hints stored": 280, "hints replayed": 280}


def test_the_queue_is_bounded_and_what_is_beyond_it_is_dropped_and_counted():
    items, _, counts = missing_after_an_outage(hinted_handoff=HandoffSettings(queue=20))
    assert items == list(range(10))
    assert counts == {"hints stored": 20, "hints dropped": 260, "hints replayed": 20}


@simulated(hinted_handoff=HandoffSettings(look_ms=1_000_000), lag=ConstantLag(1))
async def test_it_is_for_links_too_and_old_hints_go_before_new_writes(cluster):
    for pair in (("a", "b"), ("b", "a")):
        cluster.links[pair].cut(Cut.DROP)
    connection = cluster.connection("a", Level.DC_QUORUM)
    for number in range(5):
        await connection.execute(("SET", "k", f"old {number}"))
    for pair in (("a", "b"), ("b", "a")):
        cluster.links[pair].mend()
    while not cluster.coordinators["a"].connected:
        await cluster.runtime.sleep(MS)
    await connection.execute(("SET", "k", "new"))  # only this can have sent the old ones
    await cluster.runtime.sleep(S)
    assert await cluster.direct("b").execute(("GET", "k")) == [b"new"]


@simulated(hinted_handoff=ON)
async def test_a_hint_may_overwrite_what_another_coordinator_has_written_since(cluster):
    for pair in (("a", "b"), ("b", "a")):
        cluster.links[pair].cut(Cut.DROP)
    await cluster.connection("a", Level.DC_QUORUM).execute(("SET", "k", "old"))
    await cluster.connection("b", Level.DC_QUORUM).execute(("SET", "k", "new"))
    for pair in (("a", "b"), ("b", "a")):
        cluster.links[pair].mend()
    await cluster.runtime.sleep(15 * S)
    assert [(await cluster.direct(zone).execute(("GET", "k")))[0] for zone in ZONES] == [b"new", b"old", b"new"]


@simulated(hinted_handoff=ON)
async def test_a_client_that_no_zone_answered_does_not_hear_that_its_write_was_certainly_not_applied(cluster):
    await cluster.runtime.sleep(S)
    for zone in "bc":
        await cluster.zones[zone].kill()
    for pair in (("b", "a"), ("a", "b"), ("c", "a"), ("a", "c")):
        cluster.links[pair].cut(Cut.DROP)
    await cluster.zones["a"].kill()
    await cluster.runtime.sleep(S)
    with pytest.raises(Indeterminate):
        await cluster.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v"))
    with pytest.raises(Unavailable):
        await cluster.connection("a", Level.DC_QUORUM).execute(("GET", "k"))
    await cluster.zones["a"].restart(Restart.KEEP)
    await cluster.runtime.sleep(15 * S)
    assert await cluster.direct("a").execute(("GET", "k")) == [b"v"]


NEAR, FAR = "abc", "def"
DCS = [DataCentre(name, tuple(even_rack(zone, 1) for zone in zones)) for name, zones in (("n", NEAR), ("f", FAR))]


@simulated(topology=Topology(tuple(DCS)), hinted_handoff=ON)
async def test_hints_are_for_the_own_data_centre_only_even_at_the_level_of_each(cluster):
    for zone in "cf":
        await cluster.zones[zone].kill()
    await cluster.runtime.sleep(S)
    await cluster.connection("a", Level.DC_EACH_SAFE_QUORUM).execute(("SET", "k", "v"))
    for zone in "cf":
        await cluster.zones[zone].restart(Restart.KEEP)
    await cluster.runtime.sleep(30 * S)
    values = [(await cluster.direct(zone).execute(("GET", "k")))[0] for zone in NEAR + FAR]
    assert values == [b"v"] * 5 + [None]
    assert cluster.coordinators["a"].statistics.options == {"hints stored": 1, "hints replayed": 1}
