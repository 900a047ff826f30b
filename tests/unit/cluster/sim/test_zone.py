"""Goal: each end of a server loses exactly what it would lose on a real machine. Method: write, end, restart, read."""

import pytest

from cluster.zone import Persistence, Restart, ZoneError, ZoneState

SECOND = 1_000_000_000


async def contents(lab, zone="a"):
    client = await lab.connected(zone)
    (keys,) = await client.ask(("KEYS", "*"))
    return sorted(key.decode() for key in keys)


def scenario(lab, *, end, between_ns=0, restart=Restart.KEEP):
    """Write "early", wait, write "late", end the server, restart it: the keys that are left."""

    async def program():
        await lab.zone.start()
        client = await lab.connected()
        await client.ask(("SET", "early", "v"))
        await lab.runtime.sleep(between_ns)
        await client.ask(("SET", "late", "v"))
        await end(lab.zone)
        assert lab.zone.state is ZoneState.DEAD
        await lab.zone.restart(restart)
        return await contents(lab)

    return lab.run(program())


def kill(zone):
    return zone.kill()


def power(zone):
    return zone.fail_power()


@pytest.mark.parametrize("persistence", [Persistence.AOF_ALWAYS, Persistence.AOF_EVERYSEC, Persistence.AOF_NO])
def test_a_kill_loses_nothing_that_was_written_to_the_append_only_file(site, persistence):
    assert scenario(site(persistence=persistence), end=kill) == ["early", "late"]


def test_without_persistence_a_kill_loses_everything(site):
    assert scenario(site(persistence=Persistence.NONE), end=kill) == []


@pytest.mark.parametrize(
    ("persistence", "between_s", "left"),
    [
        (Persistence.NONE, 100, []),
        (Persistence.AOF_ALWAYS, 0, ["early", "late"]),
        (Persistence.AOF_EVERYSEC, 0, []),
        (Persistence.AOF_EVERYSEC, 2, ["early"]),
        (Persistence.AOF_NO, 2, []),
        (Persistence.AOF_NO, 31, ["early"]),
    ],
)
def test_a_power_failure_loses_what_was_not_flushed(site, persistence, between_s, left):
    assert scenario(site(persistence=persistence), end=power, between_ns=between_s * SECOND) == left


@pytest.mark.parametrize("end", [kill, power])
def test_a_snapshot_is_all_that_is_left_of_a_server_that_takes_snapshots(site, end):
    settings = {"persistence": Persistence.RDB, "save_points": ((5, 1),)}
    assert scenario(site(**settings), end=end, between_ns=4 * SECOND) == []
    assert scenario(site(**settings), end=end, between_ns=7 * SECOND) == ["early"]


def test_snapshots_need_as_many_changes_as_their_save_point_says(site):
    settings = {"persistence": Persistence.RDB, "save_points": ((5, 2),)}
    assert scenario(site(**settings), end=kill, between_ns=60 * SECOND) == []


def test_a_wipe_loses_everything(site, persistence):
    assert scenario(site(persistence=persistence), end=kill, restart=Restart.WIPE) == []


def test_a_paused_server_does_not_flush(site):
    lab = site(persistence=Persistence.AOF_EVERYSEC)

    async def program():
        await lab.zone.start()
        client = await lab.connected()
        await client.ask(("SET", "k", "v"))
        await lab.zone.pause()
        await lab.runtime.sleep(10 * SECOND)
        assert lab.zone.server.disk.unflushed == 1
        await lab.zone.resume()
        await lab.runtime.sleep(2 * SECOND)
        assert lab.zone.server.disk.unflushed == 0

    lab.run(program())


def torn_tail(site, seed):
    lab = site(seed=seed, persistence=Persistence.AOF_EVERYSEC)

    async def program():
        await lab.zone.start()
        client = await lab.connected()
        for number in range(5):
            await client.ask(("RPUSH", "l", number))
        await lab.zone.fail_power(torn=True)
        await lab.zone.restart(Restart.KEEP)
        witness = await lab.connected()
        (left,) = await witness.ask(("LRANGE", "l", 0, -1))
        return [int(number) for number in left]

    return lab.run(program())


def test_a_torn_tail_keeps_a_prefix_of_what_was_not_flushed(site):
    lengths = set()
    for seed in range(60):
        left = torn_tail(site, seed)
        assert left == list(range(len(left)))
        lengths.add(len(left))
    assert lengths - {5} == {0, 1, 2, 3, 4}


def test_a_torn_script_leaves_all_of_its_effects_or_none(site):
    script = "redis.call('SET', 'x', 1) redis.call('SET', 'y', 1) return 1"
    seen = set()
    for seed in range(40):
        lab = site(seed=seed, persistence=Persistence.AOF_EVERYSEC)

        async def program(lab=lab):
            await lab.zone.start()
            client = await lab.connected()
            await client.ask(("EVAL", script, 0), ("SET", "z", 1))
            await lab.zone.fail_power(torn=True)
            await lab.zone.restart(Restart.KEEP)
            return tuple(await contents(lab))

        seen.add(lab.run(program()))
    assert seen <= {(), ("x", "y"), ("x", "y", "z")}
    assert {(), ("x", "y")} <= seen


