"""Goal: a command that is not modelled is refused as such, and the page lists it. Method: the model, the table."""

import random

import pytest
from support.cluster import command_table

from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.server_commands import CONTAINERS, SERVER_COMMANDS, WRITES, why_left_out
from zonelab.engine.ports import ServerError


def execute(*command):
    return RedisModel(clock_us=lambda: 1, random=random.Random(1)).execute(command)


def lacks(name):
    return ServerError(f"ERR the simulated server does not model {name}; run with --on process")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("CLUSTER", "INFO"), lacks("CLUSTER INFO")),
        (("bgsave",), lacks("BGSAVE")),
        (("BGSAVE", "too", "many"), lacks("BGSAVE")),
        (("SCRIPT", "DEBUG", "NO"), lacks("SCRIPT DEBUG")),
        (("EVAL", "return redis.call('CLUSTER', 'INFO')", 0), None),
        (("EVAL", "return redis.call('lolwut')", 0), None),
    ],
    ids=str,
)
def test_a_command_that_only_the_server_has_is_said_not_to_be_modelled(command, error):
    reply = execute(*command)
    assert isinstance(reply, ServerError)
    assert reply == error or (error is None and "the simulated server does not model" in str(reply))


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("NOSUCH", "a"), "ERR unknown command 'NOSUCH', with args beginning with: 'a' "),
        (("acl|cat",), "ERR unknown command 'acl|cat', with args beginning with: "),
        (("SCRIPT", "NOSUCH"), "ERR unknown subcommand 'NOSUCH'. Try SCRIPT HELP."),
        (
            ("EVAL", "return redis.call('nosuch')", 0),
            "ERR Unknown command called from script script: on @user_script:1.",
        ),
        (
            ("EVAL", "return redis.call('script', 'load', 'x')", 0),
            "ERR This Valkey command is not allowed from script script: on @user_script:1.",
        ),
    ],
    ids=str,
)
def test_a_command_that_no_server_has_is_answered_as_by_the_server(command, error):
    assert execute(*command) == ServerError(error)


def test_every_command_is_modelled_or_has_a_reason_why_not():
    assert set(SERVER_COMMANDS) >= command_table.MODELLED
    assert {"get", "eval", "script|load"} <= command_table.MODELLED
    assert all(why_left_out(name) for name in set(SERVER_COMMANDS) - CONTAINERS - command_table.MODELLED)
    assert "set" in WRITES
    assert "get" not in WRITES


def test_the_page_of_the_simulation_shows_the_table():
    """``PYTHONPATH=tests python -m support.cluster.command_table --page`` writes it."""
    assert f"{command_table.BEGIN}\n{command_table.table()}\n{command_table.END}" in command_table.PAGE.read_text(
        encoding="utf-8"
    )


def test_a_page_with_another_table_is_noticed():
    assert command_table.table().replace("`GET`", "`GOT`") not in command_table.PAGE.read_text(encoding="utf-8")
