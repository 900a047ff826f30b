"""Goal: each end of a server loses exactly what it would lose on a real machine. Method: write, end, restart, read."""

from functools import partial

import pytest

from zonelab.cluster.zone import Persistence, Restart, ZoneError, ZoneState

from .conftest import on_site

SECOND = 1_000_000_000


async def contents(lab, zone="a"):
    client = await lab.connected(zone)
    (keys,) = await client.ask(("KEYS", "*"))
    return sorted(key.decode() for key in keys)


async def kill(zone):
    await zone.kill()


async def power(zone):
    await zone.fail_power()


SNAPSHOTS = {"persistence": Persistence.RDB, "save_points": ((5, 1),)}
BOTH = ["early", "late"]


@pytest.mark.parametrize(
    ("settings", "between_s", "end", "left"),
    [
        ({"persistence": Persistence.NONE}, 100, kill, []),
        ({"persistence": Persistence.AOF_ALWAYS}, 0, kill, BOTH),
        ({"persistence": Persistence.AOF_EVERYSEC}, 0, kill, BOTH),
        ({"persistence": Persistence.AOF_NO}, 0, kill, BOTH),
        ({"persistence": Persistence.NONE}, 100, power, []),
        ({"persistence": Persistence.AOF_ALWAYS}, 0, power, BOTH),
        ({"persistence": Persistence.AOF_EVERYSEC}, 0, power, []),
        ({"persistence": Persistence.AOF_EVERYSEC}, 2, power, ["early"]),
        ({"persistence": Persistence.AOF_NO}, 2, power, []),
        ({"persistence": Persistence.AOF_NO}, 31, power, ["early"]),
        (SNAPSHOTS, 4, kill, []),
        (SNAPSHOTS, 4, power, []),
        (SNAPSHOTS, 7, kill, ["early"]),
        (SNAPSHOTS, 7, power, ["early"]),
        ({"persistence": Persistence.RDB, "save_points": ((5, 2),)}, 60, kill, []),
    ],
)
@pytest.mark.parametrize("restart", [Restart.KEEP, Restart.WIPE])
def test_what_is_left_after_the_end_of_a_server(settings, between_s, end, left, restart):
    @on_site(**settings)
    async def keys_left(lab):
        client = await lab.connected()
        await client.ask(("SET", "early", "v"))
        await lab.runtime.sleep(between_s * SECOND)
        await client.ask(("SET", "late", "v"))
        await end(lab.zone)
        assert lab.zone.state is ZoneState.DEAD
        await lab.zone.restart(restart)
        return await contents(lab)

    assert keys_left() == (left if restart is Restart.KEEP else [])


@pytest.mark.parametrize(("resumed", "left"), [(False, []), (True, ["k"])])
def test_a_paused_server_does_not_flush(resumed, left):
    @on_site(persistence=Persistence.AOF_EVERYSEC)
    async def keys_left(lab):
        client = await lab.connected()
        await client.ask(("SET", "k", "v"))
        await lab.zone.pause()
        await lab.runtime.sleep(10 * SECOND)
        if resumed:
            await lab.zone.resume()
            await lab.runtime.sleep(2 * SECOND)
        await lab.zone.fail_power()
        await lab.zone.restart(Restart.KEEP)
        return await contents(lab)

    assert keys_left() == left


def after_a_torn_tail(seed, *commands):
    """The keys or elements that are left of ``commands``, each sent by itself, after a power failure."""

    @on_site(seed=seed, persistence=Persistence.AOF_EVERYSEC)
    async def left(lab):
        client = await lab.connected()
        for command in commands:
            await client.ask(command)
        await lab.zone.fail_power(torn=True)
        await lab.zone.restart(Restart.KEEP)
        return await contents(lab)

    return tuple(left())


def test_a_torn_tail_keeps_a_prefix_of_what_was_not_flushed():
    seen = {after_a_torn_tail(seed, *(("SET", name, "v") for name in "abcde")) for seed in range(60)}
    assert seen - {tuple("abcde")} == {tuple("abcde"[:count]) for count in range(5)}


def test_a_torn_script_leaves_all_of_its_effects_or_none():
    script = "redis.call('SET', 'x', 1) redis.call('SET', 'y', 1) return 1"
    seen = {after_a_torn_tail(seed, ("EVAL", script, 0), ("SET", "z", 1)) for seed in range(40)}
    assert {(), ("x", "y")} <= seen <= {(), ("x", "y"), ("x", "y", "z")}


@on_site(persistence=Persistence.AOF_ALWAYS)
async def test_times_to_live_and_random_choices_survive_a_restart(lab):
    client = await lab.connected()
    await client.ask(("SET", "k", "v", "PX", 5000), ("SADD", "s", *range(20)), ("SPOP", "s", 7))
    before = await client.ask(("PEXPIRETIME", "k"), ("SMEMBERS", "s"))
    await lab.runtime.sleep(SECOND)
    await lab.zone.kill()
    await lab.zone.restart(Restart.KEEP)
    client = await lab.connected()
    assert await client.ask(("PEXPIRETIME", "k"), ("SMEMBERS", "s")) == before
    await lab.runtime.sleep(5 * SECOND)
    assert await client.ask(("GET", "k")) == [None]


