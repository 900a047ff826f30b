"""Goal: a command, and a pipeline of several, gets the rule that its level and its kind give it. Method: all cases."""

import pytest

from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Decision
from zonelab.cluster.votes.rules import Rules

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC

GET, SET, LOCAL, BROADCAST = ("GET", "k"), ("SET", "k", "v"), ("HGETALL", "k"), ("SCRIPT", "LOAD", "x")


def described(rule):
    return rule and (rule.level, rule.zones, rule.needed, rule.reads)


@pytest.mark.parametrize(
    ("level", "read", "write"),
    [
        (ONE, (ONE, 1, 0, True), (ONE, 3, 0, False)),
        (QUORUM, (QUORUM, 3, 2, True), (QUORUM, 3, 2, False)),
        (SAFE, (SAFE, 3, 2, True), (SAFE, 3, 2, False)),
    ],
)
def test_each_kind_of_command_has_its_rule_at_each_level(level, read, write):
    rules = Rules(level, zones=3)
    assert [described(rules[name]) for name in ("GET", "get", b"GET", b"get")] == [read] * 4
    assert [described(rules[name]) for name in ("SET", b"set", "EVAL", "UNHEARDOF")] == [write] * 4
    assert described(rules["HGETALL"]) == (ONE, 1, 0, True)
    assert described(rules["SCRIPT"]) == (ONE, 3, 0, False)


def test_arguments_decide_where_the_name_does_not():
    rules = Rules(ONE, zones=3)
    sort, store = ("SORT", "l"), ("SORT", "l", "STORE", "d")
    assert [described(rules.of(command)) for command in (sort, store, GET, SET)] == [
        (ONE, 1, 0, True), (ONE, 3, 0, False), (ONE, 1, 0, True), (ONE, 3, 0, False)
    ]  # fmt: skip
    together = [rules.common(commands) for commands in ((sort,), (sort, store), (GET, sort), (store, SET))]
    assert all(rule is None or rule.apart for rule in together)


def test_equal_replies_end_a_vote_as_a_vote_on_them_ends():
    for level in LEVELS_OF_ONE_DC:
        for name in ("GET", "SET", "HGETALL", "SCRIPT"):
            rule = Rules(level, zones=3)[name]
            vote = rule.vote((name,))
            for zone in range(rule.zones):
                vote.submit(zone, b"OK")
            assert vote.decision is rule.decision
            assert rule.decision in (Decision.AGREED, Decision.LOCAL)


@pytest.mark.parametrize(
    ("level", "commands", "expected"),
    [
        (ONE, (SET, SET), (ONE, 3, 0, False)),
        (ONE, (GET, LOCAL), (ONE, 1, 0, True)),
        (ONE, (LOCAL, GET), (ONE, 1, 0, True)),
        (ONE, (SET, BROADCAST), (ONE, 3, 0, False)),
        (ONE, (GET, SET), None),
        (ONE, (SET, LOCAL), None),
        (QUORUM, (GET, GET), (QUORUM, 3, 2, True)),
        (QUORUM, (GET, SET), (QUORUM, 3, 2, False)),
        (QUORUM, (SET, GET), (QUORUM, 3, 2, False)),
        (QUORUM, (GET, LOCAL), None),
        (QUORUM, (SET, BROADCAST), None),
    ],
)
def test_a_pipeline_has_one_rule_if_its_commands_go_to_the_same_zones_and_are_answered_alike(level, commands, expected):
    assert described(Rules(level, zones=3).common(commands)) == expected


def test_a_client_cannot_fill_memory_with_names():
    rules = Rules(ONE, zones=3)
    for number in range(5_000):
        assert rules[f"NAME{number}"].zones == 3
    assert len(rules) <= 1_000
    assert rules["GET"].reads
