"""Goal: a program's own connection in simulation has transactions, watched keys, waits and subscriptions.

Method: clients of three simulated zones in virtual time; each rule is broken once, and is missed.
"""

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster.sim.redis.watched import Watch
from zonelab.cluster.sim.server import ServerSettings, SimServer, _prepare
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import ClusterError, Persistence, Restart
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable

MS, S = 1_000_000, 1_000_000_000
QUEUED = b"QUEUED"


def client(cluster, zone="a", level=Level.DC_QUORUM):
    return cluster.client_connection(zone, level)


@simulated()
async def test_a_transaction_is_queued_executed_as_one_piece_and_discarded(cluster):
    mine = client(cluster)
    assert await mine.execute(("MULTI",), ("INCR", "n"), ("EXEC",)) == [b"OK", QUEUED, [1]]
    assert await mine.execute(("MULTI",), ("INCR", "n"), ("DISCARD",), ("GET", "n")) == [b"OK", QUEUED, b"OK", b"1"]
    replies = await mine.execute(("MULTI",), ("NOSUCH",), ("INCR", "n"), ("EXEC",))
    assert str(replies[-1]).startswith("EXECABORT")
    assert await mine.execute(("GET", "n"), ("MULTI",), ("EXEC",)) == [b"1", b"OK", []]
    refused = await mine.execute(("MULTI",), ("SELECT", 0), ("DISCARD",), ("SELECT", 0), ("SELECT", 1))
    assert [type(reply) for reply in refused] == [bytes, ServerError, bytes, bytes, ServerError]


@pytest.mark.parametrize("change", [("SET", "k", "0"), ("EVAL", "redis.call('DEL', KEYS[1])", 1, "k"), ("FLUSHALL",)])
@simulated()
async def test_a_change_of_a_watched_key_by_another_client_is_seen_in_every_zone(cluster, change):
    mine, other = client(cluster), client(cluster, "b")
    await mine.execute(("SET", "k", "0"), ("WATCH", "k"))
    await other.execute(change)
    assert (await mine.execute(("MULTI",), ("SET", "k", "mine"), ("EXEC",)))[-1] is None
    assert (await mine.execute(("MULTI",), ("SET", "k", "mine"), ("EXEC",)))[-1] == [b"OK"]
    for zone in cluster.zones:
        assert await cluster.direct(zone).execute(("GET", "k")) == [b"mine"]


@simulated()
async def exec_after_a_watched_key_has_ended(cluster):
    """Return the reply to EXEC when a watched key's time is over, and nobody has looked at it since."""
    mine = client(cluster, level=Level.DC_ONE)
    await mine.execute(("SET", "k", "0", "PX", 20), ("WATCH", "k"))
    await cluster.runtime.sleep(50 * MS)
    return (await mine.execute(("MULTI",), ("GET", "n"), ("EXEC",)))[-1]


def test_a_watched_key_that_ends_untouched_keeps_exec_from_doing_anything():
    assert exec_after_a_watched_key_has_ended() is None


def test_an_end_that_does_not_touch_the_watch_is_found(monkeypatch):
    monkeypatch.setattr(Watch, "intact", lambda self: not self._changed)
    assert exec_after_a_watched_key_has_ended() == [None]


@simulated("a", server=ServerSettings(persistence=Persistence.AOF_EVERYSEC, service_ns=MS))
async def keys_after_a_death_within_an_exec(cluster):
    """Keys of a server that died in the midst of a transaction of ten INCR, once it has read its files again."""
    mine = client(cluster, level=Level.DC_ONE)

    async def execute():
        with pytest.raises(Indeterminate):
            await mine.execute(("MULTI",), *[("INCR", f"n{number}") for number in range(10)], ("EXEC",))

    task = cluster.runtime.spawn(execute(), name="transaction")
    await cluster.runtime.sleep(6 * MS)  # of its twelve
    await cluster.zones["a"].kill()
    await task.join()
    await cluster.zones["a"].restart(Restart.KEEP)
    await cluster.runtime.sleep(10 * S)
    return await cluster.direct("a").execute(("DBSIZE",))


def test_a_server_that_dies_in_the_midst_of_a_transaction_has_executed_nothing_of_it():
    assert keys_after_a_death_within_an_exec() == [0]


def test_a_transaction_that_is_torn_by_a_death_is_found(monkeypatch):
    def torn(server):
        if server._inbox:
            server._model.execute_each(_prepare(server._inbox[0][1]).commands[:4])

    monkeypatch.setattr(SimServer, "_execute_begun", torn)
    assert keys_after_a_death_within_an_exec() == [4]


