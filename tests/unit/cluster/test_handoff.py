"""Goal: with hinted handoff a zone that was away gets what it missed, in order, once; without it, not.

Method: simulated clusters whose servers are killed under writes; a channel whose answers the test gives.
"""

import pytest

from cluster.batch import Batch
from cluster.handoff import HandoffSettings, HintedChannel
from cluster.lag import Constant
from cluster.levels import STORAGE_REFUSED, Level, ZoneFailure
from cluster.link import Cut
from cluster.sim.cluster import SimCluster, SimSettings
from cluster.sim.runtime import SimRuntime
from cluster.zone import Restart

MS, S = 1_000_000, 1_000_000_000
ZONES = ("a", "b", "c")
ON = HandoffSettings()


def play(program, **settings):
    cluster = SimCluster(ZONES, SimSettings(seed=1, **settings))

    async def whole():
        async with cluster:
            return await program(cluster)

    return cluster.runtime.run_until_complete(whole())


async def write_through(cluster, zone, count, *, every_ms=250):
    connection = cluster.connection(zone, Level.DC_QUORUM)
    for number in range(count):
        assert await connection.execute(("RPUSH", "list", number), ("SET", f"k{number}", number)) == [number + 1, b"OK"]
        await cluster.runtime.sleep(every_ms * MS)


def missing_after_an_outage(**settings):
    async def program(cluster):
        await cluster.runtime.sleep(S)
        await cluster.zones["b"].kill()
        await cluster.runtime.sleep(S)
        await write_through(cluster, "a", 140)
        await cluster.zones["b"].restart(Restart.KEEP)
        await cluster.runtime.sleep(15 * S)
        (found,) = await cluster.direct("b").execute(("LRANGE", "list", 0, -1))
        (keys,) = await cluster.direct("b").execute(("DBSIZE",))
        return [int(item) for item in found], keys, cluster.coordinators["a"].statistics.options

    return play(program, **settings)


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


def test_it_is_for_links_too_and_old_hints_go_before_new_writes():
    async def program(cluster):
        for pair in (("a", "b"), ("b", "a")):
            cluster.links[pair].cut(Cut.DROP)
        connection = cluster.connection("a", Level.DC_QUORUM)
        for number in range(5):
            await connection.execute(("SET", "k", f"old {number}"))
        for pair in (("a", "b"), ("b", "a")):
            cluster.links[pair].mend()
        while not cluster.coordinators["a"].connected:
            await cluster.runtime.sleep(MS)
        await connection.execute(("SET", "k", "new"))
        await cluster.runtime.sleep(S)
        return await cluster.direct("b").execute(("GET", "k"))

    slow = HandoffSettings(look_ns=1_000 * S)  # so that only the new write can have sent the old ones
    assert play(program, hinted_handoff=slow, lag=Constant(1)) == [b"new"]


def test_a_hint_may_overwrite_what_another_coordinator_has_written_since():
    async def program(cluster):
        for pair in (("a", "b"), ("b", "a")):
            cluster.links[pair].cut(Cut.DROP)
        await cluster.connection("a", Level.DC_QUORUM).execute(("SET", "k", "old"))
        await cluster.connection("b", Level.DC_QUORUM).execute(("SET", "k", "new"))
        for pair in (("a", "b"), ("b", "a")):
            cluster.links[pair].mend()
        await cluster.runtime.sleep(15 * S)
        return [(await cluster.direct(zone).execute(("GET", "k")))[0] for zone in ZONES]

    assert play(program, hinted_handoff=ON) == [b"new", b"old", b"new"]


class Told:
    """A channel whose answers the test gives."""

    def __init__(self):
        self.connected = False
        self.sent = []
        self.answer = ZoneFailure(STORAGE_REFUSED, maybe_applied=False)

    def submit(self, batch, done):
        self.sent.append(batch.commands)
        done([b"OK"] * len(batch.commands) if self.connected else self.answer)

    def reset(self):
        pass


def hinted(settings=ON):
    counts = {}
    told, runtime = Told(), SimRuntime(seed=1)

    def count(what, number):
        counts[what] = counts.get(what, 0) + number

    return HintedChannel(told, runtime=runtime, settings=settings, count=count), told, counts, runtime


def send(channel, *commands, writes=True):
    answers = []
    channel.submit(Batch(commands, writes=writes), answers.append)
    return answers


def test_what_may_have_been_applied_is_not_kept_because_it_could_be_applied_twice():
    channel, told, counts, _ = hinted()
    told.answer = ZoneFailure(STORAGE_REFUSED, maybe_applied=True)
    assert send(channel, ("INCR", "n")) == [told.answer]
    assert (channel.hints, counts) == (0, {})


def test_reads_are_not_kept():
    channel, _, _, _ = hinted()
    send(channel, ("GET", "k"), writes=False)
    send(channel, ("GET", "k"), ("SET", "k", 1))
    assert channel.hints == 1


def test_a_hint_that_is_refused_again_stays_and_a_coordinator_that_ends_takes_its_hints_with_it():
    channel, told, counts, runtime = hinted()
    send(channel, ("SET", "k", 1))

    async def later():
        await runtime.sleep(S)

    runtime.run_until_complete(later())
    assert (channel.hints, len(told.sent)) == (1, 1)
    channel.reset()
    told.connected = True
    send(channel, ("SET", "k", 2))
    assert told.sent[1:] == [(("SET", "k", 2),)]
    assert counts == {"hints stored": 1, "hints dropped": 1}


@pytest.mark.parametrize("given", [{"queue": 0}, {"look_ns": 0}])
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(ValueError, match="must be at least 1"):
        HandoffSettings(**given)
