"""The pipelined queue keeps its promises on real servers as it does in simulation.

Method: short runs of ``queue.engine: dyno-v2`` on three process zones, one of them with consumers that crash, judged by
the checker.
"""

import pytest
from support.scenarios.short_runs import run_short

pytestmark = pytest.mark.real

V2 = {"engine": "dyno-v2"}


@pytest.mark.parametrize("level", ["DC_QUORUM", "DC_SAFE_QUORUM"])
def test_the_pipelined_queue_delivers_all_on_real_servers(tmp_path, level):
    ran = run_short(tmp_path, queue=V2, level=level)
    verdict = ran.check()
    assert ran.record.status == "complete"
    assert ran.json("run.json")["queue"]["engine"] == "dyno-v2"
    assert verdict.valid is True
    assert verdict.totals.delivered == verdict.totals.acknowledged > 50


def test_what_a_crashed_consumer_had_leased_is_delivered_again_on_real_servers(tmp_path):
    crash = {"kind": "consumer_crash", "zone": "a", "consumer": "all", "at_s": 0.8, "for_s": 0.4, "at_command": 3}
    ran = run_short(tmp_path, queue={**V2, "unack_ms": 3_000}, faults=[crash])
    verdict = ran.check()
    assert verdict.valid is True
    assert verdict.totals.delivered == verdict.totals.acknowledged > 50


def test_the_end_state_of_what_nobody_consumes_is_read_from_every_zone(tmp_path):
    queue = {**V2, "unack_ms": 400, "unack_interval_ms": 100}
    ran = run_short(tmp_path, queue=queue, consumers={"per_zone": 0}, drain={"bound_s": 1}, load={"duration_s": 1})
    rows = ran.table("final_state")
    waiting, stored = (
        [sorted(row["message_id"] for row in rows if (row["zone"], row["place"]) == (zone, place)) for zone in "abc"]
        for place in ("queue", "payload")
    )
    assert len(waiting[0]) == ran.check().totals.acknowledged > 20
    assert waiting == stored == [waiting[0]] * 3