@simulated()
async def test_a_wait_costs_no_events_and_goes_on_at_the_next_instant_after_a_push(cluster):
    mine, other = client(cluster), client(cluster, "b")
    popped = []

    async def pop():
        popped.append((await mine.execute(("BLPOP", "none", "jobs", 0)), cluster.runtime.now_ns()))

    task = cluster.runtime.spawn(pop(), name="pop")
    await cluster.runtime.sleep(10 * S)
    events = len(cluster.runtime.trace.times_ns)
    await cluster.runtime.sleep(10 * S)
    assert len(cluster.runtime.trace.times_ns) - events < 300, "looks at the level, one in two seconds a key"
    pushed_ns = cluster.runtime.now_ns()
    await other.execute(("RPUSH", "jobs", "one"))
    await task.join()
    ((replies, at_ns),) = popped
    assert replies == [[b"jobs", b"one"]]
    assert at_ns - pushed_ns < 60 * MS
    begin_ns = cluster.runtime.now_ns()
    assert await mine.execute(("BLPOP", "none", 1)) == [None]
    assert S <= cluster.runtime.now_ns() - begin_ns < S + MS


def test_a_wait_that_misses_its_wake_is_found(monkeypatch):
    monkeypatch.setattr(SimServer, "listen", lambda self, keys, changed: lambda: None)
    monkeypatch.setattr("zonelab.cluster.client.waiting.LevelLooks.seen", lambda self, key: False)
    monkeypatch.setattr("zonelab.cluster.client.waiting._Alarm.ring", lambda self: None)
    with pytest.raises(RuntimeError, match="has not ended"):
        _pop_with_a_bound()


@simulated()
async def _pop_with_a_bound(cluster):
    mine, other = client(cluster), client(cluster, "b")

    async def pop():
        await mine.execute(("BLPOP", "jobs", 0))

    task = cluster.runtime.spawn(pop(), name="pop")
    await cluster.runtime.sleep(S)
    await other.execute(("RPUSH", "jobs", "one"))
    await cluster.runtime.sleep(S)
    if not task.done():
        raise RuntimeError("the pop has not ended")


def test_a_wait_that_is_woken_ends():
    _pop_with_a_bound()


@simulated()
async def test_two_waiting_clients_get_one_element_each_and_a_dead_coordinator_ends_a_wait(cluster):
    popped = []

    async def pop(zone):
        try:
            popped.append(await client(cluster, zone).execute(("BLMOVE", "jobs", "taken", "LEFT", "RIGHT", 0)))
        except PortError as error:
            popped.append(type(error))

    tasks = [cluster.runtime.spawn(pop(zone), name=zone) for zone in ("a", "a", "c")]
    await cluster.runtime.sleep(S)
    await client(cluster).execute(("RPUSH", "jobs", "1", "2"))
    await cluster.runtime.sleep(S)
    assert sorted(map(str, popped)) == ["[b'1']", "[b'2']"]
    for zone in cluster.coordinators.values():
        zone.crash()
    await cluster.runtime.sleep(S)
    assert (popped[2], [task.done() for task in tasks]) == (Unavailable, [True] * 3)


@simulated()
async def test_messages_reach_subscribers_of_every_zone_until_their_server_dies(cluster):
    mine, other = client(cluster, "c"), client(cluster)
    await mine.execute(("SUBSCRIBE", "news"), ("PSUBSCRIBE", "n*"))
    assert [await mine.message(), await mine.message()] == [[b"subscribe", b"news", 1], [b"psubscribe", b"n*", 2]]
    assert isinstance((await mine.execute(("GET", "k")))[0], ServerError)
    assert await other.execute(("PUBLISH", "news", "x")) == [0], "receivers in the own zone are counted"
    assert await mine.message() == [b"message", b"news", b"x"]
    assert await mine.message() == [b"pmessage", b"n*", b"news", b"x"]
    assert await mine.message(wait_ns=MS) is None
    await mine.execute(("UNSUBSCRIBE",), ("PUNSUBSCRIBE", "n*"))
    assert [await mine.message(), await mine.message()] == [
        [b"unsubscribe", b"news", 1],
        [b"punsubscribe", b"n*", 0],
    ]
    await mine.execute(("SUBSCRIBE", "news"))
    await mine.message()
    await cluster.zones["c"].kill()
    with pytest.raises(Unavailable):
        await mine.message()


@simulated()
async def test_a_connection_has_one_call_at_a_time_and_a_name(cluster):
    mine = client(cluster)
    assert await mine.execute(("CLIENT", "SETNAME", "me"), ("CLIENT", "GETNAME")) == [b"OK", b"me"]
    task = cluster.runtime.spawn(mine.execute(("BLPOP", "none", 1)), name="pop")
    await cluster.runtime.sleep(MS)
    with pytest.raises(ClusterError, match="one call at a time"):
        await mine.execute(("GET", "k"))
    assert await task.join() == [None]