@on_site(persistence=Persistence.AOF_ALWAYS, fsync_ns=0)
async def test_a_long_file_is_rewritten_without_losing_anything(lab):
    client = await lab.connected()
    for _ in range(250):
        await client.ask(*[("INCR", "n") for _ in range(100)])
    assert len(lab.zone.server.disk._log) <= 10_000
    await lab.zone.fail_power()
    await lab.zone.restart(Restart.KEEP)
    client = await lab.connected()
    assert await client.ask(("GET", "n")) == [b"25000"]


@on_site(persistence=Persistence.AOF_ALWAYS)
async def test_scripts_are_forgotten_when_the_process_ends(lab):
    client = await lab.connected()
    (digest,) = await client.ask(("SCRIPT", "LOAD", "return 1"))
    await lab.zone.kill()
    await lab.zone.restart(Restart.KEEP)
    client = await lab.connected()
    (reply,) = await client.ask(("EVALSHA", digest, 0))
    assert str(reply).startswith("NOSCRIPT")


PERSISTING = [Persistence.AOF_ALWAYS, Persistence.AOF_EVERYSEC, Persistence.AOF_NO, Persistence.RDB]


@pytest.mark.parametrize("persistence", PERSISTING)
def test_a_warm_restart_brings_the_data_of_the_other_zone_and_keeps_it(persistence):
    @on_site(persistence=persistence)
    async def carried_out(lab):
        a, b = lab.zones["a"], lab.zones["b"]
        await b.start()
        await (await lab.connected("a")).ask(("SET", "from a", "v"))
        other = await lab.connected("b")
        await other.ask(("SET", "from b", "v"), ("ZADD", "z", 1, "m"))
        await a.kill()
        await a.restart(Restart.WARM, warm_from=b)
        assert await contents(lab, "a") == ["from b", "z"]
        await (await lab.connected("a")).ask(("ZADD", "z", 2, "m"))
        assert await other.ask(("ZSCORE", "z", "m")) == [b"1"]
        await a.fail_power()
        await a.restart(Restart.KEEP)
        assert await contents(lab, "a") == ["from b", "z"]

    carried_out()


@on_site()
async def test_a_warm_restart_needs_a_running_zone_of_its_kind(lab):
    a, b = lab.zones["a"], lab.zones["b"]
    await a.kill()
    for source, told in ((None, "got none"), (a, "got a"), (b, "while it is stopped")):
        with pytest.raises(ZoneError, match=told):
            await a.restart(Restart.WARM, warm_from=source)
    with pytest.raises(ZoneError, match="takes no zone"):
        await a.restart(Restart.KEEP, warm_from=b)
    assert a.state is ZoneState.DEAD


FITTING = {
    "start": {ZoneState.STOPPED: ZoneState.RUNNING},
    "kill": {ZoneState.RUNNING: ZoneState.DEAD, ZoneState.PAUSED: ZoneState.DEAD},
    "fail_power": {ZoneState.RUNNING: ZoneState.DEAD, ZoneState.PAUSED: ZoneState.DEAD},
    "pause": {ZoneState.RUNNING: ZoneState.PAUSED},
    "resume": {ZoneState.PAUSED: ZoneState.RUNNING},
    "fill_memory": {ZoneState.RUNNING: ZoneState.RUNNING},
    "free_memory": {ZoneState.RUNNING: ZoneState.RUNNING},
    "restart": {ZoneState.DEAD: ZoneState.RUNNING},
}


@pytest.mark.parametrize("state", ZoneState)
@pytest.mark.parametrize("verb", FITTING)
@on_site()
async def test_a_verb_that_does_not_fit_the_state_is_refused_with_both(lab, state, verb):
    before = {ZoneState.STOPPED: "stop", ZoneState.PAUSED: "pause", ZoneState.DEAD: "kill"}
    if state in before:
        await getattr(lab.zone, before[state])()
    assert lab.zone.state is state
    carried_out = partial(getattr(lab.zone, verb), *([Restart.KEEP] if verb == "restart" else []))
    if state in FITTING[verb]:
        await carried_out()
        assert lab.zone.state is FITTING[verb][state]
        return
    said = {"fail_power": "fail the power", "fill_memory": "fill the memory", "free_memory": "free the memory"}
    accepted = " or ".join(FITTING[verb])
    with pytest.raises(ZoneError) as refused:
        await carried_out()
    assert str(refused.value) == f"zone a: cannot {said.get(verb, verb)} while {state}; it must be {accepted}"
    assert lab.zone.state is state


@on_site()
async def test_a_zone_whose_memory_is_full_refuses_what_grows_until_it_is_free_or_another_process(lab):
    client = await lab.connected()
    oom = "OOM command not allowed when used memory > 'maxmemory'."
    for end in ("free", "restart"):
        await client.ask(("SET", "k", "v"))
        await lab.zone.fill_memory()
        set_, get, delete = await client.ask(("SET", "k", "w"), ("GET", "k"), ("DEL", "k"))
        assert (str(set_), get, delete) == (oom, b"v", 1)
        if end == "free":
            await lab.zone.free_memory()
        else:
            await lab.zone.kill()
            await lab.zone.restart(Restart.KEEP)
            client = await lab.connected()
        assert await client.ask(("SET", "k", "w")) == [b"OK"]