def test_times_to_live_and_random_choices_survive_a_restart(site):
    lab = site(persistence=Persistence.AOF_ALWAYS)

    async def program():
        await lab.zone.start()
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

    lab.run(program())


def test_a_long_file_is_rewritten_without_losing_anything(site):
    lab = site(persistence=Persistence.AOF_ALWAYS, fsync_ns=0)

    async def program():
        await lab.zone.start()
        client = await lab.connected()
        for _ in range(250):
            await client.ask(*[("INCR", "n") for _ in range(100)])
        assert len(lab.zone.server.disk._log) <= 10_000
        await lab.zone.fail_power()
        await lab.zone.restart(Restart.KEEP)
        client = await lab.connected()
        assert await client.ask(("GET", "n")) == [b"25000"]

    lab.run(program())


def test_scripts_are_forgotten_when_the_process_ends(site):
    lab = site(persistence=Persistence.AOF_ALWAYS)

    async def program():
        await lab.zone.start()
        client = await lab.connected()
        (digest,) = await client.ask(("SCRIPT", "LOAD", "return 1"))
        await lab.zone.kill()
        await lab.zone.restart(Restart.KEEP)
        client = await lab.connected()
        (reply,) = await client.ask(("EVALSHA", digest, 0))
        assert str(reply).startswith("NOSCRIPT")

    lab.run(program())


def test_a_warm_restart_brings_the_data_of_the_other_zone_and_keeps_it(site, persistence):
    lab = site(persistence=persistence)

    async def program():
        a, b = lab.zones["a"], lab.zones["b"]
        await a.start()
        await b.start()
        await (await lab.connected("a")).ask(("SET", "from a", "v"))
        await (await lab.connected("b")).ask(("SET", "from b", "v"), ("ZADD", "z", 1, "m"))
        await a.kill()
        await a.restart(Restart.WARM, warm_from=b)
        assert await contents(lab, "a") == ["from b", "z"]
        client = await lab.connected("a")
        await client.ask(("ZADD", "z", 2, "m"))
        other = await lab.connected("b")
        assert await other.ask(("ZSCORE", "z", "m")) == [b"1"]
        await a.fail_power()
        await a.restart(Restart.KEEP)
        assert await contents(lab, "a") == ["from b", "z"]

    lab.run(program())


def test_a_warm_restart_needs_a_running_zone_of_its_kind(site):
    lab = site()

    async def program():
        a, b = lab.zones["a"], lab.zones["b"]
        await a.start()
        await a.kill()
        for source, told in ((None, "got none"), (a, "got a"), (b, "while it is stopped")):
            with pytest.raises(ZoneError, match=told):
                await a.restart(Restart.WARM, warm_from=source)
        with pytest.raises(ZoneError, match="takes no zone"):
            await a.restart(Restart.KEEP, warm_from=b)
        assert a.state is ZoneState.DEAD

    lab.run(program())


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        (ZoneState.STOPPED, "kill"),
        (ZoneState.STOPPED, "pause"),
        (ZoneState.STOPPED, "fail_power"),
        (ZoneState.RUNNING, "start"),
        (ZoneState.RUNNING, "resume"),
        (ZoneState.PAUSED, "pause"),
        (ZoneState.DEAD, "kill"),
        (ZoneState.DEAD, "start"),
    ],
)
def test_a_verb_that_does_not_fit_the_state_is_refused_with_both(site, state, verb):
    lab = site()

    async def program():
        if state is not ZoneState.STOPPED:
            await lab.zone.start()
        if state is ZoneState.PAUSED:
            await lab.zone.pause()
        if state is ZoneState.DEAD:
            await lab.zone.kill()
        with pytest.raises(ZoneError, match=f"while {state}"):
            await getattr(lab.zone, verb)()
        assert lab.zone.state is state

    lab.run(program())


def test_stopping_fits_every_state_and_leaves_no_data(site):
    for verbs in ((), ("pause",), ("kill",)):
        lab = site(persistence=Persistence.AOF_ALWAYS)

        async def program(lab=lab, verbs=verbs):
            await lab.zone.stop()
            await lab.zone.start()
            await (await lab.connected()).ask(("SET", "k", "v"))
            for verb in verbs:
                await getattr(lab.zone, verb)()
            await lab.zone.stop()
            await lab.zone.stop()
            assert lab.zone.state is ZoneState.STOPPED
            await lab.zone.start()
            return await contents(lab)

        assert lab.run(program()) == []


def test_verbs_of_one_zone_wait_for_each_other(site):
    lab = site()

    async def program():
        await lab.zone.start()
        await lab.zone.kill()
        restart = lab.runtime.spawn(lab.zone.restart(Restart.KEEP), name="restart")
        await lab.runtime.sleep(1)
        await lab.zone.pause()  # waits for the restart, and then fits
        await restart.join()
        assert lab.zone.state is ZoneState.PAUSED

    lab.run(program())
