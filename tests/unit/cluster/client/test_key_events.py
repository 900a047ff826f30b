"""Goal: programs in simulation hear of keys that change and end at the server of their zone, if servers publish that.

Method: subscribers of three simulated zones in virtual time.
"""

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.sim.expiry_cycle import CYCLE_NS
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence, Restart

MS, S = 1_000_000, 1_000_000_000
EXPIRED = ("PSUBSCRIBE", "__keyevent@0__:expired")


def with_events(*, events="KEA", persistence=Persistence.NONE):
    return simulated(server=ServerSettings(events=EventFlags.read(events), persistence=persistence))


async def subscriber(cluster, zone, *commands):
    mine = cluster.client_connection(zone, Level.DC_ONE)
    await mine.execute(*commands)
    for _ in commands:
        await mine.message()
    return mine


@with_events()
async def test_a_write_of_another_zone_is_an_event_of_the_own_one_when_it_arrives_there(cluster):
    mine = await subscriber(cluster, "c", ("PSUBSCRIBE", "__key*__:*"))
    await cluster.connection("a", Level.DC_ONE).execute(("RPUSH", "k", "x"), ("LPOP", "k"))
    heard = [await mine.message() for _ in range(6)]
    assert [(channel, message) for _, _, channel, message in heard] == [
        (b"__keyspace@0__:k", b"rpush"),
        (b"__keyevent@0__:rpush", b"k"),
        (b"__keyspace@0__:k", b"lpop"),
        (b"__keyevent@0__:lpop", b"k"),
        (b"__keyspace@0__:k", b"del"),
        (b"__keyevent@0__:del", b"k"),
    ]
    assert await mine.message(wait_ns=S) is None


@with_events()
async def test_a_key_that_nobody_looks_at_ends_within_a_cycle(cluster):
    mine = await subscriber(cluster, "b", EXPIRED)
    begun = cluster.runtime.now_ns()
    writer = cluster.connection("a", Level.DC_ONE)
    await writer.execute(("SET", "k", "x", "PX", 450), ("SET", "later", "x", "EX", 9))
    assert (await mine.message())[3] == b"k"
    assert 450 * MS <= cluster.runtime.now_ns() - begun <= 450 * MS + 2 * CYCLE_NS
    assert await mine.message(wait_ns=S) is None
    assert (await mine.message(wait_ns=9 * S))[3] == b"later"


@with_events()
async def test_fields_that_nobody_looks_at_end_too_also_those_of_a_renamed_hash(cluster):
    mine = await subscriber(cluster, "b", ("PSUBSCRIBE", "__keyevent@0__:hexpired", "__keyevent@0__:del"))
    await mine.message()
    writer = cluster.connection("a", Level.DC_ONE)
    await writer.execute(("HSET", "h", "x", 1), ("HPEXPIRE", "h", 450, "FIELDS", 1, "x"), ("RENAME", "h", "g"))
    heard = [await mine.message(wait_ns=S) for _ in range(2)]
    assert [message[2:] for message in heard] == [
        [b"__keyevent@0__:hexpired", b"g"],
        [b"__keyevent@0__:del", b"g"],
    ]


@pytest.mark.parametrize("events", ["", "KEg", "x"])
def test_it_ends_in_silence_if_its_event_is_not_asked_for(events):
    @with_events(events=events)
    async def program(cluster):
        mine = await subscriber(cluster, "b", EXPIRED)
        await cluster.connection("a", Level.DC_ONE).execute(("SET", "k", "x", "PX", 450))
        assert await mine.message(wait_ns=S) is None
        assert await cluster.direct("b").execute(("DBSIZE",)) == [1]

    program()


@with_events()
async def test_a_stopped_server_ends_no_key_and_one_that_goes_on_does(cluster):
    mine = await subscriber(cluster, "b", EXPIRED)
    await cluster.connection("a", Level.DC_ONE).execute(("SET", "k", "x", "PX", 450))
    await cluster.runtime.sleep(200 * MS)
    await cluster.zones["b"].pause()
    assert await mine.message(wait_ns=S) is None
    await cluster.zones["b"].resume()
    assert (await mine.message(wait_ns=2 * CYCLE_NS))[3] == b"k"


@with_events(persistence=Persistence.AOF_EVERYSEC)
async def test_a_server_that_comes_back_publishes_what_its_settings_say(cluster):
    direct = cluster.direct("b")
    await direct.execute(("SET", "k", "x", "EX", 20), ("CONFIG", "SET", "notify-keyspace-events", ""))
    assert await direct.execute(("CONFIG", "GET", "notify*")) == [[b"notify-keyspace-events", b""]]
    await cluster.zones["b"].kill()
    await cluster.zones["b"].restart(Restart.KEEP)
    await cluster.runtime.sleep(5 * S)  # until the coordinator connects again
    assert await direct.execute(("CONFIG", "GET", "notify*")) == [[b"notify-keyspace-events", b"AKE"]]
    mine = await subscriber(cluster, "b", EXPIRED)
    assert (await mine.message(wait_ns=20 * S))[3] == b"k"


def test_events_that_nobody_subscribed_to_leave_a_run_as_it_is():
    async def trace_hash(cluster):
        for number in range(20):
            writer = cluster.connection("a", Level.DC_QUORUM)
            await writer.execute(("SET", f"k{number}", "x", "EX", 1), ("GET", "k1"))
        return cluster.runtime.trace.hexdigest()

    assert with_events(events="KEg$lshzt")(trace_hash)() == with_events(events="")(trace_hash)()


@pytest.mark.parametrize("letters", ["Q", "KE A", "KEo"])
def test_letters_that_are_none_are_refused_with_those_that_are(letters):
    with pytest.raises(ValueError, match=f"got '{letters}'; accepted: nothing, or letters of K, E, A, g"):
        EventFlags.read(letters)


def test_misses_are_refused_as_the_simulation_lacks_them():
    with pytest.raises(ValueError, match=r"misses \(m\) are not modelled"):
        EventFlags.read("KEm")
