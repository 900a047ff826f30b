"""Goal: wrong settings and strategies of a hardened queue are refused with what is accepted. Method: a table."""

import pytest

from zonelab.engine.dyno.hardened import HardenedSettings
from zonelab.engine.message import Message


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"instance": "a b"}, "without blanks, got 'a b'"),
        ({"shard": "z"}, "shard must be one of a, b, got 'z'"),
        ({"lease_ms": 0}, "lease_ms must be at least 1, got 0"),
        ({"margin_ms": -1}, "margin_ms must be at least 0, got -1"),
        ({"deliveries_max": 0}, "deliveries_max must be at least 1 or None, got 0"),
        ({"shards": ("a", "a")}, "distinct names, got"),
        ({"prefix": ""}, "non-empty string, got ''"),
    ],
)
def test_settings_are_checked(wrong, told):
    settings = {"prefix": "p", "shards": ("a", "b"), "shard": "a", "instance": "a-1", **wrong}
    with pytest.raises(ValueError, match=told):
        HardenedSettings(**settings)


async def test_a_shard_that_nobody_serves_is_refused_before_anything_is_pushed(lab):
    queue = lab.queue()
    with pytest.raises(ValueError, match="one of a, b, c, got 'z'"):
        await queue.push([Message(id="m"), Message(id="n", shard="z")])
    assert await lab.statuses("m") == ["-", "-", "-"]
