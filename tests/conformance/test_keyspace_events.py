"""Goal: the model publishes the events of keys that a real server does. Method: drawn commands, both streams compared.

``tests/conformance/compare_commands.py --events KEA`` runs more of them.
"""

import os
import random
import time

import pytest
from support.cluster.command_differ import WireClient, compare
from support.cluster.command_families import Commands
from support.cluster.command_table import MODELLED
from support.cluster.event_differ import FLAGS, EventDiffer, EventDifference, Listener, RecordedModel
from support.cluster.redis_pair import real_server

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.keyspace_events import EVENT_CLASSES

pytestmark = pytest.mark.real

COUNT = int(os.environ.get("ZONELAB_CONFORMANCE_COMMANDS", "20000"))
SEED = int(os.environ.get("ZONELAB_CONFORMANCE_SEED", "1"))
NEEDS_PAYLOAD = {"restore"}
"""A payload is good on one side only."""

EVERY_EVENT = """
    SET a 1 EX 1000
    PERSIST a
    EXPIRE a -1
    SET b 1
    COPY b c
    RENAME c d
    DEL d
    APPEND b 2
    SETRANGE b 1 x
    SETBIT b 6 1
    INCR n
    INCRBYFLOAT n 1.5
    PFADD p x
    RPUSH l b a c
    LPUSH l d e
    LINSERT l BEFORE a z
    LSET l 0 q
    LREM l 1 z
    LPOP l
    RPOP l
    SORT l ALPHA STORE m
    LTRIM l 0 1
    SADD s a b c
    SREM s a
    SPOP s 1
    SUNIONSTORE t s
    SINTERSTORE t s
    SDIFFSTORE t s
    HSET h a 1 b 2 c 3
    HINCRBY h a 1
    HINCRBYFLOAT h a 1.5
    HEXPIRE h 1000 FIELDS 1 a
    HPERSIST h FIELDS 1 a
    HEXPIRE h 0 FIELDS 1 a
    HDEL h b
    ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
    ZINCRBY z 1 a
    ZUNIONSTORE y 1 z
    ZINTERSTORE y 1 z
    ZDIFFSTORE y 1 z
    ZRANGESTORE y z 0 -1
    ZPOPMIN z
    ZPOPMAX z
    ZREM z b
    ZREMRANGEBYLEX y [c [c
    ZREMRANGEBYRANK z 0 0
    ZREMRANGEBYSCORE z 4 5
    GEOADD g 1 1 x 2 2 y
    GEOSEARCHSTORE f g FROMMEMBER x BYRADIUS 1000 km
    GEORADIUSBYMEMBER g x 1000 km STORE f
    XADD x 1-1 a 1
    XADD x 1-2 a 1
    XTRIM x MAXLEN 1
    XSETID x 2-0
    XGROUP CREATE x g 0
    XGROUP SETID x g 0
    XREADGROUP GROUP g one STREAMS x >
    XGROUP DELCONSUMER x g one
    XGROUP DESTROY x g
    XDEL x 1-2
"""

PAUSE_S = 30


@pytest.fixture(scope="module")
def server():
    with real_server() as client:
        yield client


@pytest.fixture
def wire(server):
    client = WireClient(server.address, protocol=2)
    yield client
    client.close()


@pytest.fixture
def listener(server):
    listener = Listener(server.address)
    yield listener
    listener.close()


@pytest.mark.parametrize("flags", FLAGS)
def test_the_model_publishes_what_the_server_does(wire, listener, flags):
    differ = EventDiffer(wire, listener=listener, protocol=2, flags=flags)
    count = COUNT if flags == FLAGS[0] else COUNT // 10
    found = compare(differ, Commands(modelled=MODELLED), seed=SEED, count=count)
    assert found is None, found
    assert differ.executed >= count
    assert (differ.events > 0) == (flags not in ("A", "KEe"))


def test_every_event_is_published_by_some_command(wire, listener):
    differ = EventDiffer(wire, listener=listener, protocol=2, flags="KEAn")
    found = differ.difference([tuple(line.encode().split()) for line in EVERY_EVENT.strip().splitlines()])
    assert found is None, found
    assert {kind.decode() for kind in differ.kinds} == EVENT_CLASSES.keys() - NEEDS_PAYLOAD


