"""Goal: the simulated testbed keeps the promises of a testbed, and repeats. Method: three zones in virtual time."""

import pytest

from cluster import testbed
from cluster.connections.timeouts import Timeouts
from cluster.links.lag_text import parse_lag
from cluster.links.link import Cut
from cluster.sim.cluster import EPOCH_NS, SimCluster, SimSettings
from cluster.sim.schedule import Schedule, TieBreak
from cluster.sim.server import ServerSettings
from cluster.sim.trace import first_difference
from cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from cluster.zone import ClusterError, Restart
from engine.ports import Indeterminate, Unavailable

MS = 1_000_000
ZONES = ("a", "b", "c")


def cluster(zones=ZONES, *, seed=1, **settings):
    return SimCluster(zones, SimSettings(seed=seed, **settings))


def run(made, program):
    async def whole():
        async with made:
            return await program(made)

    return made.runtime.run_until_complete(whole())


def test_it_is_a_testbed():
    made: testbed.Testbed = cluster()
    assert list(made.zones) == list(made.clocks) == list(ZONES)
    assert len(made.links) == 6
    assert made.epoch_ns == EPOCH_NS


@pytest.mark.parametrize("level", tuple(Level))
def test_a_write_at_any_level_reaches_every_zone(level):
    async def program(made):
        assert await made.connection("a", level).execute(("SET", "k", "v"), ("INCR", "n")) == [b"OK", 1]
        await made.runtime.sleep(100 * MS)
        for zone in ZONES:
            assert await made.direct(zone).execute(("GET", "k"), ("GET", "n")) == [b"v", b"1"]

    run(cluster(lag=parse_lag("uniform:1ms:5ms")), program)


def test_a_level_waits_for_as_many_replies_as_it_says():
    """One way to b takes 3 ms and to c 5 ms; the own server takes 20 + 5 + 20 µs for one command."""
    lags = {("a", "b"): "3ms", ("b", "a"): "3ms", ("a", "c"): "5ms", ("c", "a"): "5ms"}
    lags = {pair: parse_lag(f"constant:{lag}") for pair, lag in lags.items()}

    async def program(made):
        took_ns = {}
        for level in LEVELS_OF_ONE_DC:
            begin = made.runtime.now_ns()
            await made.connection("a", level).execute(("SET", "k", "v"))
            took_ns[level] = made.runtime.now_ns() - begin
            await made.runtime.sleep(100 * MS)
        return took_ns

    assert run(cluster(lags=lags), program) == {
        Level.DC_ONE: 45_000,
        Level.DC_QUORUM: 6 * MS + 45_000,
        Level.DC_SAFE_QUORUM: 6 * MS + 45_000,
    }


def test_a_dead_zone_is_left_out_and_comes_back():
    async def program(made):
        await made.zones["c"].kill()
        assert await made.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v")) == [b"OK"]
        with pytest.raises(Unavailable):
            await made.direct("c").execute(("GET", "k"))
        await made.zones["c"].restart(Restart.WARM, warm_from=made.zones["a"])
        await made.network.connected()
        assert await made.direct("c").execute(("GET", "k")) == [b"v"]

    run(cluster(timeouts=Timeouts(factor=0.01)), program)


def test_two_paused_zones_make_a_write_indeterminate_and_it_is_executed_after_all():
    async def program(made):
        for zone in "bc":
            await made.zones[zone].pause()
        with pytest.raises(Indeterminate):
            await made.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v"))
        for zone in "bc":
            await made.zones[zone].resume()
        await made.runtime.sleep(1000 * MS)
        await made.network.connected()
        for zone in ZONES:
            assert await made.direct(zone).execute(("GET", "k")) == [b"v"]

    run(cluster(timeouts=Timeouts(factor=0.01)), program)


