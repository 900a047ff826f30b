"""Goal: each guest in Python runs unmodified on a zone, and a guest that acknowledges before it works is found.

Method: the guests' own programs on process zones. A worker that is kept from running for longer than its lease may
run a job again, so only what no busy machine can cause is forbidden.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import ran

from zonelab.analysis.summary.result import Result
from zonelab.scenarios.guests.guest import Language, guest_names, load_guest
from zonelab.scenarios.spec.reading import scenario_of

pytestmark = [pytest.mark.real, pytest.mark.packages]

PYTHON = [name for name in guest_names() if load_guest(name).language is Language.PYTHON]
EARLY_ACK = str(Path(__file__).parents[2] / "support" / "guests" / "early_ack")
JOBS = 20
FORBIDDEN = ["lost", "stuck", "abandoned", "unexpected", "early"]


def judged(
    folder: Path, *, producer: str, worker: str, faults: Any = (), env: Mapping[str, str] | None = None
) -> Result:
    """Run both guests' programs once and return the result."""
    programs = {
        "producer": {"guest": producer, "role": "producer", "zone": "a", "env": {"JOBS": str(JOBS)}},
        "worker": {"guest": worker, "role": "worker", "zone": "a", "env": dict(env or {})},
    }
    document = {
        "name": "guest",
        "level": "DC_ONE",
        "topology": {"zones": ["a"]},
        "load": {"duration_s": 300},
        "programs": programs,
        "faults": list(faults),
        "checks": {"forbid": FORBIDDEN},
        "drain": {"bound_s": 300, "quiet_s": 1},
    }
    run = ran(scenario_of(document, source="test"), folder)
    assert run.record.status == "complete", run.record.error
    return Result.examined(run.directory, title="test")


@pytest.mark.parametrize("name", PYTHON)
def test_it_carries_out_what_it_accepts(tmp_path: Path, name: str) -> None:
    result = judged(tmp_path, producer=name, worker=name, env={"SWEEP_S": "3600"})
    assert (result.words, result.verdict.reasons, result.verdict.totals.acknowledged) == ("valid", (), JOBS)


def test_an_ack_before_the_work_is_found_when_the_worker_dies_between(tmp_path: Path) -> None:
    strike = {"kind": "program_kill", "program": "worker", "at": "INCRBY worked", "at_command": 3}
    fault = {**strike, "when": "before", "at_s": 0.05, "for_s": 20}
    result = judged(tmp_path, producer="streams", worker=EARLY_ACK, faults=[fault])
    assert result.words == "invalid"
    assert result.verdict.counts["abandoned"] == 1
