"""Goal: votes end as Dynomite's do, in every case. Method: its truth table as literals.

The rows are written from ``dyn_response_mgr.c`` and ``dyn_client.c``: letters are good replies that differ, E and F
errors that differ, in order of arrival; a row says what the client gets and after how many replies.
"""

from itertools import permutations, product

import pytest

from zonelab.cluster.connections.failures import NO_QUORUM, ZoneFailure
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.levels import Decision, Level, quorum
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Reply, ServerError

QUORUM, SAFE = Level.DC_QUORUM, Level.DC_SAFE_QUORUM

# arrivals: (answer at DC_QUORUM, answer at DC_SAFE_QUORUM, replies used); "!" is the failure to achieve a quorum.
TABLE = {
    # one zone (where Dynomite's SAFE never succeeds, a defect that is not reproduced)
    "A": ("A", "A", 1),
    "E": ("E", "E", 1),
    # two zones: no failure is tolerated
    "AA": ("A", "A", 2),
    "AB": ("A", "!", 2),
    "AE": ("E", "E", 2),
    "EA": ("E", "E", 1),
    "EF": ("E", "E", 1),
    # three zones, two equal replies first
    "AAA": ("A", "A", 2),
    "AAB": ("A", "A", 2),
    "AAE": ("A", "A", 2),
    # three zones, the third decides
    "ABA": ("A", "A", 3),
    "ABB": ("B", "B", 3),
    "ABC": ("A", "!", 3),
    "AEA": ("A", "A", 3),
    "EAA": ("A", "A", 3),
    "ABE": ("A", "!", 3),
    "AEB": ("A", "!", 3),
    "EAB": ("A", "!", 3),
    # three zones, two errors
    "EFG": ("E", "E", 2),
    "EFA": ("E", "E", 2),
    "EAF": ("E", "E", 3),
    "AEF": ("E", "E", 3),
    # beyond three zones, where Dynomite has no row, a quorum of equal replies is needed
    "AAAB": ("A", "A", 3),
    "AABA": ("A", "A", 4),
    "AABB": ("A", "!", 4),
    "ABCA": ("A", "!", 3),
    "ABACA": ("A", "A", 5),
    "ABBCB": ("B", "B", 5),
    "AEFAA": ("A", "A", 5),
    "EFGAA": ("E", "E", 3),
    "ABEFA": ("A", "!", 5),
    "AABBCCB": ("A", "!", 6),
    "AAAABBB": ("A", "A", 4),
}

REPLIES: dict[str, Reply] = {
    "A": b"one",
    "B": None,
    "C": 3,
    "E": ServerError("ERR first"),
    "F": ServerError("ERR second"),
    "G": ServerError("ERR third"),
    "!": ServerError(NO_QUORUM),
}

ROWS = [
    pytest.param(arrivals, level, answer, used, id=f"{arrivals}-{level}")
    for arrivals, (at_quorum, at_safe, used) in TABLE.items()
    for level, answer in ((QUORUM, at_quorum), (SAFE, at_safe))
]


def replies(arrivals: str) -> list[Reply]:
    return [REPLIES[letter] for letter in arrivals]


def vote_on(level: Level, arrivals: list[Reply]) -> tuple[Vote, int]:
    """The vote after all arrivals, and the number of replies after which it was decided."""
    vote = Vote(level, zones=len(arrivals))
    used = 0
    for number, reply in enumerate(arrivals, start=1):
        assert not vote.complete
        assert vote.submit(number - 1, reply) == (vote.decided and used == 0)
        if vote.decided and used == 0:
            used = number
    return vote, used


@pytest.mark.parametrize(("arrivals", "level", "answer", "used"), ROWS)
def test_every_row_of_the_truth_table_ends_as_in_dynomite(arrivals, level, answer, used):
    vote, decided_after = vote_on(level, replies(arrivals))
    assert (vote.answer, decided_after) == (REPLIES[answer], used)
    assert vote.complete


@pytest.mark.parametrize(
    ("arrivals", "level", "decision"),
    [
        ("AAB", QUORUM, Decision.AGREED),
        ("A", QUORUM, Decision.AGREED),
        ("EAA", SAFE, Decision.AGREED),
        ("ABA", QUORUM, Decision.MAJORITY),
        ("ABB", SAFE, Decision.MAJORITY),
        ("ABC", QUORUM, Decision.FIRST_ARRIVED),
        ("EAB", QUORUM, Decision.FIRST_ARRIVED),
        ("ABC", SAFE, Decision.NO_QUORUM),
        ("AB", SAFE, Decision.NO_QUORUM),
        ("EFA", SAFE, Decision.ERRORS),
        ("AE", QUORUM, Decision.ERRORS),
    ],
)
def test_the_decision_names_how_the_vote_ended(arrivals, level, decision):
    assert vote_on(level, replies(arrivals))[0].decision is decision


