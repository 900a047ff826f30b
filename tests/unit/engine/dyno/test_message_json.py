"""The JSON of a message is the original's, byte for byte; the reader takes what other writers may leave out.

Method: documents written down from the description of the original's mapper, and round trips.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonelab.engine.dyno import PayloadError
from zonelab.engine.dyno.message_json import decode, encode
from zonelab.engine.message import Message

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("message", "raw"),
    [
        (
            Message(id="1", payload="Hello World", priority=1),
            b'{"id":"1","payload":"Hello World","timeout":0,"priority":1}',
        ),
        (Message(id="1"), b'{"id":"1","timeout":0,"priority":0}'),
        (Message(id="1", shard="b"), b'{"id":"1","timeout":0,"priority":0,"shard":"b"}'),
        (Message(id="1", shard="", timeout_ms=-5), b'{"id":"1","timeout":-5,"priority":0}'),
        (Message(id="é", payload='"\n'), '{"id":"é","payload":"\\"\\n","timeout":0,"priority":0}'.encode()),
        (
            Message(id="1", payload="\x00\x0b\t\x1f\x7f\\u00ab"),
            b'{"id":"1","payload":"\\u0000\\u000B\\t\\u001F\x7f\\\\u00ab","timeout":0,"priority":0}',
        ),
    ],
)
def test_a_message_is_written_as_the_original_writes_it(message, raw):
    assert encode(message) == raw


@given(
    message_id=TEXT.filter(bool),
    payload=TEXT,
    timeout_ms=st.integers(-(2**62), 2**62),
    priority=st.integers(0, 99),
    shard=st.none() | TEXT.filter(bool),
)
def test_every_message_is_read_back_as_it_was_written(message_id, payload, timeout_ms, priority, shard):
    message = Message(id=message_id, payload=payload, timeout_ms=timeout_ms, priority=priority, shard=shard)
    read = decode(encode(message), message_id=message_id)
    assert (read.id, read.payload, read.timeout_ms, read.priority, read.shard) == (
        message_id,
        payload,
        timeout_ms,
        priority,
        shard,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"id": None, "payload": None, "timeout": None, "priority": None, "shard": None},
        {"id": "7", "colour": "red", "nested": {"a": [1]}},
    ],
)
def test_missing_null_and_unknown_fields_are_no_obstacle(fields):
    message = decode(json.dumps(fields).encode(), message_id="7")
    assert (message.id, message.payload, message.timeout_ms, message.priority, message.shard) == ("7", "", 0, 0, None)


def test_a_value_that_is_no_text_is_read_as_its_json():
    raw = '{"payload":{"é":[1,"\\u000b"]}}'.encode()
    assert decode(raw, message_id="7").payload == '{"é":[1,"\\u000B"]}'


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{", b'{"timeout":"soon"}', b'{"priority":100}', b"\xff"])
def test_what_is_no_message_is_named_with_its_id(raw):
    with pytest.raises(PayloadError, match="'7' is not a message"):
        decode(raw, message_id="7")


def test_text_that_is_no_unicode_is_refused_before_it_is_written():
    with pytest.raises(ValueError, match="surrogates not allowed"):
        encode(Message(id="1", payload="\ud800"))
