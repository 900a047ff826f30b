"""``run.json``: what was run, where, when, and how it ended; read by ``analysis.runs.directory.RunInfo``."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from scenarios.run_files.directory import environment, program_fingerprint, write_json
from scenarios.run_files.record import RunRecord
from scenarios.spec.scenario import Scenario, Workload


def write_run(
    directory: Path,
    scenario: Scenario,
    record: RunRecord,
    *,
    started: datetime,
    epoch_ns: int,
    command: str,
    where: Mapping[str, Any],
) -> None:
    """``where``: the arm, what the zones were, and whatever else only this arm can tell. Raises ``OSError``."""
    value = {
        **environment(),
        "program": program_fingerprint(factory=scenario.queue.factory),
        **identity(scenario, record, epoch_ns=epoch_ns),
        **where,
        "started_utc": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "command": command,
    }
    write_json(directory / "run.json", value)


def identity(scenario: Scenario, record: RunRecord, *, epoch_ns: int) -> dict[str, Any]:
    """The part that is the same wherever and whenever the same run happens again in simulation."""
    return {
        "scenario": scenario.name,
        "level": scenario.level,
        "seed": scenario.seed,
        "server": record.server,
        "epoch_ns": epoch_ns,
        "status": record.status,
        "error": record.error,
        "phases": record.phases,
        "drained": record.drained,
        "unread_zones": record.unread_zones,
        "queue": {
            "engine": scenario.queue.engine,
            "shards": record.shards,
            **asdict(scenario.features),
        },
        "workload": _workload(scenario.workload),
        "coordinators": record.coordinators,
        "forbid": list(scenario.checks.forbid),
    }


def _workload(workload: Workload | None) -> dict[str, Any] | None:
    if workload is None:
        return None
    return {
        "kind": workload.kind,
        "forbid": list(workload.forbidden),
        "budget_configurations": workload.budget_configurations,
    }
