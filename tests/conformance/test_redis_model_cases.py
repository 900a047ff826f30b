"""Goal: what is pinned for the model is true of a real server. Method: the same cases as in the unit tests, on both."""

import pytest
from support.cluster.recorded_replies import conversations, same
from support.cluster.redis_cases import CASES
from support.cluster.redis_pair import Pair, real_server

from zonelab.cluster.sim.redis.registry import COMMANDS, READS

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def client():
    with real_server() as connected:
        yield connected


@pytest.mark.parametrize("steps", [pytest.param(steps, id=title) for title, steps in CASES])
def test_a_real_server_answers_as_pinned(client, steps):
    pair = Pair(client)
    for command, reply in steps:
        assert pair.run(*command) == reply, command
    pair.compare_contents()


def test_a_real_server_answers_as_recorded(client):
    for _, steps in conversations():
        pair = Pair(client)
        for command, reply in steps:
            now = pair.real(*command)
            moment = command[0].upper().endswith((b"TTL", b"TIME")) and isinstance(reply, int) and reply >= 0 <= now
            assert same(command, now, reply) or moment, command


def test_a_real_server_writes_by_the_commands_that_the_model_says(client):
    names = sorted(name for name in COMMANDS if name.islower())
    described = client.execute(("COMMAND", "INFO", *names))
    assert {name for name, facts in zip(names, described, strict=True) if b"write" not in facts[2]} == {
        name.encode() for name in READS
    }


def test_the_comparison_notices_a_model_that_is_wrong(client):
    pair = Pair(client)
    pair.real("SET", "k", "v")
    with pytest.raises(AssertionError, match="the model None"):
        pair.run("GET", "k")
    with pytest.raises(AssertionError, match="the server answered"):
        pair.compare_contents()
