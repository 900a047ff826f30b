"""Goal: late is not called stuck, and stuck is not called late. Method: runs made by hand, one at each side of an edge,
all of whose drains last from 10,000 to 20,000 ms.
"""

from pathlib import Path

import pytest

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.builder import RunBuilder


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run")


def nonzero(verdict: Verdict) -> dict[str, int]:
    return {name: count for name, count in verdict.counts.items() if count}


def waiting(run: RunBuilder, name: str = "left", *, due_ms: int, zones: str = "abc") -> None:
    run.push(name, at_ms=2, due_ms=due_ms)
    for zone in zones:
        run.listed(name, zone=zone)
        run.payload(name, zone=zone)


def served(run: RunBuilder, name: str, *, due_ms: int, at_ms: int) -> None:
    run.push(name, at_ms=2, due_ms=due_ms)
    run.ack(name, run.pop(name, at_ms=at_ms), at_ms=at_ms + 5)


@pytest.mark.parametrize(
    ("due_ms", "served_ms", "found"),
    [
        (15_000, 19_500, "unserved"),
        (15_000, 18_998, "stuck"),  # nothing was delivered in the last second
        (10_998, 19_500, "unserved"),  # waited for 9,002 ms: twice the 4,001 of the other, and a second
        (10_997, 19_500, "stuck"),  # was passed over
    ],
)
def test_what_the_drain_ended_too_soon_for_is_unserved(
    run: RunBuilder, due_ms: int, served_ms: int, found: str
) -> None:
    waiting(run, due_ms=due_ms)
    served(run, "backlog", due_ms=15_500, at_ms=served_ms)
    verdict = check(run.write())
    assert nonzero(verdict) == {found: 1}
    assert verdict.valid == ("unknown" if found == "unserved" else False)
    if found == "unserved":
        (reason,) = verdict.reasons
        assert reason.endswith("raise drain.bound_s by at least 1 s (the drain took 10.0 s)")


def test_the_drain_is_to_be_longer_by_what_is_left_at_the_rate_of_its_last_second(run: RunBuilder) -> None:
    for number in range(9):
        waiting(run, f"left-{number}", due_ms=18_000)
    for number in range(4):
        served(run, f"backlog-{number}", due_ms=17_000, at_ms=19_500 + number)
    assert "raise drain.bound_s by at least 3 s" in check(run.write()).reasons[0]


def test_what_a_zone_misses_or_leases_is_stuck_however_long_the_drain(run: RunBuilder) -> None:
    waiting(run, "missed", due_ms=18_000, zones="ab")
    waiting(run, "leased", due_ms=18_000)
    run.listed("leased", zone="c", place="unack")
    served(run, "backlog", due_ms=17_000, at_ms=19_500)
    assert nonzero(check(run.write())) == {"stuck": 2}


def test_what_another_shard_is_served_says_nothing(run: RunBuilder) -> None:
    waiting(run, due_ms=18_000)
    run.push("elsewhere", at_ms=2, due_ms=17_000, zone="b", shard="b")
    run.ack("elsewhere", run.pop("elsewhere", at_ms=19_500, zone="b", shard="b"), at_ms=19_510)
    assert nonzero(check(run.write())) == {"stuck": 1}


def test_a_poison_loop_leaves_what_is_never_served_beside_it_stuck(run: RunBuilder) -> None:
    waiting(run, due_ms=18_000)
    run.push("poison", at_ms=2, due_ms=17_000)
    for at_ms in range(17_000, 20_000, 100):
        run.pop("poison", at_ms=at_ms, lease_end_ms=at_ms + 50)
    run.listed("poison", zone="a", place="unack")
    run.payload("poison", zone="a")
    assert nonzero(check(run.write())) == {"stuck": 2, "redelivered": 29}


def test_a_message_whose_lease_has_ended_waits_from_then_on(run: RunBuilder) -> None:
    waiting(run, due_ms=3_000)
    run.pop("left", at_ms=15_000, lease_end_ms=16_000)
    served(run, "backlog", due_ms=16_500, at_ms=19_500)
    assert nonzero(check(run.write())) == {"unserved": 1}
