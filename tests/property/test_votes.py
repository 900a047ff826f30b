"""Goal: votes follow Dynomite's decision procedure for any replies in any order.

Method: an independent transcription of the procedure (``dyn_response_mgr.c``: ``rspmgr_submit_response``,
``rspmgr_check_is_done``, ``rspmgr_get_response``) decides the same replies; invariants that users rely on are checked.
"""

from hypothesis import given
from hypothesis import strategies as st

from zonelab.cluster.connections.failures import NO_QUORUM, ZoneFailure
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import ServerError

VALUES = st.sampled_from([None, 0, 1, b"", b"0", b"x", [], [b"x"], [b"x", None]])
ERRORS = st.one_of(
    st.builds(ServerError, st.sampled_from(["WRONGTYPE", "OOM"])),
    st.builds(ZoneFailure, st.sampled_from(["refused", "not connected"]), maybe_applied=st.booleans()),
)
REPLIES = st.lists(st.one_of(VALUES, VALUES, ERRORS), min_size=1, max_size=3)
QUORUM_LEVELS = st.sampled_from([Level.DC_QUORUM, Level.DC_SAFE_QUORUM])


def procedure(level, racks, responses):
    """What Dynomite answers, and after how many responses."""
    good, errors, first_error = [], 0, None
    need = racks // 2 + 1
    for response in responses:
        if isinstance(response, ServerError):
            errors += 1
            first_error = response if first_error is None else first_error
        else:
            good.append(response)
        outstanding = racks - len(good) - errors
        if len(good) >= need:
            equal = need == 1 or good[0] == good[1] or (len(good) == 3 and any(good[2] == one for one in good[:2]))
            if not equal and outstanding > 0:
                continue
        elif outstanding + len(good) >= need:
            continue
        break
    used = len(good) + errors
    if len(good) < need:
        return first_error, used
    for one, other in ((0, 1), (1, 2), (0, 2)):
        if other < len(good) and good[one] == good[other]:
            return good[one], used
    if level is Level.DC_QUORUM or racks == 1:
        return good[0], used
    return ServerError(NO_QUORUM), used


def carry_out(level, replies, order=None, local=0):
    vote = Vote(level, zones=len(replies), local=local)
    used = None
    for number, zone in enumerate(order or range(len(replies)), start=1):
        if vote.submit(zone, replies[zone]):
            assert used is None, "decided twice"
            used = number
    return vote, used


@given(level=QUORUM_LEVELS, replies=REPLIES)
def test_a_vote_ends_as_the_procedure_does_and_when_it_does(level, replies):
    vote, used = carry_out(level, replies)
    assert (vote.answer, used) == procedure(level, len(replies), replies)
    assert vote.complete


@given(replies=REPLIES, data=st.data())
def test_dc_one_is_decided_by_the_own_zone_alone(replies, data):
    local = data.draw(st.integers(0, len(replies) - 1))
    order = data.draw(st.permutations(range(len(replies))))
    vote, used = carry_out(Level.DC_ONE, replies, order, local)
    assert vote.answer == replies[local]
    assert used == order.index(local) + 1


@given(replies=st.lists(st.one_of(VALUES, ERRORS), min_size=3, max_size=3))
def test_safe_never_returns_a_value_that_fewer_than_two_of_three_zones_hold(replies):
    vote, _ = carry_out(Level.DC_SAFE_QUORUM, replies)
    if not isinstance(vote.answer, ServerError):
        assert sum(reply == vote.answer for reply in replies) >= 2


@given(level=QUORUM_LEVELS, replies=st.lists(st.one_of(VALUES, ERRORS), min_size=3, max_size=3))
def test_two_equal_good_replies_of_three_always_win_in_any_order(level, replies):
    good = [reply for reply in replies if not isinstance(reply, ServerError)]
    shared = [reply for reply in good if good.count(reply) >= 2]
    if shared:
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            assert carry_out(level, replies, order)[0].answer == shared[0]


@given(level=QUORUM_LEVELS, replies=REPLIES)
def test_an_answer_that_is_no_error_was_given_by_a_quorum_of_good_replies(level, replies):
    vote, used = carry_out(level, replies)
    good = [reply for reply in replies[:used] if not isinstance(reply, ServerError)]
    if not isinstance(vote.answer, ServerError):
        assert vote.answer in good
        assert len(good) >= len(replies) // 2 + 1


@given(level=st.sampled_from(list(Level)), replies=REPLIES, answered=st.integers(0, 3))
def test_only_refusals_and_server_errors_of_every_zone_say_that_nothing_was_applied(level, replies, answered):
    vote = Vote(level, zones=len(replies))
    for zone, reply in enumerate(replies[:answered]):
        vote.submit(zone, reply)
    harmless = [
        isinstance(reply, ServerError) and not (isinstance(reply, ZoneFailure) and reply.maybe_applied)
        for reply in replies[:answered]
    ]
    assert vote.maybe_applied == (not all(harmless) or answered < len(replies))


@given(level=QUORUM_LEVELS, replies=REPLIES)
def test_a_late_good_reply_that_differs_from_a_good_answer_is_noticed(level, replies):
    vote, used = carry_out(level, replies)
    late = [reply for reply in replies[used:] if not isinstance(reply, ServerError)]
    expected = not isinstance(vote.answer, ServerError) and any(reply != vote.answer for reply in late)
    assert vote.late_disagreement == expected


@given(level=QUORUM_LEVELS, replies=st.lists(st.one_of(VALUES, VALUES, ERRORS), min_size=4, max_size=ZONES_MAX))
def test_with_more_than_three_zones_a_quorum_of_equal_replies_wins_and_nothing_else_agrees(level, replies):
    vote, used = carry_out(level, replies)
    good = [reply for reply in replies if not isinstance(reply, ServerError)]
    need = len(replies) // 2 + 1
    winner = next((reply for reply in good if good.count(reply) >= need), None)
    if any(good.count(reply) >= need for reply in good):
        assert vote.answer == winner
    elif len(good) < need:
        assert vote.answer == next(reply for reply in replies if isinstance(reply, ServerError))
    elif level is Level.DC_QUORUM:
        assert vote.answer == good[0]
    else:
        assert vote.answer == ServerError(NO_QUORUM)
    assert used is not None


@given(level=QUORUM_LEVELS, replies=st.lists(st.one_of(VALUES, VALUES, ERRORS), min_size=4, max_size=ZONES_MAX))
def test_with_more_than_three_zones_no_vote_is_decided_while_the_rest_could_still_change_it(level, replies):
    _, used = carry_out(level, replies)
    zones, before = len(replies), replies[: used - 1]
    good = [reply for reply in before if not isinstance(reply, ServerError)]
    need, left = zones // 2 + 1, zones - len(before)
    best = max(map(good.count, good), default=0)
    assert best < need
    assert len(good) + left >= need
    assert len(good) < need or best + left >= need
