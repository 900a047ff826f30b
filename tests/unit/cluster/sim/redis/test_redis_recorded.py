"""Goal: without a server, the model answers as a real one did, and writes down what changes.

Method: recorded conversations of drawn commands.
"""

from random import Random

import pytest
from support.cluster.recorded_replies import conversations, same

from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.values import SortedSet
from zonelab.engine.ports import ServerError


def model_at(now_us, **options):
    return RedisModel(clock_us=lambda: now_us, random=Random(1), **options)


@pytest.mark.parametrize("recorded", [pytest.param(each, id=str(each[0])) for each in conversations()])
def test_the_model_answers_as_recorded(recorded):
    began_us, steps = recorded
    model = model_at(began_us)
    for command, reply in steps:
        assert same(command, model.execute(tuple(command)), reply), command


def test_whatever_changes_is_written_down_and_gives_the_same_contents_when_it_is_repeated():
    for began_us, steps in conversations():
        written = []
        model, again = model_at(began_us, on_write=written.append), model_at(began_us)
        now = contents(model)
        for command, reply in steps:
            before, count = now, len(written)
            model.execute(tuple(command))
            now = contents(model)
            assert now == before or len(written) == count + 1, command
            assert len(written) == count or not isinstance(reply, ServerError) or command[0].startswith(b"EVAL"), (
                command
            )
        for effects in written:
            again.replay(effects, now_us=began_us)
        assert contents(again) == now


def contents(model):
    found = model.store.snapshot()
    shown = {key: value.scores if isinstance(value, SortedSet) else value for key, value in found.values.items()}
    return shown, found.expiry_ms


def test_a_reply_that_differs_is_noticed():
    assert not same([b"GET", b"k"], b"a", b"b")
    assert not same([b"HSCAN", b"h", b"0"], [b"0", [b"f", b"1"]], [b"0", [b"f", b"2"]])
    assert same([b"SMEMBERS", b"s"], [b"b", b"a"], [b"a", b"b"])
