"""Goal: comparing pipelines as a whole changes nothing but the speed. Method: the same answers, voted on one by one.

For any rule, number of zones, order of arrival, replies and failures, both must answer at the same moment, with the
same answers or the same error, and count the same.
"""

from hypothesis import example, given
from hypothesis import strategies as st

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import MixedPipeline, PipelineFailure, UniformPipeline
from zonelab.cluster.votes.rules import Rules
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

REPLIES = st.sampled_from([b"OK", b"OK", b"OK", None, 1, [b"x"], ServerError("WRONGTYPE"), ServerError("NOSCRIPT")])
COMMANDS = st.sampled_from([("SET", "k"), ("GET", "k"), ("EVAL", "script"), ("HGETALL", "k"), ("SCRIPT", "LOAD")])
FAILURES = st.builds(ZoneFailure, st.sampled_from(["refused", "not connected"]), maybe_applied=st.booleans())


@st.composite
def pipelines(draw):
    """Commands of one rule, their own rules, and in order of arrival each zone's position and answer."""
    zones = draw(st.integers(1, 3))
    level = draw(st.sampled_from(list(Level)))
    rules = Rules(level, zones=zones)
    commands = draw(st.lists(COMMANDS, min_size=1, max_size=3).filter(rules.common))
    rule = rules.common(commands)
    replies = st.lists(REPLIES, min_size=len(commands), max_size=len(commands))
    common = draw(replies)
    answers = st.one_of(st.just(common), st.just(common), replies, FAILURES)
    order = draw(st.permutations(range(rule.zones)))
    rules_of_each = [rules[command[0]] for command in commands]
    return level, commands, rule, rules_of_each, [(position, draw(answers)) for position in order]


def result(outcome):
    if not isinstance(outcome, PipelineFailure):
        return outcome
    try:
        return outcome.answers, outcome.result()
    except (Unavailable, Indeterminate) as error:
        return outcome.answers, type(error), error.args


def counted(level):
    statistics = CoordinatorStatistics()
    return statistics, statistics.tally(level, zones="abc", now_ns=lambda: 0)


RULES = Rules(Level.DC_ONE, zones=3)
OWN_ANSWERS_LAST = (
    Level.DC_ONE,
    [("SET", "k")],
    RULES.common([("SET", "k")]),
    [RULES["SET"]],
    [(1, [b"OK"]), (2, [1]), (0, [b"OK"])],
)


@given(pipelines())
@example(OWN_ANSWERS_LAST)
def test_a_comparison_ends_when_and_as_votes_on_each_command_do(pipeline):
    level, commands, rule, rules, arrivals = pipeline
    one, whole = [], []
    by_one, tally = counted(level)
    mixed = MixedPipeline(commands, rules, tally, one.append)
    at_once, tally = counted(level)
    uniform = UniformPipeline(commands, rule, tally, whole.append)
    for position, answer in arrivals:
        mixed.answered(position, answer)
        uniform.answered(position, answer)
        assert [result(outcome) for outcome in one] == [result(outcome) for outcome in whole]
        assert by_one == at_once
    assert len(whole) == 1
    assert at_once.levels[level].commands == len(commands)
