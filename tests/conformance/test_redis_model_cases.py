"""Goal: what is pinned for the model is true of a real server. Method: the same cases as in the unit tests, on both."""

import pytest
from support.cluster import command_table
from support.cluster.recorded_replies import conversations, same
from support.cluster.redis_cases import CASES
from support.cluster.redis_library_cases import LIBRARY_CASES
from support.cluster.redis_pair import Pair, real_server

from zonelab.cluster.sim.redis.server_commands import FILE

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def client():
    with real_server() as connected:
        yield connected


@pytest.mark.parametrize("steps", [pytest.param(steps, id=title) for title, steps in [*CASES, *LIBRARY_CASES]])
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


def test_the_table_of_commands_is_that_of_a_real_server(client):
    """``PYTHONPATH=tests python -m support.cluster.command_table`` makes it anew."""
    assert command_table.file_text(command_table.described(client)) == FILE.read_text(encoding="utf-8")


def test_the_comparison_notices_a_model_that_is_wrong(client):
    pair = Pair(client)
    pair.real("SET", "k", "v")
    with pytest.raises(AssertionError, match="the model None"):
        pair.run("GET", "k")
    with pytest.raises(AssertionError, match="the server answered"):
        pair.compare_contents()
