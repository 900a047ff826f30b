"""Goal: transactions, watched keys and blocking commands of clients in simulation are those of a real server.

Method: drawn programs of two clients, command by command, on a packaged server and on one simulated zone.
"""

import time
from random import Random

import pytest
from support.cluster.redis_pair import Client, real_server

from zonelab.cluster.client.connection import ClientConnection
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import PortError, ServerError

pytestmark = pytest.mark.real

KEYS = ("k", "l", "z", "s")
CLIENTS = 2
PROGRAMS, COMMANDS = 80, 30


@pytest.fixture(scope="module")
def clients():
    with real_server() as first:
        second = Client(first.address)
        yield first, second
        second.close()


class OneZone:
    """A simulated zone and its clients, whose time passes only in calls."""

    def __init__(self):
        self.cluster = SimCluster(("a",), SimSettings(seed=1))
        self._run = self.cluster.runtime.run_until_complete
        self._run(self.cluster.start())
        self.clients = [self.cluster.client_connection("a", Level.DC_ONE) for _ in range(CLIENTS)]

    def execute(self, client, command):
        try:
            (reply,) = self._run(self.clients[client].execute(command))
        except PortError as error:  # of a script, which may have written before it
            return ServerError(*error.args)
        return reply

    def sleep(self, ms):
        self._run(self.cluster.runtime.sleep(ms * 1_000_000))


def drawn(random):
    """One command; keys are few, so that clients meet."""
    key, other = random.choice(KEYS), random.choice(KEYS)
    plain = [
        ("SET", key, random.randint(0, 9)),
        ("INCR", key),
        ("DEL", key, other),
        ("GET", key),
        ("RPUSH", key, "x", "y"),
        ("LPOP", key),
        ("ZADD", key, 1, "m"),
        ("PEXPIRE", key, random.choice((-1, 100_000))),
        ("PERSIST", key),
        ("RENAME", key, other),
        ("LMOVE", key, other, "LEFT", "RIGHT"),
        ("EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", 1, key, 7),
        ("EVAL", "return redis.call('BLPOP', KEYS[1], 0)", 1, key),
        ("MSET", key, 1, other, 2),
        ("FLUSHALL",),
    ]
    waiting = [
        ("BLPOP", key, other, "0.01"),
        ("BRPOP", key, "0.01"),
        ("BLMOVE", key, other, "LEFT", "RIGHT", "0.01"),
        ("BRPOPLPUSH", key, other, "0.01"),
        ("BZPOPMIN", key, other, "0.01"),
        ("BZPOPMAX", key, "0.01"),
        ("BLPOP", key, random.choice(("x", "-1", "1e300", "nan"))),
        ("BLPOP", key),
        ("BLMOVE", key, other, "LEFT", "UP", "0.01"),
    ]
    wrong = [("GET",), ("NOSUCH", key), ("EXEC", "x"), ("WATCH",), ("MULTI", "x"), ("DISCARD", "x"), ("UNWATCH", "x")]
    about = [("MULTI",), ("EXEC",), ("DISCARD",), ("WATCH", key), ("WATCH", key, other), ("UNWATCH",)]
    return random.choice(random.choice((plain, plain, waiting, about, about, about, wrong)))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_programs_of_two_clients_are_answered_alike(clients, seed):
    random = Random(f"clients {seed}")
    for program in range(PROGRAMS // 4):
        zone, said = OneZone(), []
        for client in clients:
            client.execute(("RESET",))
        clients[0].execute(("FLUSHALL",))
        for _ in range(COMMANDS):
            client, command = random.randrange(CLIENTS), drawn(random)
            real, simulated = clients[client].execute(command), zone.execute(client, command)
            said.append((client, command, real))
            assert simulated == real, (program, command, said)


@pytest.mark.parametrize("begun", ["present", "absent", "expired"])
def test_a_watched_key_that_expires_is_a_change_unless_it_had_expired(clients, begun):
    zone = OneZone()
    for client in clients:
        client.execute(("RESET",))
    first, _ = clients
    first.execute(("FLUSHALL",))
    both = []
    real = (first.execute, lambda ms: time.sleep(ms / 1000))
    simulated = (lambda command: zone.execute(0, command), zone.sleep)
    for execute, sleep in (real, simulated):
        if begun != "absent":
            execute(("SET", "k", "v", "PX", 20 if begun == "present" else 1))
        if begun == "expired":
            sleep(30)
        execute(("WATCH", "k"))
        sleep(50)
        execute(("MULTI",))
        execute(("GET", "k"))
        both.append(execute(("EXEC",)))
    assert both == [None if begun == "present" else [None]] * 2


def test_a_watch_that_misses_changes_is_found(clients, monkeypatch):
    monkeypatch.setattr("zonelab.cluster.sim.redis.watched.Watch._touched", lambda self, key: None)
    with pytest.raises(AssertionError):
        test_drawn_programs_of_two_clients_are_answered_alike(clients, 0)


def test_a_queue_that_forgets_its_errors_is_found(clients, monkeypatch):
    monkeypatch.setattr(ClientConnection, "_refuse_inside", lambda self, command: b"QUEUED")
    with pytest.raises(AssertionError):
        test_drawn_programs_of_two_clients_are_answered_alike(clients, 0)
