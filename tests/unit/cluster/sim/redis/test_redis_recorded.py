"""Goal: without a server, the model answers as a real one did. Method: recorded conversations of drawn commands."""

from random import Random

import pytest
from support.cluster.recorded_replies import conversations, same

from zonelab.cluster.sim.redis import RedisModel


@pytest.mark.parametrize("recorded", [pytest.param(each, id=str(each[0])) for each in conversations()])
def test_the_model_answers_as_recorded(recorded):
    began_us, steps = recorded
    model = RedisModel(clock_us=lambda: began_us, random=Random(1))
    for command, reply in steps:
        assert same(command, model.execute(tuple(command)), reply), command


def test_a_reply_that_differs_is_noticed():
    assert not same([b"GET", b"k"], b"a", b"b")
    assert not same([b"HSCAN", b"h", b"0"], [b"0", [b"f", b"1"]], [b"0", [b"f", b"2"]])
    assert same([b"SMEMBERS", b"s"], [b"b", b"a"], [b"a", b"b"])
