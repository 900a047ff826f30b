"""Goal: libraries of functions are data of one server, in its files and copies. Method: load, end or copy, call.

What FUNCTION and FCALL answer, and the server's errors, are compared in ``tests/conformance``.
"""

import random

import pytest

from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.resp import encode, typed
from zonelab.cluster.zone import Persistence, Restart
from zonelab.engine.ports import ServerError

from ..conftest import on_site

COUNTER = """#!lua name=counter
local calls = 0
redis.register_function('count', function() calls = calls + 1 return calls end)
redis.register_function{function_name='get', flags={'no-writes'},
                        callback=function(keys) return redis.call('GET', keys[1]) end}"""


def made(**options):
    return RedisModel(clock_us=lambda: 1, random=random.Random(1), **options)


def loaded(**options):
    model = made(**options)
    assert model.execute(("FUNCTION", "LOAD", COUNTER)) == b"counter"
    return model


def test_what_a_library_remembers_is_one_servers_alone():
    one, other = loaded(), loaded()
    assert [one.execute(("FCALL", "count", 0)) for _ in range(3)] == [1, 2, 3]
    assert other.execute(("FCALL", "count", 0)) == 1


def test_flushing_data_leaves_functions_and_flushing_scripts_does_too():
    model = loaded()
    for command in (("FLUSHALL",), ("SCRIPT", "FLUSH")):
        model.execute(command)
    assert model.execute(("FCALL", "count", 0)) == 1


def test_a_library_is_written_down_and_is_there_again_when_that_is_repeated():
    written = []
    model, again = loaded(on_write=written.append), made()
    model.execute(("FUNCTION", "LOAD", "REPLACE", COUNTER.replace("'count'", "'number'")))
    model.execute(("FCALL", "get", 1, "k"))
    for effects in written:
        again.replay(effects, now_us=1)
    assert len(written) == 2
    assert again.execute(("FUNCTION", "LIST")) == model.execute(("FUNCTION", "LIST"))


def test_a_dump_is_restored_by_another_server():
    dump, other = loaded().execute(("FUNCTION", "DUMP")), made()
    assert other.execute(("FUNCTION", "RESTORE", dump)) == b"OK"
    assert other.execute(("FCALL", "count", 0)) == 1
    assert other.execute(("FUNCTION", "RESTORE", dump)) == ServerError("ERR Library counter already exists")
    assert other.execute(("FUNCTION", "RESTORE", dump, "REPLACE")) == b"OK"
    assert isinstance(other.execute(("RESTORE", "k", 0, dump)), ServerError)


def test_a_command_that_reads_calls_only_functions_that_read():
    model = loaded()
    assert model.execute(("FCALL_RO", "get", 1, "k")) is None
    refused = ServerError("ERR Can not execute a script with write flag using *_ro command.")
    assert model.execute(("FCALL_RO", "count", 0)) == refused


def test_a_full_server_starts_only_functions_that_read():
    model = loaded()
    model.full = True
    assert model.execute(("FCALL", "get", 1, "k")) is None
    assert str(model.execute(("FCALL", "count", 0))).startswith("OOM")
    assert str(model.execute(("FUNCTION", "LOAD", "REPLACE", COUNTER))).startswith("OOM")


def test_resp_3_has_maps_of_libraries_and_sets_of_flags():
    words = [b"FUNCTION", b"LIST"]
    shown = encode(typed(words, loaded().execute(tuple(words))), protocol=3)
    assert shown.startswith(b"*1\r\n%3\r\n$12\r\nlibrary_name")
    assert b"$5\r\nflags\r\n~1\r\n+no-writes\r\n" in shown


@pytest.mark.parametrize(
    ("settings", "between_s", "restart", "there"),
    [
        ({"persistence": Persistence.AOF_ALWAYS}, 0, Restart.KEEP, True),
        ({"persistence": Persistence.RDB, "save_points": ((5, 1),)}, 7, Restart.KEEP, True),
        ({"persistence": Persistence.NONE}, 0, Restart.KEEP, False),
        ({"persistence": Persistence.AOF_ALWAYS}, 0, Restart.WIPE, False),
    ],
)
def test_functions_are_in_the_files_and_scripts_are_not(settings, between_s, restart, there):
    @on_site(**settings)
    async def answers(lab):
        client = await lab.connected()
        script = "return 1"
        _, digest = await client.ask(("FUNCTION", "LOAD", COUNTER), ("SCRIPT", "LOAD", script))
        await lab.runtime.sleep(between_s * 1_000_000_000)
        await lab.zone.kill()
        await lab.zone.restart(restart)
        client = await lab.connected()
        return await client.ask(("FCALL", "count", 0), ("EVALSHA", digest, 0))

    called, scripted = answers()
    assert called == (1 if there else ServerError("ERR Function not found"))
    assert str(scripted).startswith("NOSCRIPT")
