"""Goal: zones that missed writes hold the same after anti-entropy, the newest of everything, whatever was cut when.

Method: Hypothesis draws writes through any coordinator and cuts of any links in a simulated cluster; a model that knows
only "the newest write to each member, unless the key was removed or set later" says what zones must hold at rest. Each
of several planted bugs makes zones differ, or hold the wrong value, in a schedule that they pass without it.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cluster.sim_lab import settings_of

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.options.versions import scripts
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level

MS = 1_000_000
SCRIPTS = ("SET", "DEL", "MEMBERS", "LIST", "BEHIND", "FETCH", "APPLY")
ZONES = ("a", "b", "c")
PAIRS = [(one, other) for one in ZONES for other in ZONES if one != other]
READS = {"string": ("GET",), "hash": ("HGETALL",), "set": ("SMEMBERS",), "zset": ("ZRANGE",)}

VALUES = st.integers(0, 9)
MEMBERS = st.sampled_from(["m", "n"])
KEYS = st.sampled_from([f"{kind}{number}" for kind in READS for number in (1, 2)])


def commands_of(key):
    """Of a string, hash, set or sorted set, as the name says; any may be removed as a whole."""
    removed = st.just(("DEL", key))
    if key.startswith("string"):
        return st.one_of(
            removed,
            st.builds(lambda value: ("SET", key, value), VALUES),
            st.builds(lambda value, expires_ms: ("SET", key, value, "PX", expires_ms), VALUES, st.integers(1, 300)),
        )
    if key.startswith("hash"):
        return st.one_of(
            removed,
            st.builds(lambda member, value: ("HSET", key, member, value), MEMBERS, VALUES),
            st.builds(lambda member: ("HDEL", key, member), MEMBERS),
        )
    if key.startswith("set"):
        names = st.sampled_from(["SADD", "SREM"])
        return st.one_of(removed, st.builds(lambda name, member: (name, key, member), names, MEMBERS))
    return st.one_of(
        removed,
        st.builds(lambda member, value: ("ZADD", key, value, member), MEMBERS, VALUES),
        st.builds(lambda member: ("ZREM", key, member), MEMBERS),
    )


WRITES = st.tuples(st.sampled_from(ZONES), st.sampled_from(list(Level)[:3]), KEYS.flatmap(commands_of))
CUTS = st.tuples(st.just("cut"), st.sampled_from(PAIRS), st.sampled_from(list(Cut)))
MENDS = st.tuples(st.just("mend"), st.sampled_from(PAIRS), st.none())
WAITS = st.tuples(st.just("wait"), st.integers(1, 300), st.none())
STEPS = st.lists(st.one_of(WRITES, WRITES, CUTS, MENDS, WAITS), max_size=25)


class Model:
    """The newest of everything. ``wholes``: by key the last SET or removal; ``members``: of collections, by member."""

    def __init__(self):
        self.wholes = {}
        self.members = {}

    def write(self, version, command):
        name, key, *words = command
        if name in ("SET", "DEL"):
            if version > self.wholes.get(key, (0,))[0]:
                stays = len(words) == 1  # every expiry is over when all is at rest
                self.wholes[key] = (version, str(words[0]).encode() if stays else None)
            return
        member = words[1] if name == "ZADD" else words[0]
        value = None
        if name in ("HSET", "SADD", "ZADD"):
            value = b"" if name == "SADD" else str(words[1] if name == "HSET" else words[0]).encode()
        if version > self.members.get((key, member), (0,))[0]:
            self.members[key, member] = (version, value)

    def holds(self, key):
        removed, whole = self.wholes.get(key, (0, None))
        if key.startswith("string"):
            return whole
        return {
            member.encode(): value
            for (its, member), (version, value) in sorted(self.members.items())
            if its == key and version > removed and value is not None
        }


async def held(cluster, zone, key):
    """As the model says it."""
    direct = cluster.direct(zone)
    if key.startswith("string"):
        return (await direct.execute(("GET", key)))[0]
    if key.startswith("set"):
        return dict.fromkeys((await direct.execute(("SMEMBERS", key)))[0], b"")
    command = ("HGETALL", key) if key.startswith("hash") else ("ZRANGE", key, 0, -1, "WITHSCORES")
    (flat,) = await direct.execute(command)
    return dict(zip(flat[::2], flat[1::2], strict=True))


class Outcome:
    def __init__(self):
        self.zones = {}
        self.expected = {}
        self.digests = []


def play(steps, *, entries=1_000, rounds=12):
    """Write, cut and mend as told, mend everything, compare, and say what every zone holds."""
    comparing = AntiEntropySettings(interval_ms=100, entries=entries)
    options = settings_of(SimSettings, lag=ConstantLag(3), timeouts=Timeouts(factor=0.02), anti_entropy=comparing)
    cluster = SimCluster(ZONES, options)
    model, outcome = Model(), Outcome()

    def write(zone, level, command):
        coordinator = cluster.coordinators[zone]
        coordinator.submit(level, [command], lambda outcome: None)
        model.write(coordinator.clock.last, command)

    async def whole():
        async with cluster:
            for what, how, command in steps:
                if what == "wait":
                    await cluster.runtime.sleep(how * MS)
                elif what == "cut":
                    cluster.links[how].cut(command)
                elif what == "mend":
                    cluster.links[how].mend()
                else:
                    write(what, how, command)
                    await cluster.runtime.sleep(2 * MS)
            for link in cluster.links.values():
                link.mend()
            await cluster.network.connected()
            await cluster.runtime.sleep(600 * MS + rounds * 150 * MS)
            for zone in ZONES:
                outcome.zones[zone] = {key: await held(cluster, zone, key) for key in ALL_KEYS}
                (sums,) = await cluster.direct(zone).execute(("HGETALL", "._digests"))
                found = zip(sums[::2], sums[1::2], strict=True)
                outcome.digests.append({place: each for place, each in found if each != b"0"})
        outcome.expected = {key: model.holds(key) for key in ALL_KEYS}

    cluster.runtime.run_until_complete(whole())
    return outcome


ALL_KEYS = [f"{kind}{number}" for kind in READS for number in (1, 2)]


def wrong(outcome):
    """Zones that differ from what the model says, by key, or digests that differ although the zones do not."""
    found = {
        (zone, key): (value, outcome.expected[key])
        for zone, values in outcome.zones.items()
        for key, value in values.items()
        if value != outcome.expected[key]
    }
    return found or any(each != outcome.digests[0] for each in outcome.digests)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_after_some_rounds_all_zones_hold_the_newest_of_everything(steps):
    assert not wrong(play(steps))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_rounds_that_look_at_one_record_each_get_there_too(steps):
    assert not wrong(play(steps, entries=1, rounds=60))


SET_1, SET_2 = ("SET", "string1", 1), ("SET", "string1", 2)
ADD, TAKE, REMOVE = ("HSET", "hash1", "m", 1), ("HDEL", "hash1", "m"), ("DEL", "hash1")
ALONE = [("cut", ends, Cut.DROP) for ends in PAIRS if "b" in ends]
HELD = ("cut", ("a", "b"), Cut.HOLD)
WAIT = ("wait", 30, None)


def through(zone, command):
    return (zone, Level.DC_ONE, command)


BUGS = {
    "a SET that is too old writes its value all the same": (
        "if its <= tonumber(ARGV[1]) then set(",
        "redis.call('SET', key, ARGV[1 + index]) if its <= tonumber(ARGV[1]) then set(",
        [HELD, through("a", SET_1), WAIT, through("c", SET_2), WAIT],
    ),
    "a removal is not remembered": (
        "record(at, id('k', key, ''), stored, '-' .. version)",
        "",
        [through("a", SET_1), WAIT, *ALONE, through("a", ("DEL", "string1")), WAIT],
    ),
    "a member comes back that was written before its key was removed": (
        "and removed <= version",
        "",
        [HELD, through("a", ADD), WAIT, through("c", REMOVE), WAIT],
    ),
    "digests do not tell versions": (
        "redis.sha1hex(name .. '@' .. version)",
        "redis.sha1hex(name)",
        [through("a", SET_1), WAIT, *ALONE, through("a", SET_2), WAIT],
    ),
    "a removed member is copied as if it were there": (
        "if removed then",
        "if false then",
        [through("a", ADD), WAIT, *ALONE, through("a", TAKE), WAIT],
    ),
    "what has expired leaves what is older": (
        "if not (removed or value or UNVERSIONED[kind_of(key)]) then",
        "if false then",
        [through("a", SET_1), WAIT, *ALONE, through("a", (*SET_2, "PX", 20)), WAIT],
    ),
    "members that are missing are not looked for": (
        "return whole < version, stored",
        "return false, stored",
        [*ALONE, through("a", ADD), WAIT],
    ),
    "removals are taken for too old": (
        "if removed and version < horizon then",
        "if removed then",
        [through("a", SET_1), WAIT, *ALONE, through("a", ("DEL", "string1")), WAIT],
    ),
}


@pytest.mark.parametrize("bug", list(BUGS))
def test_a_planted_bug_leaves_zones_that_differ(bug, monkeypatch):
    right, planted, steps = BUGS[bug]
    assert not wrong(play(steps))
    hit = [name for name in SCRIPTS if right in getattr(scripts, name)]
    assert hit
    for name in hit:
        monkeypatch.setattr(scripts, name, getattr(scripts, name).replace(right, planted))
    assert wrong(play(steps))
