"""Goal: members get the partitions that RocketMQ's strategies give them. Method: its vectors."""

import pytest

from zonelab.engine.fifo.assignment.strategies import Strategy, room_nearby, strategy
from zonelab.engine.fifo.partition import partitions_of

EVERY = ("average", "circle", "consistent-hash", "room-nearby")


def named(name) -> Strategy:
    return strategy(name, room_of=lambda member: member[0])


def shared_out(assign, count, members, *, zones=("a",)):
    """The numbers that each member gets."""
    partitions = sorted(partitions_of("t", count, zones))
    return [[each.number for each in assign(member, members, partitions)] for member in members]


@pytest.mark.parametrize(
    ("count", "members", "shares"),
    [
        (8, "abc", [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (8, "abcd", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (2, "abc", [[0], [1], []]),
        (5, "ab", [[0, 1, 2], [3, 4]]),
    ],
)
def test_average_gives_contiguous_blocks(count, members, shares):
    assert shared_out(named("average"), count, members) == shares


def test_a_circle_gives_one_to_each_in_turn():
    assert shared_out(named("circle"), 5, "abc") == [[0, 3], [1, 4], [2]]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("members", [["a1"], ["a1", "b1", "b2"], ["a1", "b1", "c1", "c2"]])
def test_every_partition_goes_to_exactly_one_member(name, members):
    shares = shared_out(named(name), 16, members, zones=("a", "b", "c"))
    assert sorted(number for share in shares for number in share) == list(range(16))


@pytest.mark.parametrize("name", EVERY)
def test_whoever_is_no_member_gets_nothing(name):
    assert named(name)("z", ["a1", "b1"], partitions_of("t", 4, ("a", "b"))) == []


@pytest.mark.parametrize(("name", "most"), [("average", 9), ("consistent-hash", 6)])
def test_a_fourth_member_moves_so_many_of_sixteen(name, most):
    owners = [
        {number: place for place, share in enumerate(shared_out(named(name), 16, members)) for number in share}
        for members in (["m1", "m2", "m3"], ["m1", "m2", "m3", "m4"])
    ]
    moved = [number for number in range(16) if owners[0][number] != owners[1][number]]
    assert len(moved) == 9 if name == "average" else 0 < len(moved) <= most
    assert name == "average" or {owners[1][number] for number in moved} == {3}


def test_the_ring_is_the_one_of_rocketmq():
    """The first four bytes of MD5, ten places a member: worked out with ``md5sum`` and ``sort``."""
    shares = shared_out(named("consistent-hash"), 8, ["m1", "m2", "m3"], zones=("broker-a",))
    assert shares == [[2, 4, 5, 6], [0, 1, 3, 7], []]


def test_a_zone_serves_its_own_and_all_serve_a_zone_without_members():
    shares = shared_out(named("room-nearby"), 9, ["a1", "a2", "b1"], zones=("a", "b", "c"))
    assert shares == [[0, 3, 2], [6, 5], [1, 4, 7, 8]]


def test_a_member_without_a_zone_stops_the_sharing_out():
    with pytest.raises(ValueError, match="zone of x must be a non-empty string, got ''"):
        room_nearby(room_of=lambda _: "")("x", ["x"], partitions_of("t", 2, ("a",)))


def test_no_partitions_and_an_unknown_strategy_are_refused():
    with pytest.raises(ValueError, match="partitions must be at least 1, got 0"):
        partitions_of("t", 0, ("a",))
    with pytest.raises(ValueError, match=r"assignment must be one of average, .*, room-nearby, got 'fair'$"):
        named("fair")