@pytest.mark.parametrize("factor", [0.999, 0, -1, float("nan")])
@on_site(request_ns=0, service_ns=1_000, reply_ns=0)
async def test_a_zone_is_slowed_down_by_one_or_more(lab, factor):
    client = await lab.connected()
    with pytest.raises(ZoneError, match=f"zone a: a slow-down must be at least 1, got {factor}"):
        await lab.zone.slow_down(factor)
    for right, took_ns in ((1, 1_000), (2.5, 2_500), (1, 1_000)):
        await lab.zone.slow_down(right)
        begin_ns = lab.runtime.now_ns()
        await client.ask(("GET", "k"))
        assert lab.runtime.now_ns() - begin_ns == took_ns


@pytest.mark.parametrize("persistence", [Persistence.AOF_EVERYSEC, Persistence.AOF_NO, Persistence.AOF_ALWAYS])
def test_a_torn_tail_takes_nothing_that_was_flushed_also_the_second_time(persistence):
    @on_site(persistence=persistence)
    async def left(lab):
        for name in ("first", "second"):
            client = await lab.connected()
            await client.ask(("SET", name, "v"))
            await lab.runtime.sleep(31 * SECOND)
            await lab.zone.fail_power(torn=True)
            await lab.zone.restart(Restart.KEEP)
        return await contents(lab)

    assert left() == ["first", "second"]


@pytest.mark.parametrize("verb", [None, "pause", "kill"])
@on_site(persistence=Persistence.AOF_ALWAYS)
async def test_stopping_fits_every_state_and_leaves_no_data(lab, verb):
    await (await lab.connected()).ask(("SET", "k", "v"))
    if verb is not None:
        await getattr(lab.zone, verb)()
    for _ in range(2):
        await lab.zone.stop()
    assert lab.zone.state is ZoneState.STOPPED
    await lab.zone.start()
    assert await contents(lab) == []


@on_site()
async def test_verbs_of_one_zone_wait_for_each_other(lab):
    await lab.zone.kill()
    restart = lab.runtime.spawn(lab.zone.restart(Restart.KEEP), name="restart")
    await lab.runtime.sleep(1)
    await lab.zone.pause()  # waits for the restart, and then fits
    await restart.join()
    assert lab.zone.state is ZoneState.PAUSED


async def full(lab, *, keys):
    """Fill the disk and set ``keys``; the errors of those that were refused."""
    client = await lab.connected()
    await lab.zone.fill_disk()
    replies = [(await client.ask(("SET", key, "v")))[0] for key in keys]
    return [str(reply)[:7] for reply in replies if reply != b"OK"]


@pytest.mark.parametrize(("freed", "left"), [(True, ["after", "first"]), (False, [])])
@on_site(persistence=Persistence.AOF_EVERYSEC)
async def test_a_full_disk_takes_no_second_write_and_gets_the_first_when_there_is_room(lab, freed, left):
    assert await full(lab, keys=["first", "second", "third"]) == ["MISCONF", "MISCONF"]
    assert await contents(lab) == ["first"]
    if freed:
        await lab.zone.free_disk()
        assert await (await lab.connected()).ask(("SET", "after", "v")) == [b"OK"]
    await lab.zone.kill()
    await lab.zone.free_disk()
    await lab.zone.restart(Restart.KEEP)
    assert await contents(lab) == left


@on_site(persistence=Persistence.AOF_ALWAYS)
async def test_a_server_that_flushes_each_write_ends_when_its_disk_is_full(lab):
    client = await lab.connected()
    await lab.zone.fill_disk()
    client.send(("SET", "k", "v"))
    await lab.runtime.sleep(SECOND)
    assert (client.answers[-1], lab.zone.state) == ("closed", ZoneState.DEAD)
    await lab.zone.free_disk()
    await lab.zone.restart(Restart.KEEP)
    assert await contents(lab) == []


@on_site(persistence=Persistence.RDB, save_points=((5, 1),))
async def test_a_snapshot_that_fails_stops_writes_until_one_works_and_is_tried_again_after_five_seconds(lab):
    assert await full(lab, keys=["first", "second"]) == []
    await lab.runtime.sleep(7 * SECOND)
    assert await full(lab, keys=["third"]) == ["MISCONF"]
    await lab.zone.free_disk()
    await lab.runtime.sleep(1 * SECOND)
    (refused,) = await (await lab.connected()).ask(("SET", "fourth", "v"))
    assert str(refused).startswith("MISCONF")
    await lab.runtime.sleep(6 * SECOND)
    assert await (await lab.connected()).ask(("SET", "fifth", "v")) == [b"OK"]
    await lab.zone.kill()
    await lab.zone.restart(Restart.KEEP)
    assert await contents(lab) == ["first", "second"]
