"""Goal: read repair does what Dynomite's was measured to do, row by row, its defects included, and nothing when off.

Method: versions are planted in the three servers of a simulated cluster; reads go through its coordinators.
"""

from functools import partial

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster.options.read_repair import scripts as repair_scripts
from zonelab.cluster.options.read_repair.coordinator import rewritten
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Indeterminate, Unavailable

ONE, QUORUM, SAFE, EACH = Level
MS = 1_000_000
ZONES = ("a", "b", "c")

repairing = partial(simulated, read_repair=True)


async def plant(cluster, key, states):
    """``states``: by zone a value with its version, a version alone for a removal, or None for nothing at all."""
    for zone, state in zip(ZONES, states, strict=True):
        if isinstance(state, int):
            await cluster.direct(zone).execute(("ZADD", "._rem-set", state, key))
        elif state is not None:
            await cluster.direct(zone).execute(("EVAL", repair_scripts.SET, 1, key, state[1], state[0]))


async def read(cluster, level, *command):
    """What each coordinator says, twice each."""
    seen = []
    for _ in range(2):
        for zone in ZONES:
            try:
                seen += await cluster.connection(zone, level).execute(command)
            except (Unavailable, Indeterminate) as error:
                seen.append(str(error))
            await cluster.runtime.sleep(50 * MS)
    return seen


async def held(cluster, *command):
    return [(await cluster.direct(zone).execute(command))[0] for zone in ZONES]


def after(states, level=QUORUM, *, on=True):
    """What reads say, and what the servers hold afterwards."""

    @repairing(read_repair=on)
    async def seen_and_held(cluster):
        await plant(cluster, "k", states)
        return await read(cluster, level, "GET", "k"), await held(cluster, "GET", "k")

    return seen_and_held()


NEW, OLD, MISSING = ("new", 20), ("old", 10), None


class TestMeasuredOutcomes:
    @pytest.mark.parametrize("level", [QUORUM, SAFE, EACH])
    def test_new_old_new_is_repaired_to_new(self, level):
        seen, values = after((NEW, OLD, NEW), level)
        assert seen == [b"new"] * 6
        assert values == [b"new"] * 3

    def test_a_quorum_of_old_is_repaired_to_new_once_a_read_has_seen_both(self):
        seen, values = after((NEW, OLD, OLD))
        assert set(seen) <= {b"new", b"old"}
        assert seen[0] == seen[-1] == b"new"
        assert values == [b"new"] * 3

    @pytest.mark.parametrize("level", [QUORUM, SAFE])
    def test_of_three_versions_the_newest_wins_everywhere_even_at_safe(self, level):
        seen, values = after((("a", 10), ("b", 20), ("c", 30)), level)
        assert seen == [b"c"] * 6
        assert values == [b"c"] * 3

    def test_a_zone_that_restarted_empty_is_never_repaired(self):
        seen, values = after((NEW, MISSING, NEW))
        assert seen == [b"new"] * 6
        assert values == [b"new", None, b"new"]

    def test_two_zones_that_restarted_empty_outvote_the_newest_value(self):
        seen, values = after((NEW, MISSING, MISSING))
        assert seen == [None] * 6
        assert values == [b"new", None, None]

    def test_equal_versions_are_not_repaired(self):
        seen, values = after((("a", 10), ("b", 10), ("b", 10)))
        assert seen == [b"b"] * 6
        assert values == [b"a", b"b", b"b"]

    def test_three_values_of_one_version_fail_at_safe_and_are_anybodys_at_quorum(self):
        planted = (("a", 10), ("b", 10), ("c", 10))
        assert set(after(planted, SAFE)[0]) == {"ERR Dynomite: Failed to achieve Quorum"}
        seen, values = after(planted, QUORUM)
        assert set(seen) <= {b"a", b"b", b"c"}
        assert values == [b"a", b"b", b"c"]

    def test_a_newer_removal_in_one_zone_wins_after_at_most_one_stale_read_a_coordinator_and_deletes_everywhere(self):
        seen, values = after((30, OLD, OLD))
        assert seen.count(b"old") <= 3
        assert seen[-1] is None
        assert values == [None] * 3

    @repairing()
    async def test_a_set_whose_clock_is_behind_is_answered_minus_one_and_changes_nothing(self, cluster):
        ahead = cluster.clock("a").now_ms() + 10_000
        await plant(cluster, "k", [("ahead", ahead)] * 3)
        assert (
            await cluster.connection("a", QUORUM).execute(("SET", "k", "behind")),
            await held(cluster, "GET", "k"),
        ) == ([-1], [b"ahead"] * 3)

    @repairing()
    async def test_set_nx_overwrites_and_set_ex_sets_no_time_to_live(self, cluster):
        connection = cluster.connection("a", QUORUM)
        told = await connection.execute(("SET", "k", 1), ("SET", "k", 2, "NX"), ("SET", "e", 1, "EX", 100))
        await cluster.runtime.sleep(MS)
        assert (told, await held(cluster, "GET", "k"), await held(cluster, "TTL", "e")) == (
            [b"OK"] * 3,
            [b"2"] * 3,
            [-1] * 3,
        )

    def test_nothing_is_repaired_where_it_is_off(self):
        seen, values = after((("a", 10), ("b", 20), ("c", 30)), on=False)
        assert values == [b"a", b"b", b"c"]
        assert len(set(seen)) > 1

    @repairing()
    async def test_at_dc_one_no_version_is_kept_and_nothing_is_repaired(self, cluster):
        await cluster.connection("a", ONE).execute(("SET", "plain", 1))
        await plant(cluster, "k", (NEW, OLD, OLD))
        seen, versions = await read(cluster, ONE, "GET", "k"), await held(cluster, "ZSCORE", "._add-set", "plain")
        assert seen == [b"new", b"old", b"old"] * 2
        assert versions == [None] * 3


