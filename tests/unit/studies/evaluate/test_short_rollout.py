"""Goal: what real zones run is short and small, with operations as they were. Method: rollouts of all kinds."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.scenarios.sim_runs import SMALL

from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.short_rollout import short_rollout

LONG = {
    "cut": {"per_year": 2, "lasts_s": 1200, "fault": {"kind": "cut", "isolate": "any"}},
    "both": {
        "per_year": 1,
        "lasts_s": 60,
        "fault": [{"kind": "kill", "zone": "any"}, {"kind": "cut", "isolate": "any", "after_s": 3, "for_s": 6}],
    },
}


def rollout(folder: Path, *, rate: float = 40, faults: dict[str, Any] | None = None, **changes: Any) -> Rollout:
    section = {
        "vary": {"level": ["DC_ONE", "DC_QUORUM"]},
        "objectives": ["p99(push) < 1s"],
        "faults": faults or {},
    }
    work = {"per_zone": 24, "processing": "0.95*lognormal:150ms:300ms + 0.05*constant:40s"}
    whole = {
        **SMALL,
        "queue": {"unack_ms": 30000},
        "load": {"duration_s": 60, "rate_per_s": rate},
        "consumers": work,
        "drain": {"bound_s": 90},
        "evaluate": section,
        **changes,
    }
    (folder / "rollout.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    return Rollout.load(str(folder / "rollout.yaml"))


def test_runs_work_faults_and_load_are_short_and_links_and_leases_are_as_they_were(tmp_path: Path) -> None:
    whole = rollout(tmp_path, faults=LONG)
    short = short_rollout(whole)
    for before, after in zip(whole.settings, short.settings, strict=True):
        scenario = after.scenario
        assert after.name == before.name
        assert scenario.load.duration_s + scenario.drain.bound_s <= 12
        assert scenario.consumers.processing == "0.95*lognormal:150ms:300ms + 0.05*constant:1s"
        assert sum(map(scenario.load.rate_of, scenario.zones)) <= 31
        assert (scenario.links, scenario.queue) == (before.scenario.links, before.scenario.queue)
    for cell in short.year.cells:
        run = short.run(0, cell, 1)
        assert run.load.duration_s + run.drain.bound_s <= 12
        for fault in run.faults:
            assert fault.at_s + (fault.for_s or 0) <= run.load.duration_s
            assert (fault.for_s or 0) <= 4


def test_parts_of_a_class_keep_their_order_and_their_share_of_it(tmp_path: Path) -> None:
    short = short_rollout(rollout(tmp_path, faults=LONG))
    cell = [one for one in short.year.cells if one.fault == "both"][-1]
    kill, cut = short.run(0, cell, 1).faults
    assert cut.at_s - kill.at_s == pytest.approx(3 * 4 / 60)
    assert cut.for_s == pytest.approx(6 * 4 / 60)


def test_what_is_short_already_is_the_same_rollout(tmp_path: Path) -> None:
    few = {"processing": "exponential:3ms", "per_zone": 2, "batch": 2, "wait_ms": 100}
    load, drain = {"duration_s": 1, "rate_per_s": 5}, {"bound_s": 5}
    plain = rollout(tmp_path, consumers=few, load=load, drain=drain, queue=SMALL["queue"])
    assert short_rollout(plain) is plain
