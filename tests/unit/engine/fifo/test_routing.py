"""Goal: keys go to the partitions that RocketMQ's selectors choose. Method: its vectors, and Guava's own."""

from random import Random

import pytest

from zonelab.engine.fifo.routing.selectors import jump, selector

KEYS = [f"order-{number}" for number in range(2_000)]


def moved(name, before, after):
    """Shares of the keys that change their partition when their number changes: all, and those to an old partition."""
    choose = selector(name, random=Random(1))
    places = [(choose(key, before), choose(key, after)) for key in KEYS]
    changed = [new for old, new in places if old != new]
    return len(changed) / len(KEYS), sum(new < before for new in changed) / len(KEYS)


@pytest.mark.parametrize(("key", "partition"), [("order-1", 6), ("order-2", 5), ("polygenelubricants", 0), ("", 0)])
def test_the_hash_selector_takes_the_remainder_before_the_sign(key, partition):
    assert selector("hash", random=Random(1))(key, 8) == partition


def test_the_consistent_hash_is_guavas():
    golden = [0, 55, 62, 8, 45, 59, 86, 97, 82, 59, 73, 37, 17, 56, 86, 21, 90, 37, 38, 83]
    assert [jump(number, 100) for number in range(20)] == golden
    assert [jump(10863919174838991, 11), jump(2016238256797177309, 11), jump(1673758223894951030, 11)] == [6, 3, 5]
    assert [jump(number, 100_001) for number in (2, 2201, 2202)] == [80343, 22152, 15018]


def test_a_negative_hash_has_a_partition():
    choose = selector("consistent-hash", random=Random(1))
    assert {choose(key, 8) for key in [*KEYS, "polygenelubricants"]} == set(range(8))


@pytest.mark.parametrize(
    ("name", "before", "after", "all_moved", "onto_old"),
    [
        ("hash", 8, 9, 0.889, 0.778),
        ("hash", 8, 12, 0.667, 0.334),
        ("hash", 8, 16, 0.5, 0),
        ("consistent-hash", 8, 9, 0.112, 0),
    ],
)
def test_more_partitions_move_so_many_keys(name, before, after, all_moved, onto_old):
    changed, old = moved(name, before, after)
    assert changed == pytest.approx(all_moved, abs=0.04)
    assert old == pytest.approx(onto_old, abs=0.04 if onto_old else 0)


def test_the_random_selector_keeps_no_key_together():
    choose = selector("random", random=Random(1))
    assert {choose("order-1", 4) for _ in range(100)} == {0, 1, 2, 3}


def test_an_unknown_selector_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"^selector must be one of hash, random, consistent-hash, got 'room'$"):
        selector("room", random=Random(1))
