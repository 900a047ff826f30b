"""Goal: comparing zones is bounded, safe beside writes, forgets removals in time, and refuses what it cannot decide.

Method: simulated clusters whose rounds are played one by one; zones are made to differ by writes straight to servers.
"""

from functools import partial

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.options.versions import scripts
from zonelab.cluster.options.versions.anti_entropy import CONFLICTS, COPIED, FAILED, PAGE, AntiEntropy
from zonelab.cluster.options.versions.clock import COORDINATORS_MAX
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.votes.levels import Level, VoteBy
from zonelab.cluster.zone import Restart

MS, S = 1_000_000, 1_000_000_000
ZONES = ("a", "b", "c")
ONE, QUORUM = list(Level)[:2]

versioned = partial(simulated, votes=VoteBy.VERSION, timeouts=Timeouts(factor=0.02))
"""A cluster that keeps versions; tests make rounds themselves."""


def process(cluster, zone="a", **settings):
    coordinator = cluster.coordinators[zone]
    return AntiEntropy(
        coordinator, clock=coordinator.clock, runtime=cluster.runtime, settings=AntiEntropySettings(**settings)
    )


def counts(cluster, zone="a"):
    return cluster.coordinators[zone].statistics.options


async def held(cluster, *command):
    return [(await cluster.direct(zone).execute(command))[0] for zone in ZONES]


async def only_in_a(cluster, *commands):
    """Executed by coordinator a and its own server only."""
    for ends, link in cluster.links.items():
        if ends[0] == "a":
            link.cut(Cut.DROP)
    await cluster.connection("a", ONE).execute(*commands)
    for link in cluster.links.values():
        link.mend()
    await cluster.network.connected()


@versioned()
async def test_a_round_copies_no_more_than_it_may_look_at_and_the_next_goes_on(cluster):
    await only_in_a(cluster, *(("SET", f"k{number}", number) for number in range(300)))
    comparing = process(cluster, entries=50)
    sizes = []
    for _ in range(60):
        await comparing.round()
        sizes.append((await cluster.direct("b").execute(("EVAL", "return redis.call('DBSIZE')", 0)))[0])
    values = await held(cluster, "MGET", *(f"k{number}" for number in range(300)))
    found = [later - before for before, later in zip([0, *sizes], sizes, strict=False)]
    assert max(found) <= 2 * 50 + 60  # keys, and places of records that are new
    assert values[0] == values[1] == values[2] == [b"%d" % number for number in range(300)]


@versioned()
async def test_more_records_than_a_page_and_more_bytes_than_may_be_copied_at_once_get_there(cluster):
    members = [word for number in range(3 * PAGE) for word in (f"m{number}", "x" * 100)]
    await only_in_a(cluster, ("HSET", "h", *members))
    await process(cluster, copy_bytes=500).round()
    assert await held(cluster, "HLEN", "h") == [3 * PAGE] * 3


@versioned()
async def test_what_is_newer_elsewhere_is_fetched_as_what_is_newer_here_is_sent(cluster):
    await only_in_a(cluster, ("SET", "k", "a"), ("HSET", "h", "of a", 1))
    await process(cluster, "b").round()
    assert (await held(cluster, "GET", "k"), await held(cluster, "HKEYS", "h"), counts(cluster, "b")[COPIED]) == (
        [b"a"] * 3,
        [[b"of a"]] * 3,
        4,
    )


@versioned()
async def test_zones_that_are_equal_cost_a_few_requests_however_much_they_hold(cluster):
    await cluster.connection("a", QUORUM).execute(*(("SET", f"k{number}", 1) for number in range(1_000)))
    await cluster.runtime.sleep(100 * MS)
    channel, sent = cluster.coordinators["a"].channels[1], []
    submit = channel.submit
    channel.submit = lambda batch, done: (sent.append(batch), submit(batch, done))
    comparing, began_ns = process(cluster), cluster.runtime.now_ns()
    await comparing.round()
    at_rest, copied, sent = comparing.at_rest(began_ns), counts(cluster).get(COPIED), len(sent)
    assert at_rest
    assert copied is None
    assert sent <= 3  # the digests, and a page of one place in each direction


