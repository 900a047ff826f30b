"""Goal: what a coordinator understands of bytes, and what it answers in bytes, is what a server would have sent.

Method: commands in wire form and replies of RESP2 and RESP3, as servers write them.
"""

import pytest

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.protocol.wire_codec import WireCodec

CODEC = WireCodec()
TWO, THREE = WireCommands([("GET",)]), WireCommands([("GET",)], protocol=3)


def test_commands_are_read_from_their_bytes():
    packed = wire.command(b"SET", b"k", b"a b\r\n") + wire.command(b"get", b"k")
    run = WireCommands([("SET",), ("GET",)])
    assert CODEC.commands(run, packed) == [(b"SET", b"k", b"a b\r\n"), (b"get", b"k")]


@pytest.mark.parametrize("marks", [{"replies": 3}, {"watches": (1, 1)}, {"watched": (1, 1)}])
def test_what_belongs_together_is_left_alone(marks):
    assert CODEC.commands(WireCommands([("EXEC",)], **marks), wire.command(b"MULTI")) is None


def test_what_has_no_bytes_is_left_alone():
    assert CODEC.commands((("UNWATCH",),), wire.command(b"UNWATCH")) is None
    assert CODEC.commands(TWO, None) is None


def test_other_commands_keep_the_protocol_of_those_that_they_are_for():
    made = CODEC.like([("EVAL", "return 1", 0)], THREE)
    assert isinstance(made, WireCommands)
    assert (made.protocol, made.plain, tuple(made)) == (3, True, (("EVAL", "return 1", 0),))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (b"*2\r\n$2\r\n12\r\n$-1\r\n", [b"12", None]),
        (b"*2\r\n$2\r\n12\r\n_\r\n", [b"12", None]),
        (b"*2\r\n:1\r\n$1\r\nv\r\n", [1, b"v"]),
    ],
)
def test_replies_are_read_in_both_protocols(reply, value):
    assert CODEC.decoded(reply) == value


@pytest.mark.parametrize(
    ("name", "value", "two", "three"),
    [
        ("GET", b"v", b"$1\r\nv\r\n", b"$1\r\nv\r\n"),
        ("GET", None, b"$-1\r\n", b"_\r\n"),
        ("SET", b"OK", b"+OK\r\n", b"+OK\r\n"),
        ("HSET", 2, b":2\r\n", b":2\r\n"),
        ("ZSCORE", b"1.5", b"$3\r\n1.5\r\n", b",1.5\r\n"),
        ("ZSCORE", b"inf", b"$3\r\ninf\r\n", b",inf\r\n"),
        ("ZSCORE", None, b"$-1\r\n", b"_\r\n"),
        ("SISMEMBER", 1, b":1\r\n", b":1\r\n"),
        ("SCAN", [b"0", [b"k"]], b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n", b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n"),
    ],
)
def test_answers_are_in_the_form_that_the_client_speaks(name, value, two, three):
    assert CODEC.encoded(name, value, TWO) == two
    assert CODEC.encoded(name, value, THREE) == three
