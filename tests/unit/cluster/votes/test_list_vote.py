"""Goal: MGET without a majority is answered element by element. Method: the rows of a table as literals.

The table is from ``redis_reconcile_multikey_responses`` in Dynomite's ``proto/dyn_redis.c`` at 2046b05: words are
replies in order of arrival, their letters elements, a dot is nil, ``!`` an error.
"""

from itertools import product

import pytest

from zonelab.cluster.connections.failures import NO_QUORUM, ZoneFailure
from zonelab.cluster.votes.levels import Decision, Level
from zonelab.cluster.votes.list_vote import ElementVote
from zonelab.cluster.votes.rules import Rules
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import ServerError

QUORUM, SAFE = Level.DC_QUORUM, Level.DC_SAFE_QUORUM

# arrivals: (answer at DC_QUORUM, answer at DC_SAFE_QUORUM); None is the failure to achieve a quorum
TABLE = {
    ("AX", "AY", "BY"): ("AY", "AY"),
    ("AX", "BX", "BY"): ("BX", "BX"),
    ("A.", "AY", "B."): ("A.", "A."),
    ("AX", "BX", "CX"): ("AX", None),
    ("AXP", "BXQ", "CYQ"): ("AXQ", None),
    ("ABC", "BCA", "CAB"): ("ABC", None),
    ("AX", "AY"): ("AX", None),
    ("AX", "AY", "!"): ("AX", None),
    ("!", "BX", "AX"): ("BX", None),
    ("A", "B", "C"): ("A", None),
}
WIRE = {"A": b"$1\r\na\r\n", "B": b"$0\r\n\r\n", "C": b"$2\r\n\r\n\r\n", ".": b"$-1\r\n", "X": b"$1\r\nx\r\n"} | {
    letter: b"$3\r\n*%b$\r\n" % letter.lower().encode() for letter in "YPQ"
}


def parsed(word):
    if word == "!":
        return ServerError("ERR down")
    return [None if letter == "." else letter.encode() for letter in word]


def on_the_wire(word):
    if word == "!":
        return ServerError("ERR down")
    return b"*%d\r\n%b" % (len(word), b"".join(WIRE[letter] for letter in word))


def voted(level, words, form):
    made = ElementVote(level, zones=len(words))
    decided = [made.submit(zone, form(word)) for zone, word in enumerate(words)]
    assert decided.index(True) == len(words) - 1, "every zone was heard"
    return made


@pytest.mark.parametrize("form", [parsed, on_the_wire])
@pytest.mark.parametrize("words", TABLE)
def test_each_element_is_voted_on_by_itself_where_replies_have_no_majority(words, form):
    for level, answer in zip((QUORUM, SAFE), TABLE[words], strict=True):
        vote = voted(level, words, form)
        if answer is None:
            assert (str(vote.answer), vote.decision) == (NO_QUORUM, Decision.NO_QUORUM)
            assert isinstance(vote.answer, ZoneFailure)
        else:
            assert (vote.answer, vote.decision) == (form(answer), Decision.BY_ELEMENT)


@pytest.mark.parametrize("form", [parsed, on_the_wire])
@pytest.mark.parametrize("level", [QUORUM, SAFE])
def test_replies_with_a_majority_and_errors_are_decided_as_by_any_other_vote(level, form):
    for words in product(["AX", "AY", "BY", "!"], repeat=3):
        plain, by_element = Vote(level, zones=3), ElementVote(level, zones=3)
        for zone, word in enumerate(words):
            ended = plain.submit(zone, form(word)), by_element.submit(zone, form(word))
            assert ended[0] == ended[1] or plain.decision in (Decision.FIRST_ARRIVED, Decision.NO_QUORUM)
        if plain.decision not in (Decision.FIRST_ARRIVED, Decision.NO_QUORUM):
            assert (plain.decision, str(plain.answer)) == (by_element.decision, str(by_element.answer))


def test_more_than_three_zones_are_all_heard_before_elements_are_voted_on():
    words = ("AX", "BX", "AY", "BY", "CX")
    assert voted(QUORUM, words, parsed).answer == parsed("AX")
    assert voted(SAFE, words, parsed).decision is Decision.NO_QUORUM
    assert voted(SAFE, ("AX", "AX", "AY", "BX", "BY"), parsed).answer == parsed("AX")


def test_replies_of_different_lengths_are_not_mixed():
    assert voted(QUORUM, ("AX", "A", "AXP"), parsed).decision is Decision.FIRST_ARRIVED
    assert voted(SAFE, ("AX", "A", "AXP"), on_the_wire).decision is Decision.NO_QUORUM


class TestRules:
    @pytest.mark.parametrize(
        ("level", "kind"),
        [(Level.DC_ONE, Vote), (QUORUM, ElementVote), (SAFE, ElementVote), (Level.DC_EACH_SAFE_QUORUM, ElementVote)],
    )
    def test_mget_alone_is_voted_on_by_element_at_the_quorum_levels(self, level, kind):
        rules = Rules(level, zones=3)
        assert [type(rules[name].vote((name,))) for name in ("MGET", b"mget")] == [kind, kind]
        assert {type(rules[name].vote((name,))) for name in ("GET", "HMGET", "LRANGE", "DEL", "MSET")} == {Vote}

    def test_a_pipeline_of_mget_and_other_reads_has_no_common_rule(self):
        rules = Rules(QUORUM, zones=3)
        get, mget = ("GET", "k"), ("MGET", "k", "l")
        assert rules.common([mget, mget]) is rules["MGET"]
        assert [rules.common(pipeline) for pipeline in ([get, mget], [mget, get])] == [None, None]
        assert Rules(Level.DC_ONE, zones=3).common([get, mget]) is not None

    @pytest.mark.parametrize("level", list(Level))
    def test_members_are_sorted_at_safe_quorum_only(self, level):
        asked = Rules(level, zones=3)["SMEMBERS"].asked(("SMEMBERS", b"k"))
        assert asked == (("SORT", b"k", "ALPHA") if level is SAFE else ("SMEMBERS", b"k"))
        wrong = ("SMEMBERS", b"k", b"l")
        assert Rules(level, zones=3)["SMEMBERS"].asked(wrong) is wrong
