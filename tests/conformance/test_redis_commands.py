"""Goal: the model answers drawn commands as a real server does, in RESP 2 and 3. Method: both, pipelined, on the wire.

``tests/conformance/compare_commands.py`` runs more of them.
"""

import os
from itertools import product
from random import Random

import pytest
from support.cluster.command_differ import Differ, WireClient, compare
from support.cluster.command_families import Commands
from support.cluster.command_table import MODELLED
from support.cluster.expiring_programs import compare_expiring
from support.cluster.redis_pair import real_server

from zonelab.cluster.sim.redis import RedisModel

pytestmark = pytest.mark.real

COUNT = int(os.environ.get("ZONELAB_CONFORMANCE_COMMANDS", "30000"))
SEED = int(os.environ.get("ZONELAB_CONFORMANCE_SEED", "1"))


@pytest.fixture(scope="module")
def server():
    with real_server() as client:
        yield client


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request):
    return request.param


@pytest.fixture
def wire(server, protocol):
    client = WireClient(server.address, protocol=protocol)
    yield client
    client.close()


def test_the_model_answers_as_the_server_does(wire, protocol):
    differ = Differ(wire, protocol=protocol)
    found = compare(differ, Commands(modelled=MODELLED), seed=SEED, count=COUNT)
    assert found is None, found
    assert differ.executed >= COUNT


PROGRAMS_THAT_EXPIRE = 13


def test_keys_that_end_while_a_program_runs_are_gone_as_on_the_server(wire, protocol):
    compared, found = compare_expiring(
        Differ(wire, protocol=protocol), Commands(modelled=MODELLED), seed=SEED, programs=PROGRAMS_THAT_EXPIRE
    )
    assert found is None, found
    assert compared == PROGRAMS_THAT_EXPIRE


class KeepsKeysForEver(RedisModel):
    """Answers that a key has an end, and never ends it."""

    def __init__(self, **options):
        super().__init__(**options)
        self.store._expired = lambda key: False


def test_a_model_whose_keys_never_end_is_found_out(wire, protocol):
    differ = Differ(wire, protocol=protocol, make=KeepsKeysForEver)
    _, found = compare_expiring(differ, Commands(modelled=MODELLED), seed=1, programs=5)
    assert found is not None


class RanksFromOne(RedisModel):
    """Answers ZRANK one too high."""

    def execute(self, command):
        reply = super().execute(command)
        return reply + 1 if command[0].upper() == b"ZRANK" and isinstance(reply, int) else reply


class Forgetful(RedisModel):
    """Answers LTRIM and carries it out in vain."""

    def execute(self, command):
        return b"OK" if command[0].upper() == b"LTRIM" else super().execute(command)


class CountsTwice(RedisModel):
    """Adds a delivery to each that XPENDING lists."""

    def execute(self, command):
        reply = super().execute(command)
        listed = command[0].upper() == b"XPENDING" and isinstance(reply, list) and reply and isinstance(reply[0], list)
        return [[*entry[:-1], entry[-1] + 1] for entry in reply] if listed else reply


class ForgetsReaders(RedisModel):
    """Answers XINFO GROUPS without the lag."""

    def execute(self, command):
        reply = super().execute(command)
        asked = [word.upper() for word in command[:2]] == [b"XINFO", b"GROUPS"]
        return [[*group[:-1], None] for group in reply] if asked and isinstance(reply, list) else reply


class KeepsLibraries(RedisModel):
    """Answers FUNCTION DELETE and carries it out in vain."""

    def execute(self, command):
        wanted = [word.upper() for word in command[:2]] == [b"FUNCTION", b"DELETE"] and len(command) == 3
        before = self.store.libraries
        reply = super().execute(command)
        if wanted:
            self.store.libraries = before
        return reply


class FlatEarth(RedisModel):
    """Answers GEODIST by a thousandth too much."""

    def execute(self, command):
        reply = super().execute(command)
        asked = command[0].upper() == b"GEODIST" and isinstance(reply, bytes)
        return b"%.4f" % (float(reply) * 1.001) if asked else reply


class CountsSketchTwice(RedisModel):
    """Answers PFCOUNT one too high."""

    def execute(self, command):
        reply = super().execute(command)
        return reply + 1 if command[0].upper() == b"PFCOUNT" and isinstance(reply, int) else reply


