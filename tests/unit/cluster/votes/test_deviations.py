"""Goal: errors and differing replies are counted under the command, the zone that gave them, and their kind.

Method: pipelines whose answers arrive in an order that the test gives.
"""

import pytest

from zonelab.cluster.connections.failures import PEER_NOT_CONNECTED, ZoneFailure
from zonelab.cluster.votes.deviations import ROWS_MAX, Deviations
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import UniformPipeline
from zonelab.cluster.votes.rules import Rules
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import ServerError

ZONES = ("a", "b", "c")
DOWN = ZoneFailure(PEER_NOT_CONNECTED, maybe_applied=False)


def deviations(*answers, commands=(("GET", "k"),), level=Level.DC_QUORUM):
    """What is counted when zones answer: each of ``answers`` is a position and what it says."""
    statistics = CoordinatorStatistics()
    tally = statistics.tally(level, zones=ZONES, now_ns=lambda: 0)
    rule = Rules(level, zones=len(ZONES)).of(commands[0])
    pipeline = UniformPipeline(commands, rule, tally, lambda outcome: None)
    for position, answer in answers:
        pipeline.answered(position, answer)
    return [tuple(row.values()) for row in statistics.as_dict()["deviations"]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("odd", [0, 1, 2])
def test_the_zone_that_differs_is_named_whatever_the_order_of_the_answers(order, odd):
    answers = [(zone, [b"$-1\r\n"] if zone == odd else [b"$1\r\nx\r\n"]) for zone in order]
    assert deviations(*answers) == [("GET", ZONES[odd], "nil", 1)]


def test_equal_answers_leave_no_row():
    assert deviations(*((zone, [b"+OK\r\n"]) for zone in range(3)), commands=(("SET", "k", "v"),)) == []


def test_errors_are_of_the_zone_that_gave_them_or_that_gave_none():
    said = deviations((0, [b"x"]), (1, [ServerError("OOM command not allowed")]), (2, DOWN))
    assert said == [("GET", "b", "error OOM", 1), ("GET", "c", PEER_NOT_CONNECTED, 1)]


def test_only_the_commands_that_differ_are_counted():
    commands = (("GET", "k"), ("get", "l"), ("GET", "m"))
    same, other = [b":1\r\n", b":2\r\n", b":3\r\n"], [b":1\r\n", b":9\r\n", b":9\r\n"]
    assert deviations((0, same), (1, same), (2, other), commands=commands) == [("GET", "c", "number", 2)]


def test_rows_are_bounded_whatever_clients_send():
    found = Deviations()
    rule = Rules(Level.DC_QUORUM, zones=3).of(("GET", "k"))
    for number in range(ROWS_MAX + 50):
        vote = rule.vote(("GET", "k"))
        for zone in range(3):
            vote.submit(zone, ServerError("ERR unknown command"))
        found.count(vote, (f"NOSUCH{number}", "k"), ZONES)
    assert len(found.rows) <= ROWS_MAX + len(ZONES)
    assert sum(found.rows.values()) == 3 * (ROWS_MAX + 50)
