"""Goal: hardened mode does on real servers what it does in simulation. Method: short runs, one zone killed or wiped."""

from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import run_short

from zonelab.analysis.message_classes import MessageClass

pytestmark = pytest.mark.real

QUEUE = {"mode": "hardened", "unack_ms": 1000, "unack_interval_ms": 200}
FAULTS: dict[str, dict[str, Any]] = {
    "killed": {"kind": "kill", "at_s": 0.5, "for_s": 0.8, "zone": "b"},
    "warmed": {"kind": "kill", "at_s": 0.5, "for_s": 0.8, "zone": "b", "restart": "warm"},
    "wiped": {"kind": "wipe", "at_s": 0.5, "for_s": 0.8, "zone": "b"},
    "cut off": {"kind": "cut", "at_s": 0.5, "for_s": 0.8, "isolate": "b"},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_zone_that_was_away_leaves_nothing_lost_stuck_or_delivered_twice(
    tmp_path: Path, fault: dict[str, Any]
) -> None:
    run = run_short(tmp_path, queue=QUEUE, faults=[fault], drain={"bound_s": 20})
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert verdict.totals.pushed > 50
    assert verdict.counts[MessageClass.ZOMBIE_ACK] == 0