@versioned(lag=ConstantLag(1))
async def test_a_write_that_comes_between_looking_and_copying_stays(cluster):
    await only_in_a(cluster, ("SET", "k", "old"))
    comparing = cluster.runtime.spawn(process(cluster).round(), name="round")
    for step in range(40):
        await cluster.runtime.sleep(MS // 2)
        await cluster.direct("b").execute(("PING",))
        if step == 6:
            await cluster.connection("b", ONE).execute(("SET", "k", "new"))
    await comparing.join()
    await process(cluster).round()
    assert await held(cluster, "GET", "k") == [b"new"] * 3


@versioned()
async def test_an_older_record_is_not_taken_even_if_it_is_sent(cluster):
    await cluster.connection("a", QUORUM).execute(("SET", "k", "new"))
    record = scripts.record_name("k", b"k")
    (answer,) = await cluster.direct("a").execute(("EVAL", scripts.APPLY, 0, 0, record, 16, "old", -1))
    assert (answer, (await held(cluster, "GET", "k"))[0]) == ([0, 0], b"new")


@versioned()
async def test_removals_are_forgotten_after_their_retention_and_bring_nothing_back_before(cluster):
    retention = {"retention_s": 10.0}
    connection = cluster.connection("a", QUORUM)
    await connection.execute(("SET", "k", "v"), ("HSET", "h", "f", 1))
    await cluster.runtime.sleep(10 * MS)
    await only_in_a(cluster, ("DEL", "k"), ("HDEL", "h", "f"))
    await process(cluster, **retention).round()
    gone = await held(cluster, "EXISTS", "k", "h")
    remembered = await held(cluster, "EVAL", RECORDS, 0)
    await cluster.runtime.sleep(11 * S)
    comparing = [process(cluster, zone, **retention) for zone in ZONES]
    for _ in range(260):  # with nothing different a round looks through one of 256 places
        for each in comparing:
            await each.round()
    forgotten, still = await held(cluster, "EVAL", RECORDS, 0), await held(cluster, "EXISTS", "k", "h")
    assert gone == still == [0, 0, 0]
    assert remembered == [2, 2, 2]
    assert forgotten == [0, 0, 0]


RECORDS = """
local count = 0
for _, place in ipairs(redis.call('KEYS', '._versions:*')) do count = count + redis.call('HLEN', place) end
return count
"""


@versioned()
async def test_a_zone_that_was_away_for_longer_than_the_retention_brings_back_what_was_removed(cluster):
    retention = {"retention_s": 1.0}
    await cluster.connection("a", QUORUM).execute(("SET", "k", "v"))
    await cluster.runtime.sleep(10 * MS)
    await only_in_a(cluster, ("DEL", "k"))
    await cluster.runtime.sleep(2 * S)
    for _ in range(3):
        await process(cluster, **retention).round()
    assert await held(cluster, "GET", "k") == [b"v"] * 3


@versioned()
async def test_a_key_of_another_type_is_refused_and_counted(cluster):
    await only_in_a(cluster, ("HSET", "k", "f", 1))
    await cluster.direct("b").execute(("SADD", "k", "m"))
    await process(cluster).round()
    types, conflicts = await held(cluster, "TYPE", "k"), counts(cluster)[CONFLICTS]
    assert types == [b"hash", b"set", b"hash"]
    assert conflicts >= 1


@versioned()
async def test_members_that_are_newer_than_a_string_take_its_place(cluster):
    await cluster.connection("a", QUORUM).execute(("SET", "k", "v"))
    await cluster.runtime.sleep(10 * MS)
    await only_in_a(cluster, ("DEL", "k"), ("HSET", "k", "f", 1))
    await process(cluster).round()
    assert await held(cluster, "HGETALL", "k") == [[b"f", b"1"]] * 3


@versioned()
async def test_expiries_are_copied(cluster):
    await only_in_a(cluster, ("SET", "k", "v", "PX", 60_000))
    await process(cluster).round()
    assert all(50_000 < left <= 60_000 for left in await held(cluster, "PTTL", "k"))


@versioned()
async def test_a_value_in_its_last_millisecond_is_not_copied_for_ever(cluster):
    record = scripts.record_name("k", b"k")
    await cluster.direct("a").execute(("EVAL", scripts.APPLY, 0, 0, record, 16, "v", 0))
    await cluster.runtime.sleep(10 * MS)
    assert (await held(cluster, "GET", "k"))[0] is None


async def digests(cluster):
    sums = await held(cluster, "HGETALL", "._digests")
    pairs = [zip(flat[::2], flat[1::2], strict=True) for flat in sums]
    return [{place: each for place, each in found if each != b"0"} for found in pairs]


OVERWRITTEN = [
    (("SET", "k", "old"), ("SET", "k", "new", "PX", 500)),
    (("HSET", "k", "m", "old"), ("HSET", "k", "m", "new")),
    (("SADD", "k", "m"), ("SADD", "k", "m")),
    (("ZADD", "k", 1, "m"), ("ZADD", "k", 2, "m")),
]


@pytest.mark.parametrize(("old", "new"), OVERWRITTEN, ids=[new[0] for _, new in OVERWRITTEN])
@versioned(anti_entropy=AntiEntropySettings(interval_ms=1_000, retention_s=60.0))
async def test_what_was_overwritten_is_gone_everywhere_once_the_newer_has_expired_and_stays_so(cluster, old, new):
    await cluster.connection("a", QUORUM).execute(old)
    await cluster.runtime.sleep(10 * MS)
    for ends, link in cluster.links.items():
        if "b" in ends:
            link.cut(Cut.DROP)
    expiry = () if new[0] == "SET" else (("PEXPIRE", "k", 500),)
    await cluster.connection("a", QUORUM).execute(new, *expiry)
    await cluster.runtime.sleep(S)
    for link in cluster.links.values():
        link.mend()
    await cluster.network.connected()
    await cluster.runtime.sleep(10 * S)
    soon, equal, began_ns = await held(cluster, "EXISTS", "k"), await digests(cluster), cluster.runtime.now_ns()
    await cluster.runtime.sleep(5 * S)
    at_rest = cluster.at_rest(began_ns)
    await cluster.runtime.sleep(360 * S)  # the retention, and a round for each of 256 places
    late, records = await held(cluster, "EXISTS", "k"), await held(cluster, "EVAL", RECORDS, 0)
    assert soon == late == records == [0] * 3
    assert equal[0] == equal[1] == equal[2] != {}
    assert at_rest


@versioned()
async def test_what_goes_past_the_versions_is_not_seen(cluster):
    await only_in_a(cluster, ("LPUSH", "l", "v"), ("SET", "k", "v", "NX"), ("INCR", "n"))
    await process(cluster).round()
    assert await held(cluster, "EXISTS", "l", "k", "n") == [3, 0, 0]


@versioned()
async def test_a_wiped_zone_gets_everything_back(cluster):
    await cluster.connection("a", QUORUM).execute(*(("SADD", "s", number) for number in range(50)))
    await cluster.runtime.sleep(10 * MS)
    await cluster.zones["b"].kill()
    await cluster.zones["b"].restart(Restart.WIPE)
    await cluster.network.connected()
    await process(cluster, "b").round()
    assert await held(cluster, "SCARD", "s") == [50] * 3


@versioned()
async def test_a_zone_that_cannot_be_asked_breaks_a_round_off_and_leaves_it_not_at_rest(cluster):
    await only_in_a(cluster, ("SET", "k", "v"))
    for link in cluster.links.values():
        link.cut(Cut.HOLD)
    comparing = process(cluster)
    await comparing.round()
    assert (comparing.at_rest(0), counts(cluster)[FAILED]) == (False, 2)


@pytest.mark.parametrize("running", [True, False])
@versioned(anti_entropy=AntiEntropySettings(interval_ms=100))
async def test_the_process_of_a_coordinator_that_is_down_does_nothing(cluster, running):
    await only_in_a(cluster, ("SET", "k", "v"))
    for zone in "bc":
        cluster.coordinators[zone].crash()
    if not running:
        cluster.coordinators["a"].crash()
    await cluster.runtime.sleep(2 * S)
    values = await held(cluster, "GET", "k")
    assert values == ([b"v"] * 3 if running else [b"v", None, None])


@versioned()
async def test_versions_that_are_copied_move_the_clock(cluster):
    cluster.clock("a").jump(100 * S)
    await only_in_a(cluster, ("SET", "k", "of a fast clock"))
    clock = cluster.coordinators["b"].clock
    before = clock.last
    await process(cluster, "b").round()
    assert (clock.last - before) // COORDINATORS_MAX >= 50_000_000