@pytest.mark.parametrize(
    ("wrong", "family", "last"),
    [
        (RanksFromOne, "sorted_sets", {b"ZRANK"}),
        (Forgetful, "lists", {b"LTRIM", b"LRANGE", b"LLEN", b"TYPE"}),
        (CountsTwice, "streams", {b"XPENDING"}),
        (ForgetsReaders, "streams", {b"XINFO"}),
        (FlatEarth, "geo", {b"GEODIST"}),
        (CountsSketchTwice, "sketches", {b"PFCOUNT"}),
        (KeepsLibraries, "functions", {b"FUNCTION", b"FCALL", b"FCALL_RO"}),
    ],
)
def test_a_model_that_is_wrong_is_found_out_by_a_small_program(wire, protocol, wrong, family, last):
    differ = Differ(wire, protocol=protocol, make=wrong)
    found = compare(differ, Commands(modelled=MODELLED), seed=1, count=20_000, family=family)
    assert found is not None
    assert found.program[found.place][0].upper() in last
    assert found.place <= 3
    assert f"the server answers {found.real!r}" in str(found)


@pytest.mark.parametrize("size", [6, 7, 8, 40, 41, 90, 300])
def test_equals_are_in_the_order_in_which_the_server_leaves_them(wire, protocol, size):
    random = Random(size)
    program = []
    for number in range(size):
        program.append((b"SET", b"weight%d" % number, random.choice((b"a", b"b", b"c"))))
        program.append((b"RPUSH", b"items", b"%d" % number))
        place = random.choice(((b"1", b"1"), (b"2", b"2"), (b"-1", b"3")))
        program.append((b"GEOADD", b"places", *place, b"%d" % random.randrange(10**6)))
    for direction in (b"ASC", b"DESC"):
        by_weight = (b"SORT", b"items", b"BY", b"weight*", b"ALPHA", direction)
        around = (b"GEOSEARCH", b"places", b"FROMLONLAT", b"0", b"0", b"BYRADIUS", b"900", b"km", direction)
        program += [by_weight, around]
        for count in (1, 3, size // 2, size - 1):
            begin = random.randrange(size)
            program.append((*by_weight, b"LIMIT", b"%d" % begin, b"%d" % count))
            program.append((*around, b"COUNT", b"%d" % count))
    found = Differ(wire, protocol=protocol).difference(program)
    assert found is None, found


@pytest.mark.parametrize(
    "score", ["9223372036854775807", "18446744073709551616", "1e300", "-1", "-9223372036854775808"]
)
def test_a_score_that_is_no_place_is_the_place_that_the_server_takes_it_for(wire, protocol, score):
    program = [(b"ZADD", b"places", score.encode(), b"x"), (b"GEOPOS", b"places", b"x"), (b"GEOHASH", b"places", b"x")]
    found = Differ(wire, protocol=protocol).difference(program)
    assert found is None, found


def test_a_range_of_members_of_different_scores_is_what_a_compact_list_gives(wire, protocol):
    program = [(b"ZADD", b"z", b"3", b"a", b"1", b"b", b"2", b"x", b"2", b"c", b"9", b"d")]
    ends = [b"-", b"+", *(sign + member for sign in (b"[", b"(") for member in (b"a", b"b", b"bb", b"c", b"x"))]
    for low, high in product(ends, ends):
        program += [
            (b"ZLEXCOUNT", b"z", low, high),
            (b"ZRANGEBYLEX", b"z", low, high),
            (b"ZREVRANGEBYLEX", b"z", low, high, b"LIMIT", b"1", b"2"),
        ]
    found = Differ(wire, protocol=protocol).difference(program)
    assert found is None, found


def test_a_zero_with_an_exponent_and_a_negative_one_in_a_script_are_numbers(wire, protocol):
    zeros = ("0e5", "0.0e3", "-0e1", "0x0p1", "1e-400", "1e-6000")
    program = [each for zero in zeros for each in ((b"SET", b"k", zero.encode()), (b"INCRBYFLOAT", b"k", b"1"))]
    program.append((b"EVAL", b"redis.setresp(3) return redis.call(unpack(ARGV))", b"0", b"ZINCRBY", b"z", b"-0", b"m"))
    found = Differ(wire, protocol=protocol).difference(program)
    assert found is None, found
