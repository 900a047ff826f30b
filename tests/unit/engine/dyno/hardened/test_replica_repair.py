"""Goal: what is mended is what the zones prove. Method: the plan for every kind of disagreement, as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonelab.engine.dyno.hardened.records.record import MessageRecord, RecordStatus, rank
from zonelab.engine.dyno.hardened.upkeep.replica_repair import planned
from zonelab.engine.dyno.scores import due_score


def record(status, ends_ms=0, token="-", *, shard="a"):
    return MessageRecord.parse(f"{status} {shard} 1000 1000 1 {ends_ms} {token}".encode())


WAITING, LEASED, LATER = record("w"), record("l", 500, "t1"), record("l", 900, "t2")
IN_B, IN_C, LEASED_IN_B = record("w", shard="b"), record("w", shard="c"), record("l", 500, "t1", shard="b")
BURIED, BURIED_LATER, DEAD = record("d", 500, "t1"), record("d", 900, "t2"), record("x", 500, "t1")


def plan_of(*records, zones=3):
    """Records of zones a, b and c; those that are left out did not answer."""
    plan = planned(dict(zip("abc", records, strict=False)), zones=zones)
    return None if plan is None else (plan.new, set(plan.seen))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((WAITING, WAITING, WAITING), None),
        ((None, None, None), None),
        ((WAITING, None, None), (WAITING, {None})),
        ((WAITING, LEASED, None), (LEASED, {None})),
        ((WAITING, LEASED, LATER), None),
        ((IN_B, IN_B, WAITING), (IN_B, {WAITING})),
        ((WAITING, IN_B, IN_C), (WAITING, {IN_B})),
        ((WAITING, IN_B), None),
        ((WAITING, None, IN_B), (IN_B, {None})),
        ((WAITING, LATER, LEASED_IN_B), None),
        ((IN_B, LATER, LEASED), (WAITING, {IN_B})),
        ((WAITING, None), (WAITING, {None})),
        ((BURIED, BURIED, LATER), (BURIED, {LATER})),
        ((BURIED, BURIED, None), (BURIED, {None})),
        ((BURIED, LEASED, WAITING), (BURIED, {LEASED, WAITING})),
        ((BURIED, LEASED), (BURIED, {LEASED})),
        ((BURIED, LATER), None),
        ((BURIED, LATER, LATER), (LATER, {BURIED})),
        ((BURIED, LATER, LEASED), (BURIED, {LEASED})),
        ((BURIED_LATER, BURIED, LATER), (BURIED_LATER, {LATER})),
        ((BURIED, BURIED, BURIED), None),
        ((DEAD, WAITING, LATER), (DEAD, {WAITING})),
        ((DEAD, DEAD, None), (DEAD, {None})),
    ],
    ids=lambda value: None,
)
def test_a_plan_follows_from_what_the_zones_prove(found, expected):
    assert plan_of(*found) == expected


def test_of_five_zones_three_with_one_tombstone_and_one_newer_lease_decide_nothing():
    """The two that were not read may have newer leases, too; then the ack was refused."""
    assert plan_of(BURIED, LATER, WAITING, zones=5) is None
    assert plan_of(BURIED, BURIED, WAITING, zones=5) == (BURIED, {WAITING})


RECORDS = st.sampled_from([None, WAITING, IN_B, IN_C, LEASED, LEASED_IN_B, LATER, BURIED, BURIED_LATER, DEAD])


@given(st.lists(RECORDS, min_size=2, max_size=3))
def test_two_tombstones_always_win_and_no_plan_takes_a_majority_of_newer_leases_away(found):
    plan = planned(dict(zip("abc", found, strict=False)), zones=3)
    buried = [one for one in found if one and one.buried]
    newest = max((one.ends_ms for one in buried), default=0)
    newer = [one for one in found if one and not one.buried and one.ends_ms > newest]
    if len(buried) >= 2 and plan is not None:
        assert plan.new.buried
    if plan is not None and plan.new.buried and len(newer) >= 2:
        assert not set(plan.seen) & set(newer)


@given(st.lists(RECORDS, min_size=3, max_size=3))
def test_mending_settles(found):
    """Carried out in every zone, again and again, plans come to an end after at most three rounds."""
    zones = dict(zip("abc", found, strict=True))
    for _ in range(3):
        plan = planned(zones, zones=3)
        if plan is None:
            return
        zones = {zone: plan.new if one in plan.seen else one for zone, one in zones.items()}
    assert planned(zones, zones=3) is None


def test_a_record_tells_its_parts():
    told = MessageRecord.parse(b"l b 1700000000123.05 50000000000000 3 1700000000323 b-1.7")
    assert (told.status, told.shard, told.tries, told.ends_ms, told.token) == (
        RecordStatus.LEASED,
        "b",
        3,
        1_700_000_000_323,
        "b-1.7",
    )


def test_ranks_order_by_priority_and_then_by_due_time_and_are_exact():
    early, late = 1_700_000_000_000, 9_999_999_999_999
    ranks = [rank(due, priority=priority) for priority in (0, 1, 99) for due in (early, early + 1, late)]
    assert ranks == sorted(ranks)
    assert all(int(float(one)) == one for one in ranks)
    assert due_score(early, priority=99) < due_score(early + 1, priority=0)
