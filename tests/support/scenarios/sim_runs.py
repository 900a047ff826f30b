"""Short runs in virtual time for tests."""

import json
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.check import check_recorded
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.simulated import SimulatedRun, recorded, simulate
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

SMALL: dict[str, Any] = {
    "name": "small",
    "arm": "sim",
    "persistence": "none",
    "links": {"lag": "lognormal:1ms:5ms"},
    "queue": {"unack_ms": 400, "unack_interval_ms": 100},
    "load": {"duration_s": 1, "rate_per_s": 15, "delay": "0.5*constant:0ms + 0.5*uniform:20ms:200ms"},
    "consumers": {"per_zone": 2, "batch": 2, "wait_ms": 100, "processing": "exponential:3ms"},
    "drain": {"bound_s": 5},
}


def small(**changes: Any) -> Scenario:
    """``SMALL`` with ``changes``, sections key by key."""
    document = {name: dict(value) if isinstance(value, dict) else value for name, value in SMALL.items()}
    for name, value in changes.items():
        merge = isinstance(value, dict) and isinstance(document.get(name), dict)
        document[name] = {**document[name], **value} if merge else value
    return scenario_of(document, source="small.yaml")


def tell_as_busy(directory: Path) -> None:
    """As if it had been a run on servers whose loop was kept from running."""
    told = json.loads((directory / "run.json").read_text())
    told |= {"arm": "real", "longest_stall_ms": 900.0, "stall_p99_ms": 300.0, "shortest_time_out_ms": 500.0}
    (directory / "run.json").write_text(json.dumps(told))


def run_in_memory(
    scenario: Scenario, *, make_queue: MakeQueue = queue_under_test, keep_trace: bool = False
) -> tuple[SimulatedRun, MemoryTables, Verdict]:
    tables = MemoryTables()
    done = simulate(scenario, tables, make_queue=make_queue, keep_trace=keep_trace)
    return done, tables, check_recorded(recorded(scenario, done, tables))
