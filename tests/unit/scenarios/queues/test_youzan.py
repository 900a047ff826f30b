"""What a run with ``queue.engine: youzan`` has in its tables, and who runs the timers.

Method: short simulated runs; on three zones only what one zone alone decides.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.scenarios.run_files.tables import FINAL_STATE_NAME, OPERATIONS_NAME


def run(**changes):
    chosen = {"engine": "youzan", "unack_ms": 3_000, **changes.pop("queue", {})}
    _, tables, verdict = run_in_memory(small(queue=chosen, **changes))
    return {name: table.batch().to_pylist() for name, table in tables.tables.items()}, verdict


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_every_place_of_every_zone_is_in_the_end_state(compat):
    tables, verdict = run(queue={"compat": compat}, consumers={"per_zone": 0})
    for zone in "abc":
        rows = [row for row in tables[FINAL_STATE_NAME] if row["zone"] == zone]
        listed = {row["message_id"] for row in rows if row["place"] == "queue"}
        stored = {row["message_id"] for row in rows if row["place"] == "payload"}
        assert len(listed) == verdict.totals.pushed > 20
        assert stored == listed
        assert {row["serving"] for row in rows if row["place"] == "queue"} == {zone == "a"}


@pytest.mark.parametrize(("compat", "served"), [(False, True), (True, False)], ids=["default", "compat"])
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_the_original_has_timers_in_one_zone_only(compat, served, how):
    """Without them nothing is made ready, though two seconds' ticks go by; others take over the buckets by default."""
    outage = {"kind": "service_crash", "zone": "a", "service": "timers", "how": how, "at_s": 0, "for_s": 2.8}
    tables, verdict = run(queue={"compat": compat}, faults=[outage], load={"delay": "0", "duration_s": 3})
    popped = [row for row in tables[OPERATIONS_NAME] if row["f"] == "pop" and row["message_id"] is not None]
    assert any(row["time_ns"] < 2_500_000_000 for row in popped) is served
    assert verdict.totals.delivered > 20  # by those that take their place
