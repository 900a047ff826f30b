"""Goal: pipelines that travel together are answered as if each travelled alone. Method: all orders of answers."""

from itertools import permutations, product

import pytest

from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import PipelineFailure, UniformPipeline
from zonelab.cluster.votes.rules import Rule
from zonelab.cluster.votes.shared_batch import SharedBatch
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import ServerError

REPLIES = ([b"A"], [b"B"], [ServerError("WRONGTYPE x")], ZoneFailure(STORAGE_REFUSED, maybe_applied=True))
ZONES = ["a", "b", "c"]
MEMBERS = 2


def told(outcomes):
    return [outcome.answers if isinstance(outcome, PipelineFailure) else outcome for outcome in outcomes]


def alone(level, answers, order):
    """What the members are told, when, and the statistics, if each is a batch of its own."""
    statistics = CoordinatorStatistics()
    tally = statistics.tally(level, zones=ZONES, now_ns=lambda: 0)
    heard = [[] for _ in range(MEMBERS)]
    batches = [
        UniformPipeline([("SET",)], Rule(level, zones=3, reads=False), tally, heard[member].append)
        for member in range(MEMBERS)
    ]
    times = []
    for position in order:
        for member, batch in enumerate(batches):
            batch.answered(position, answers[position][member])
        times.append([len(one) for one in heard])
    return [told(one) for one in heard], times, statistics.as_dict()


def together(level, answers, order):
    statistics = CoordinatorStatistics()
    tally = statistics.tally(level, zones=ZONES, now_ns=lambda: 0)
    heard = [[] for _ in range(MEMBERS)]
    shared = SharedBatch(
        [([("SET",)], heard[member].append) for member in range(MEMBERS)],
        [("SET",)] * MEMBERS,
        Rule(level, zones=3, reads=False),
        tally,
        b"packed",
    )
    times = []
    for position in order:
        shared.answered(
            position, answers[position] if isinstance(answers[position], ZoneFailure) else joined(answers[position])
        )
        times.append([len(one) for one in heard])
    return [told(one) for one in heard], times, statistics.as_dict()


def joined(shares):
    failure = next((share for share in shares if isinstance(share, ZoneFailure)), None)
    return failure or [reply for share in shares for reply in share]


def zone_answers():
    """What a zone may say to two members: any replies, or one failure for all."""
    shares = [
        pair for pair in product(REPLIES, repeat=MEMBERS) if not any(isinstance(one, ZoneFailure) for one in pair)
    ]
    return [*shares, (REPLIES[3], REPLIES[3])]


@pytest.mark.parametrize("level", [Level.DC_ONE, Level.DC_QUORUM, Level.DC_SAFE_QUORUM])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_members_are_told_the_same_at_the_same_time_as_if_they_travelled_alone(level, order):
    for answers in product(zone_answers(), repeat=3):
        assert together(level, answers, order) == alone(level, answers, order), answers


def test_a_member_that_is_decided_does_not_wait_for_one_that_is_not():
    heard = [[], []]
    members = [([("SET",)], heard[0].append), ([("SET",)], heard[1].append)]
    tally = CoordinatorStatistics().tally(Level.DC_QUORUM, zones=ZONES, now_ns=lambda: 0)
    shared = SharedBatch(members, [("SET",)] * 2, Rule(Level.DC_QUORUM, zones=3, reads=False), tally, b"")
    shared.answered(0, [b"A", b"A"])
    shared.answered(1, [b"A", b"B"])
    assert heard == [[[b"A"]], []]
    shared.answered(2, [b"A", b"B"])
    assert heard == [[[b"A"]], [[b"B"]]]