class TestCommands:
    @repairing()
    async def test_every_command_of_the_list_keeps_its_reply_and_its_effect(self, cluster):
        connection = cluster.connection("b", SAFE)
        written = await connection.execute(
            ("SET", "s", "v"),
            ("HSET", "h", "f", 1),
            ("HMSET", "h", "g", 2, "i", 3),
            ("SADD", "m", "x", "y"),
            ("ZADD", "z", 1.5, "p", 2, "q"),
            ("GET", "s"),
            ("HGET", "h", "g"),
            ("SISMEMBER", "m", "y"),
            ("ZSCORE", "z", "p"),
            ("HGET", "h", "none"),
            ("INCR", "n"),
            ("HGETALL", "m2"),
        )
        removed = await connection.execute(
            ("DEL", "s"),
            ("HDEL", "h", "f", "none"),
            ("SREM", "m", "x"),
            ("ZREM", "z", "q"),
            ("GET", "s"),
            ("HGET", "h", "f"),
            ("SISMEMBER", "m", "x"),
            ("ZSCORE", "z", "q"),
        )
        await cluster.runtime.sleep(100 * MS)
        tombstones = await held(cluster, "KEYS", "._rem-set*")
        assert written == [b"OK", 1, b"OK", 2, 2, b"v", b"2", 1, b"1.5", None, 1, []]
        assert removed == [1, 1, 1, 1, None, None, 0, None]
        assert tombstones == [[]] * 3

    @pytest.mark.parametrize(
        "command",
        [
            ("INCR", "n"),
            ("MSET", "a", 1),
            ("SETEX", "k", 9, 1),
            ("EXPIRE", "k", 9),
            ("LPUSH", "l", 1),
            ("GET",),
            ("ZRANGE", "z", 0, -1),
            ("HGETALL", "h"),
            ("MGET", "a", "b"),
            ("DEL", "a", "b"),
            ("HSET", "h", "f"),
            ("ZADD", "z", "nx", 1, "m"),
            ("ZADD", "z", b"NX", "CH", 1, "m"),
        ],
    )
    def test_other_commands_go_past_the_versions(self, command):
        assert rewritten(command, 1) is None

    @pytest.mark.parametrize(
        ("write", "get", "values"),
        [
            (lambda v: ("HSET", "k", "f", v), ("HGET", "k", "f"), (b"2", b"2")),
            (lambda v: ("ZADD", "k", v, "f"), ("ZSCORE", "k", "f"), (b"2", b"2")),
        ],
    )
    @repairing()
    async def test_fields_and_members_are_repaired_one_by_one(self, cluster, write, get, values):
        for zone, version in (("a", 1), ("b", 2), ("c", 1)):
            await cluster.direct(zone).execute(rewritten(write(version), version))
        seen, stored = await read(cluster, QUORUM, *get), await held(cluster, *get)
        assert seen[-1] == values[0]
        assert stored == [values[1]] * 3

    @repairing()
    async def test_members_of_sets_are_repaired_in_both_directions(self, cluster):
        await cluster.direct("a").execute(rewritten(("SADD", "k", "m"), 1), rewritten(("SREM", "k", "m"), 5))
        await cluster.direct("b").execute(rewritten(("SADD", "k", "m"), 1))
        await cluster.direct("c").execute(rewritten(("SADD", "k", "m"), 1))
        gone = await read(cluster, QUORUM, "SISMEMBER", "k", "m")
        await cluster.direct("b").execute(rewritten(("SADD", "k", "m"), 9))
        back = await read(cluster, QUORUM, "SISMEMBER", "k", "m")
        assert (gone[-1], back[-1], await held(cluster, "SISMEMBER", "k", "m")) == (0, 1, [1, 1, 1])

    @repairing()
    async def test_repairs_are_counted(self, cluster):
        await plant(cluster, "k", (NEW, OLD, NEW))
        await read(cluster, QUORUM, "GET", "k")
        counted = [cluster.coordinators[zone].statistics.options for zone in ZONES]
        assert sum(each.get("repairs", 0) for each in counted) >= 1
