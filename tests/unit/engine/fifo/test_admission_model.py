"""Goal: the protocol of fenced partitions holds, and each mechanism is needed. Method: all interleavings of a model.

The bounds are small here; docs/fifo-admission.md has the larger ones.
"""

import json
from functools import cache

import pytest
from admission.__main__ import main
from admission.mechanisms import BOUNDS, COUNTEREXAMPLES, PARTS, Bounds, Mechanism, World, found_in
from admission.owners import observe
from admission.search import TooManyStates, replayed, search, told_way
from admission.state import beginning

LOST = "decided entries a1 were lost or replaced"
PUSH_LOST = "two zones that may decide hold nothing of m1, whose push was confirmed"
UNREAD = "neither of two zones has e1, which a group has yet to read"
STALE = "a zone whose log begins at 1 has e1, which was trimmed"
FOUND = {
    Mechanism.WHOLE_STATE: "the partition stands still",
    Mechanism.LEAVES_LATER: PUSH_LOST,
    Mechanism.ONE_WRITER: "m1, confirmed at offset 0, is not there any more",
    Mechanism.SEAL: PUSH_LOST,
    Mechanism.SEALED_PAIR: PUSH_LOST,
    Mechanism.BARRIER: "decided entries END were lost or replaced",
    Mechanism.SLOWEST_GROUP: UNREAD,
    Mechanism.CURSOR_OF_TWO: UNREAD,
    Mechanism.NAMES_OF_TWO: UNREAD,
    Mechanism.COUNTS_PROMISES: UNREAD,
    Mechanism.TWO_ROUNDS: UNREAD,
    Mechanism.FLOOR_AFTER_PROMISE: UNREAD,
    Mechanism.FLOOR_OF_TWO: UNREAD,
    Mechanism.FIRST_IN_STATE: STALE,
    Mechanism.RECORDS_WITH_STATE: STALE,
    Mechanism.REPAIR_FROM_FIRST: STALE,
    Mechanism.COPY_FROM_FIRST: STALE,
    Mechanism.GROUPS_COPIED: "the second group's cursor, whose write 1 was decided, is in neither of two zones",
    Mechanism.NUMBERS_STAY: "m1 has two offsets",
}
WORLD = World(bounds=BOUNDS["takeover"])
WAYS = json.loads(COUNTEREXAMPLES.read_text(encoding="utf-8"))
SOON = (Mechanism.WHOLE_STATE, Mechanism.BALLOT, Mechanism.CURSOR_OF_TWO, Mechanism.REPAIR_FROM_FIRST, Mechanism.SEAL)
"""Without these a search finds a counterexample in less than a second or so; the others took up to 17 when they were
recorded, by ``python -m admission --record``."""


def world_of(part):
    return World(bounds=found_in(part))


@cache
def without(part):
    """The search for a counterexample, made once though several tests look at what it found."""
    return search(world_of(part).without(part))


@pytest.mark.parametrize("bounds", [BOUNDS["takeover"], Bounds(writes=(1, 1), copies=1, admissions=1)], ids=str)
def test_with_every_mechanism_nothing_is_wrong(bounds):
    result = search(World(bounds=bounds))
    assert result.wrong == ""
    assert result.states > 10_000


@pytest.mark.parametrize("bounds", ["cursor", "trim and wipe", "trim and push", "trim and repair"])
def test_logs_are_trimmed_with_every_mechanism_and_nothing_is_wrong(bounds):
    assert search(World(bounds=BOUNDS[bounds])).wrong == ""


def test_trims_of_both_rounds_happen():
    """Otherwise nothing could be wrong with them."""
    told = "\n".join(without(Mechanism.REPAIR_FROM_FIRST).trace)
    assert "owner A trims, floor 1" in told
    assert "owner A trims, first 1, floor 1" in told


def test_every_mechanism_has_a_counterexample():
    assert list(WAYS) == [part.value for part in PARTS]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.value)
def test_the_way_to_a_counterexample_is_open_without_the_mechanism_and_closed_with_it(part):
    way, world = WAYS[part.value], world_of(part)
    assert FOUND.get(part, LOST) in replayed(world.without(part), way)
    assert replayed(world.without(part), way[:-1]) == ""
    assert replayed(world, way) == ""


@pytest.mark.parametrize("part", SOON, ids=lambda part: part.value)
def test_the_search_finds_the_shortest_way(part):
    result = without(part)
    assert result.choices == tuple(WAYS[part.value])
    assert replayed(world_of(part).without(part), result.choices) == result.wrong
    assert len(result.trace) == result.depth


def test_zones_that_lost_their_data_vote_twice_in_the_counterexamples():
    wiped = told_way(world_of(Mechanism.MARK).without(Mechanism.MARK), WAYS[Mechanism.MARK.value])
    zone = next(step for step in wiped if step.endswith("is wiped")).removesuffix(" is wiped")
    votes = [step for step in wiped if step.startswith(f"{zone} ") and "owner" in step]
    assert f"{zone} grants token 3 to owner B" in votes
    assert any("owner A" in vote for vote in votes)


@pytest.mark.parametrize(
    ("version", "log", "cursor", "wrong"),
    [
        ((4, 0), ("a1", "a2"), 1, ""),
        ((4, 0), ("a1",), 1, "lost or replaced"),
        ((4, 0), ("a1", "b1"), 1, "lost or replaced"),
        ((4, 0), ("a1", "a2"), 0, "the cursor fell from 1 to 0"),
        ((3, 1), ("a1", "b1"), 1, "two states were decided as version (3, 1)"),
        ((2, 5), ("a1",), 0, ""),
        ((2, 5), ("b1",), 0, "lost or replaced"),
    ],
)
def test_what_was_decided_may_only_grow_in_the_order_of_tokens(version, log, cursor, wrong):
    state, _ = observe(beginning(WORLD), 0, (3, 1), ("a1", "a2"), 1)
    assert wrong in observe(state, 0, version, log, cursor)[1]
    assert bool(observe(state, 0, version, log, cursor)[1]) == bool(wrong)


def test_an_older_token_decides_nothing_in_a_later_generation():
    state, _ = observe(beginning(WORLD), 1, (3, 1), ("a1",), 0)
    assert "in a later generation" in observe(state, 2, (2, 1), ("a1",), 0)[1]


def test_a_search_that_would_not_end_is_given_up():
    with pytest.raises(TooManyStates, match="more than 100 states"):
        search(WORLD, states_max=100)


def test_the_command_tells_a_counterexample_and_refuses_what_it_does_not_know(capsys):
    assert main(["--off", "ballot"]) == 0
    assert f"WRONG: {LOST}: now none" in capsys.readouterr().out
    assert main(["--bounds", "takeover", "--states", "50"]) == 3
    with pytest.raises(SystemExit, match="2"):
        main(["--off", "nothing"])
    assert "choose from 'two-alike', 'ballot'" in capsys.readouterr().err
