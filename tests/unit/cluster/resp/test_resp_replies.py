"""Goal: replies of every RESP2 and RESP3 type are cut at their ends, however they arrive. Method: cases and fuzzing."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.replies import BrokenReplyError, ReplyCutter, is_one_reply
from zonelab.engine.ports import ServerError

words = st.text("abc 123-$*", max_size=10).map(str.encode)
plain = st.one_of(
    words.map(lambda word: b"+" + word + b"\r\n"),
    words.map(lambda word: b"-ERR " + word + b"\r\n"),
    st.integers().map(lambda number: b":%d\r\n" % number),
    st.integers().map(lambda number: b"(%d\r\n" % number),
    st.binary(max_size=50).map(wire.bulk),
    st.binary(max_size=20).map(lambda data: b"=%d\r\ntxt:%b\r\n" % (len(data) + 4, data)),
    st.sampled_from(
        [b"$-1\r\n", b"*-1\r\n", b"_\r\n", b"#t\r\n", b",1.5\r\n", b",inf\r\n", b"*0\r\n", b"%0\r\n", b"$0\r\n\r\n"]
    ),
)


def collected(kind, parts):
    return kind + b"%d\r\n" % len(parts) + b"".join(parts)


def mapped(pairs):
    return b"%%%d\r\n" % len(pairs) + b"".join(key + value for key, value in pairs)


replies = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: collected(b"*", parts)),
        st.lists(inner, max_size=4).map(lambda parts: collected(b"~", parts)),
        st.lists(st.tuples(plain, inner), max_size=3).map(mapped),
        st.tuples(plain, plain, inner).map(lambda three: b"|1\r\n" + b"".join(three)),
    ),
    max_leaves=12,
)


@given(st.lists(replies, max_size=6), st.lists(st.integers(0, 2000), max_size=8))
def test_replies_are_found_however_they_are_cut(sent, cuts):
    data = b"".join(sent)
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    cutter, found = ReplyCutter(), []
    for begin, end in pairwise(ends):
        cutter.feed(data[begin:end])
        while (one := cutter.next()) is not None:
            found.append(one)
    assert found == sent
    assert cutter.held == 0


@given(st.lists(replies, min_size=1, max_size=2).map(b"".join), st.integers(1, 2000))
def test_what_passes_for_one_reply_is_one(data, size):
    for piece in (data, data[:size]):
        cutter = ReplyCutter()
        if is_one_reply(piece):
            cutter.feed(piece)
            assert (cutter.next(), cutter.held, cutter.errors) == (piece, 0, False)


@given(
    st.integers(0, 2047).map(lambda size: wire.bulk(b"x" * size))
    | st.sampled_from([b"+OK\r\n", b":-12\r\n", b"+\r\n", b"$-1\r\n"])
)
def test_usual_replies_pass_for_one_and_their_beginnings_do_not(data):
    assert is_one_reply(data)
    assert not any(is_one_reply(data[:end]) for end in range(1, len(data)))
    assert not is_one_reply(data + data)
    assert not is_one_reply(data + b"\r\n")


def test_errors_and_others_do_not_pass_for_a_usual_reply():
    assert not any(map(is_one_reply, [b"-ERR x\r\n", b"$-2\r\n", b"_\r\n", b"*0\r\n", b"$2048\r\n"]))


@pytest.mark.parametrize("data", [b"x\r\n", b"*x\r\n", b"$1x\r\n", b"*1\r\nhello\r\n"])
def test_what_is_no_reply_is_noticed(data):
    cutter = ReplyCutter()
    with pytest.raises(BrokenReplyError):  # noqa: PT012 (which byte gives it away does not matter)
        for byte in data:
            cutter.feed(bytes([byte]))
            cutter.next()


def test_a_large_reply_is_looked_at_once():
    data = collected(b"*", [wire.bulk(b"x" * 10)] * 20_000)
    cutter = ReplyCutter()
    for begin in range(0, len(data), 1000):
        assert cutter.next() is None
        cutter.feed(data[begin : begin + 1000])
    assert cutter.next() == data


def test_an_error_text_cannot_end_its_reply_early():
    assert wire.error("ERR a\r\n+OK") == b"-ERR a  +OK\r\n"
    assert wire.answer(ServerError("WRONGTYPE x")) == b"-WRONGTYPE x\r\n"


def test_maps_are_flat_in_resp2():
    pairs = [(wire.bulk(b"a"), wire.integer(1))]
    assert wire.mapping(pairs, protocol=2) == b"*2\r\n$1\r\na\r\n:1\r\n"
    assert wire.mapping(pairs, protocol=3) == b"%1\r\n$1\r\na\r\n:1\r\n"