@pytest.mark.parametrize("local", [0, 1, 2])
@pytest.mark.parametrize("own", ["A", "E"])
def test_dc_one_takes_the_own_zones_answer_and_no_other(local, own):
    for others in product("ABE", repeat=2):
        letters = [*others[:local], own, *others[local:]]
        for order in permutations(range(3)):
            vote = Vote(Level.DC_ONE, zones=3, local=local)
            decided_by = [zone for zone in order if vote.submit(zone, REPLIES[letters[zone]])]
            assert decided_by == [local]
            assert vote.answer == REPLIES[own]
            assert vote.decision is Decision.LOCAL


def test_the_failure_to_agree_says_so_in_dynomites_words_and_that_replicas_keep_the_effect():
    vote, _ = vote_on(SAFE, [1, 2, 3])
    assert isinstance(vote.answer, ZoneFailure)
    assert str(vote.answer) == "ERR Dynomite: Failed to achieve Quorum"
    assert vote.answer.maybe_applied


@pytest.mark.parametrize(("arrivals", "disagrees"), [("AAB", True), ("AAA", False), ("AAE", False), ("EFA", False)])
def test_a_late_reply_changes_nothing_but_is_compared(arrivals, disagrees):
    vote, used = vote_on(QUORUM, replies(arrivals))
    assert used == 2
    assert vote.answer == REPLIES[arrivals[0]]
    assert vote.late_disagreement is disagrees


def test_at_dc_one_other_zones_are_compared_whether_they_answer_before_or_after():
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        vote = Vote(Level.DC_ONE, zones=3)
        for zone in order:
            vote.submit(zone, (1, 1, 0)[zone])
        assert vote.late_disagreement, order


@pytest.mark.parametrize(
    ("arrivals", "zones", "expected"),
    [
        ([ZoneFailure("a", maybe_applied=False)] * 3, 3, False),
        ([ServerError("WRONGTYPE"), *[ZoneFailure("a", maybe_applied=False)] * 2], 3, False),
        ([ZoneFailure("a", maybe_applied=False), ZoneFailure("b", maybe_applied=True)], 2, True),
        ([ZoneFailure("a", maybe_applied=False)] * 2, 3, True),  # one zone has not answered yet
        ([ZoneFailure("a", maybe_applied=False), None], 2, True),  # nil is an execution
        ([ZoneFailure("a", maybe_applied=False), ZoneFailure("a", maybe_applied=False), 0], 3, True),
        ([], 1, True),
    ],
)
def test_a_vote_knows_whether_the_command_may_have_been_applied_anywhere(arrivals, zones, expected):
    vote = Vote(QUORUM, zones=zones)
    for zone, reply in enumerate(arrivals):
        vote.submit(zone, reply)
    assert vote.maybe_applied is expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ServerError("ERR user_script:1: failed"), True),
        (ServerError("NOSCRIPT No matching script"), False),
        (ZoneFailure("a", maybe_applied=True), False),
        (b"OK", False),
    ],
)
def test_a_vote_knows_whether_a_server_failed_inside_the_command(reply, expected):
    vote = Vote(QUORUM, zones=2)
    vote.submit(0, reply)
    vote.submit(1, ServerError("NOSCRIPT No matching script"))
    assert vote.failed_inside is expected


def test_a_quorum_is_more_than_half():
    assert [quorum(zones) for zones in range(1, 8)] == [1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("zones", [0, ZONES_MAX + 1])
def test_a_vote_of_no_zone_or_of_too_many_is_refused(zones):
    with pytest.raises(AssertionError):
        Vote(QUORUM, zones=zones)


def test_no_zone_answers_twice():
    vote = Vote(QUORUM, zones=1)
    vote.submit(0, 1)
    with pytest.raises(AssertionError, match="twice"):
        vote.submit(0, 1)


def test_each_is_safe_within_a_data_centre():
    for letters in product("ABE", repeat=3):
        safe, used = vote_on(SAFE, replies("".join(letters)))
        each, used_at_each = vote_on(Level.DC_EACH_SAFE_QUORUM, replies("".join(letters)))
        assert (safe.answer, used) == (each.answer, used_at_each)
