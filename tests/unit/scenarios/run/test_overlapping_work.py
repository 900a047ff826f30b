"""Goal: a run records what tells whether two programs worked on a message at once, whatever their leases said.

Method: simulated runs in which a program stands still beyond its lease, or dies.
"""

from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass

LEASE_MS = 400
WORK = {"per_zone": 2, "processing": "constant:20ms"}


def test_a_consumer_that_stands_still_beyond_its_lease_works_beside_the_next_one():
    pause = {"kind": "program_pause", "zone": "a", "program": "consumer", "at_s": 0.2, "for_s": 0.75}
    _, _, verdict = run_in_memory(small(faults=[pause], consumers=WORK, load={"rate_per_s": 40}))
    assert verdict.counts[MessageClass.OVERLAP] > 0
    assert verdict.counts[MessageClass.CONCURRENT] == 0
    assert 0 < verdict.queue.overlap_ms["p50"] <= verdict.queue.overlap_ms["max"] < 750
    assert verdict.queue.overlap_ms["open"] == 0


def test_a_consumer_that_died_works_no_more():
    """It dies with messages of its batch in hand, which come again once their leases have ended."""
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.2, "for_s": 0.3}
    work = {"per_zone": 1, "batch": 20, "processing": "constant:60ms"}
    done, _, verdict = run_in_memory(small(faults=[crash], consumers=work, load={"rate_per_s": 40}))
    assert list(done.record.deaths) == ["consumer-a-0"]
    assert verdict.counts[MessageClass.REDELIVERED] > 0
    assert verdict.counts[MessageClass.OVERLAP] == 0