@pytest.mark.parametrize("event", ["zadd", "del", "new", "expired", "xgroup-createconsumer"])
@pytest.mark.parametrize("put", [None, "hset"])
def test_an_event_that_is_missing_or_has_another_name_is_found_out(wire, listener, event, put):
    class Forgets(RedisModel):
        def __init__(self, **options):
            super().__init__(**options)
            announce = self.store.announce

            def other(name, key):
                if name != event:
                    announce(name, key)
                elif put is not None:
                    announce(put, key)

            self.store.announce = other

    differ = EventDiffer(wire, listener=listener, protocol=2, flags="KEAn", make=Forgets)
    found = compare(differ, Commands(modelled=MODELLED), seed=1, count=40_000)
    assert isinstance(found, EventDifference)
    assert found.place <= 4
    assert event.encode() in found.real
    assert f"the server publishes {found.real!r}" in str(found)


def test_keys_and_fields_that_nobody_looks_at_end_with_an_event_on_both_sides(wire, listener):
    program = [
        (b"SET", b"a", b"1", b"PX", b"20"),
        (b"SET", b"b", b"1", b"PX", b"40"),
        (b"SET", b"stays", b"1", b"EX", b"1000"),
        (b"HSET", b"h", b"x", b"1", b"y", b"2"),
        (b"HPEXPIRE", b"h", b"30", b"FIELDS", b"1", b"x"),
        (b"HSETEX", b"g", b"PX", b"50", b"FIELDS", b"1", b"x", b"1"),
    ]
    differ = EventDiffer(wire, listener=listener, protocol=2, flags="Ehxg")
    model, moment = differ.begin()
    wire.execute([(b"MULTI",), *program, (b"EXEC",), (b"PUBLISH", b"command-ended", b"")])
    listener.events()
    for command in program:
        model.execute(command)
    moment.now_us += 200_000
    mine = sorted(model.end_due())
    assert [key for _, key in mine] == [b"g", b"a", b"b", b"g", b"h"]
    real = []
    deadline = time.monotonic() + PAUSE_S
    while sorted(real) != mine and time.monotonic() < deadline:
        wire.execute([(b"PUBLISH", b"command-ended", b"")])
        real += listener.events()
    assert sorted(real) == mine


@pytest.mark.parametrize(
    "form",
    [(b"0",), (b"100000",), (b"0", b"REPLACE"), (b"1", b"REPLACE", b"ABSTTL"), (b"1", b"ABSTTL")],
    ids=lambda form: b" ".join(form).decode(),
)
@pytest.mark.parametrize("there", [False, True])
def test_a_value_that_is_restored_is_an_event(server, wire, listener, form, there):
    differ = EventDiffer(wire, listener=listener, protocol=2, flags="KEAn")
    model, _ = differ.begin()

    def really(*command):
        reply = server.execute(command)
        wire.execute([(b"PUBLISH", b"command-ended", b"")])
        return reply, listener.events()

    def simulated(*command):
        return model.execute(command), model.events_of(command)

    outcomes = []
    for side in (really, simulated):
        side(b"SET", b"k", b"1")
        payload, _ = side(b"DUMP", b"k")
        if not there:
            side(b"DEL", b"k")
        reply, events = side(b"RESTORE", b"k", form[0], payload, *form[1:])
        outcomes.append((str(reply), events))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] or form != (b"0",) or there


def test_the_setting_is_written_and_read_as_by_the_server(server, wire, listener):
    model = RedisModel(clock_us=lambda: 0, random=random.Random(1))
    name = b"notify-keyspace-events"
    for value in (b"", b"KEA", b"AKE", b"Kg$lshzxetdE", b"Exn", b"zE$n", b"x", b"KEAn", b"Q", b"KEo", b"KE A"):
        command = (b"CONFIG", b"SET", name, value)
        mine, theirs = model.execute(command), server.execute(command)
        assert [type(mine), str(mine)] == [type(theirs), str(theirs)] or mine == theirs
        for asked in (name, b"notify*", b"NOTIFY-keyspace-events", b"nope"):
            assert model.execute((b"CONFIG", b"GET", asked)) == server.execute((b"CONFIG", b"GET", asked))
    for wrong in ((name,), (name, b"K", name, b"E"), ()):
        command = (b"CONFIG", b"SET", *wrong)
        assert str(model.execute(command)) == str(server.execute(command))


def test_misses_are_refused():
    model = RedisModel(clock_us=lambda: 0, random=random.Random(1))
    refused = str(model.execute(("CONFIG", "SET", "notify-keyspace-events", "KEm")))
    assert "does not model misses (m); run with --on process" in refused
    assert "notify-keyspace-events only" in str(model.execute(("CONFIG", "SET", "maxmemory", "1")))
    assert RecordedModel(model).store.event_flags == EventFlags()
