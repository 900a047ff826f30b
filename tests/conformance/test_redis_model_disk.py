"""Goal: a server whose disk is full does in simulation what a real one does, before, while and after.

Method: the same commands, and the same life of a zone, on both. A process zone's disk is a limit on the length of its
files: the kernel's words for that are replaced by those for a full disk, which a server repeats as they are.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from support.cluster.redis_pair import Client, Pair

from zonelab.cluster.real.zones import ProcessZone, ProcessZoneSettings
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.redis.reply import LOG_UNWRITTEN, SNAPSHOT_UNWRITTEN
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.zone import Persistence, Restart, ZoneError
from zonelab.engine.ports import PortError, ServerError

pytestmark = pytest.mark.real

DEADLINE_S = 30.0
SECOND = 1_000_000_000
SAVE_POINTS = ((1, 1),)
FILES = {
    Persistence.AOF_EVERYSEC: LOG_UNWRITTEN,
    Persistence.AOF_NO: LOG_UNWRITTEN,
    Persistence.RDB: SNAPSHOT_UNWRITTEN,
}
BROKEN = "broken"


def as_full(reply: Any) -> Any:
    said = "File too large", "No space left on device"
    if isinstance(reply, ServerError):
        return ServerError(str(reply).replace(*said))
    return reply.replace(*(word.encode() for word in said)) if isinstance(reply, bytes) else reply


class RealSite:
    """A process zone, and a client that connects again after each start of its server."""

    def __init__(self, persistence: Persistence) -> None:
        self._runner = asyncio.Runner()
        settings = ProcessZoneSettings(persistence=persistence, save_points=SAVE_POINTS)
        self.zone = ProcessZone("full", settings)
        self._client: Client | None = None

    def run(self, verb: Any) -> Any:
        return self._runner.run(verb)

    def ask(self, *command: Any) -> Any:
        try:
            if self._client is None:
                self._client = Client(self.zone.address)
            return as_full(self._client.execute(command))
        except (OSError, AssertionError):
            if self._client is not None:
                self._client.close()
            self._client = None
            return BROKEN

    def start(self) -> None:
        self.run(self.zone.start())

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._runner.run(self.zone.stop())
        self._runner.close()


class SimulatedSite:
    def __init__(self, persistence: Persistence) -> None:
        server = ServerSettings(persistence=persistence, save_points=SAVE_POINTS)
        self._cluster = SimCluster(["full"], SimSettings(seed=1, server=server))
        self.zone = self._cluster.zones["full"]

    def run(self, verb: Any) -> Any:
        return self._cluster.runtime.run_until_complete(verb)

    def ask(self, *command: Any) -> Any:
        try:
            return self.run(self._cluster.direct("full").execute(command))[0]
        except PortError:
            return BROKEN

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline_ns = self._cluster.runtime.now_ns() + int(DEADLINE_S) * SECOND
        while not condition():
            assert self._cluster.runtime.now_ns() < deadline_ns
            self._cluster.runtime.run(for_ns=SECOND // 50)

    def start(self) -> None:
        self.run(self._cluster.start())

    def close(self) -> None:
        self.run(self._cluster.stop())


@contextmanager
def started(kind, persistence):
    site = kind(persistence)
    site.start()
    try:
        yield site
    finally:
        site.close()


def refused(site, *command) -> bool:
    return str(site.ask(*command)).startswith("MISCONF")


def life_of(site) -> list[object]:
    """Replies before, while and after the disk is full, and what a server that is killed meanwhile has kept."""
    seen: list[object] = [site.ask("SET", "before", 1), site.zone.state]
    if site.zone.persistence is Persistence.RDB:
        site.wait(lambda: saved(site))
    site.run(site.zone.fill_disk())
    seen += [site.zone.state, site.ask("SET", "first", 1)]
    if site.zone.persistence is not Persistence.AOF_ALWAYS:
        # At once, or when a snapshot that was due has failed. While a real server flushes, it writes up to 2 s later.
        site.wait(lambda: refused(site, "SET", "first", 1))
    seen += [site.ask(*each) for each in (("SET", "second", 1), ("GET", "first"), ("DEL", "before"), ("PING",))]
    seen.append(site.zone.state)
    if site.zone.state == "running":
        site.run(site.zone.free_disk())
        site.wait(lambda: not refused(site, "SET", "after", 1))
        seen += [site.ask("GET", "first"), site.ask("PING")]
        if site.zone.persistence is not Persistence.RDB:
            site.run(site.zone.fill_disk())
            seen.append(site.ask("SET", "kept in memory", 1))
            site.wait(lambda: refused(site, "SET", "refused", 1))
            site.run(site.zone.kill())
    if site.zone.state == "dead":
        seen.append(site.ask("PING"))
        site.run(site.zone.free_disk())
        site.run(site.zone.restart(Restart.KEEP))
        site.wait(lambda: site.ask("ECHO", "up") == b"up")
    seen += [site.zone.state, sorted(site.ask("KEYS", "*")), site.ask("SET", "again", 1)]
    return seen


def saved(site) -> bool:
    """True once a snapshot has what was written, so that the next one is due for what comes later."""
    if isinstance(site, SimulatedSite):
        return site.zone.server.disk._changes == 0
    return b"rdb_changes_since_last_save:0\r\n" in site.ask("INFO", "persistence")


@pytest.mark.parametrize("persistence", [one for one in Persistence if one is not Persistence.NONE])
def test_a_zone_lives_through_a_full_disk_alike_in_both_arms(persistence):
    with started(RealSite, persistence) as real, started(SimulatedSite, persistence) as simulated:
        assert life_of(simulated) == life_of(real)


@pytest.mark.parametrize("kind", [RealSite, SimulatedSite])
def test_a_server_that_writes_no_files_has_no_full_disk(kind):
    with started(kind, Persistence.NONE) as site, pytest.raises(ZoneError, match="persistence is none"):
        site.run(site.zone.fill_disk())


@pytest.fixture(scope="module", params=FILES)
def full(request):
    """A model and a server that refuse writes for their files' sake."""
    with started(RealSite, request.param) as site:
        client = Client(site.zone.address)
        pair = Pair(client)
        pair.real = lambda *command: as_full(client.execute(command))
        for command in (("SET", "k", "v"), ("HSET", "h", "f", 1), ("ZADD", "z", 1, "a"), ("RPUSH", "l", "a", "b")):
            pair.run(*command)
        site.run(site.zone.fill_disk())
        site.wait(lambda: refused(site, "SET", "k", "v"))
        pair.model.unwritable = FILES[request.param]
        yield pair
        with suppress(OSError):
            client.close()


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "k", "w"),
        ("SET", "k"),
        ("SET", "k", "v", "BOGUS"),
        ("ZADD", "z", 2, "b"),
        ("HSET", "h", "g", 1),
        ("INCR", "n"),
        ("GET", "k"),
        ("EXISTS", "k"),
        ("ZRANGE", "z", 0, -1),
        ("DEL", "k"),
        ("DEL", "nokey"),
        ("ZREM", "z", "a"),
        ("ZPOPMIN", "z"),
        ("HDEL", "h", "f"),
        ("LPOP", "l"),
        ("EXPIRE", "k", 100),
        ("SORT", "nolist"),
        ("GETEX", "k"),
        ("FLUSHALL",),
        ("PING",),
        ("ECHO", "e"),
        ("PUBLISH", "channel", "m"),
        ("XADD", "s", "*", "f", "v"),
        ("BOGUS", "k"),
        ("EVAL", "return redis.call('set', 'k', '3')", 0),
        ("EVAL", "return redis.pcall('set', 'k', '3')['err']", 0),
        ("EVAL", "return redis.call('get', 'k')", 0),
        ("EVAL", "redis.call('del', 'nokey') return 1", 0),
        ("EVAL", "redis.pcall('set', 'k', '3') return redis.call('get', 'k')", 0),
        ("EVAL", "return redis.call('ping')", 0),
        ("EVAL", "#!lua\nreturn redis.call('get', 'k')", 0),
        ("EVAL", "#!lua flags=no-writes\nreturn redis.call('get', 'k')", 0),
        ("EVAL", "#!lua flags=no-writes\nreturn redis.call('set', 'k', '2')", 0),
        ("EVAL", "#!lua flags=allow-oom\nreturn redis.call('set', 'k', '2')", 0),
        ("EVAL_RO", "return redis.call('get', 'k')", 0),
        ("EVAL_RO", "#!lua\nreturn redis.call('get', 'k')", 0),
        ("SCRIPT", "LOAD", "return 1"),
        ("FUNCTION", "LOAD", "#!lua name=q\nserver.register_function('f', function() return 1 end)"),
        ("FCALL", "f", 0),
    ],
    ids=str,
)
def test_the_same_is_refused_and_carried_out(full, command):
    full.run(*command)
    full.compare_contents()


def test_a_write_among_others_aborts_the_transaction(full):
    full.real("MULTI")
    full.real("SET", "k", "w")
    assert "EXECABORT" in str(full.real("EXEC"))
    assert "EXECABORT" in str(full.model.execute_transaction([_prepared("GET", "k"), _prepared("SET", "k", "w")]))
    assert full.model.execute_transaction([_prepared("GET", "k")]) == [b"v"]


def _prepared(*command):
    return None, None, [word.encode() for word in command]