def test_a_cut_link_separates_one_direction():
    async def program(made):
        made.links["a", "b"].cut(Cut.HOLD)
        await made.connection("a", Level.DC_ONE).execute(("SET", "from a", "v"))
        await made.connection("b", Level.DC_ONE).execute(("SET", "from b", "v"))
        await made.runtime.sleep(100 * MS)
        assert await made.direct("b").execute(("GET", "from a")) == [None]
        assert await made.direct("a").execute(("GET", "from b")) == [b"v"]
        made.links["a", "b"].mend()
        await made.runtime.sleep(100 * MS)
        assert await made.direct("b").execute(("GET", "from a")) == [b"v"]

    run(cluster(lag=parse_lag("constant:1ms")), program)


def test_a_client_and_the_server_of_a_zone_share_its_clock():
    async def program(made):
        made.clock("b").jump(5_000 * MS)
        made.clock("c").drift(ppm=1000)
        await made.runtime.sleep(10**9)
        true_ms = (made.epoch_ns + made.runtime.now_ns()) // MS
        assert made.clock("a").now_ms() == true_ms
        assert made.clock("b").now_ms() == true_ms + 5_000
        assert made.clock("c").now_ms() == true_ms + 1
        ((seconds, microseconds),) = await made.direct("b").execute(("TIME",))
        assert int(seconds) * 1000 + int(microseconds) // 1000 == pytest.approx(true_ms + 5_000, abs=2)

    run(cluster(), program)


def test_a_cluster_can_be_stopped_with_commands_in_flight():
    made = cluster(lag=parse_lag("constant:1ms"))
    outcomes = []

    async def client():
        try:
            await made.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v"))
        except Indeterminate:
            outcomes.append("indeterminate")

    async def program():
        await made.start()
        made.runtime.spawn(client(), name="client")
        await made.runtime.sleep(1000)
        await made.stop()
        await made.runtime.sleep(100 * MS)

    made.runtime.run_until_complete(program())
    assert outcomes in ([], ["indeterminate"])
    assert {zone.state for zone in made.zones.values()} == {"stopped"}


@pytest.mark.parametrize("zones", [(), ("a", "a")])
def test_zone_names_must_be_some_and_different(zones):
    with pytest.raises(ClusterError, match="one or more, all different"):
        cluster(zones)


async def mixed_load(made):
    """Clients in every zone that race for the same keys while a zone dies and comes back."""

    async def client(zone, number):
        random = made.runtime.random(f"client {zone} {number}")
        connection = made.connection(zone, Level.DC_QUORUM)
        for _ in range(20):
            try:
                await connection.execute(("INCR", "n"), ("ZADD", "z", random.random(), str(random.randrange(50))))
            except (Indeterminate, Unavailable):
                made.runtime.note("failed", zone)
            await made.runtime.sleep(random.randrange(3) * MS)

    tasks = [made.runtime.spawn(client(zone, n), name=f"client {zone} {n}") for zone in ZONES for n in range(3)]
    await made.runtime.sleep(10 * MS)
    await made.zones["b"].kill()
    await made.runtime.sleep(10 * MS)
    await made.zones["b"].restart(Restart.WIPE)
    for task in tasks:
        await task.join()


def load(seed, tie_break):
    made = cluster(
        seed=seed,
        schedule=Schedule(tie_break=tie_break),
        lag=parse_lag("exponential:2ms"),
        timeouts=Timeouts(factor=0.01),
        keep_trace=True,
    )
    run(made, mixed_load)
    return made.runtime


@pytest.mark.parametrize("tie_break", tuple(TieBreak))
def test_a_run_repeats_event_by_event(tie_break):
    one, other = load(7, tie_break), load(7, tie_break)
    assert first_difference(one.trace, other.trace) is None
    assert one.trace_hash == other.trace_hash
    assert one.trace.events > 1000
    assert load(8, tie_break).trace_hash != one.trace_hash


def test_a_cluster_without_any_delay_works():
    free = ServerSettings(request_ns=0, reply_ns=0, service_ns=0, start_ns=0)

    async def program(made):
        for number in range(1, 50):
            assert await made.connection("b", Level.DC_SAFE_QUORUM).execute(("INCR", "n")) == [number]

    run(cluster(server=free), program)
