"""``run.json``: what was run, where, when, and how it ended; read by ``zonelab.analysis.runs.info.RunInfo``."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from zonelab.analysis.events.run import ENGINE
from zonelab.analysis.runs.info import FORMAT
from zonelab.analysis.runs.owner import RunOwner
from zonelab.analysis.whole_files import write_json
from zonelab.scenarios.run_files.directory import environment, program_fingerprint
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.spec.scenario import Scenario, Workload


class RunFile:
    """``run.json`` of one run: there from the run's begin on, and written anew whenever more of the run is known.

    ``run_id`` distinguishes the run from every other. ``where``: the arm, what the zones are, and whatever else only
    this arm can tell. Every method raises ``OSError``.
    """

    def __init__(
        self,
        directory: Path,
        scenario: Scenario,
        *,
        started: datetime,
        command: str,
        epoch_ns: int,
        where: Mapping[str, Any],
    ) -> None:
        self._path = directory / "run.json"
        self._scenario = scenario
        self._epoch_ns = epoch_ns
        self._where = dict(where)
        self._head = {
            "format": FORMAT,
            "run_id": secrets.token_hex(8),
            **environment(),
            "program": program_fingerprint(own=scenario.own_functions),
            "started_utc": f"{started:%Y-%m-%dT%H:%M:%SZ}",
            "command": command,
        }
        owner = RunOwner.current()
        self._owner = None if owner is None else owner.model_dump()
        self.running(RunRecord())

    def running(self, record: RunRecord) -> None:
        """The run goes on; the phase that it is in has no end yet."""
        value = identity(self._scenario, record, epoch_ns=self._epoch_ns)
        if record.phase is not None:
            name, begin_ns = record.phase
            value["phases"] = {**record.phases, name: (begin_ns, begin_ns)}
        self._write({**value, "status": "running", "owner": self._owner})

    def ended(self, record: RunRecord, *, segments: Mapping[str, int], told: Mapping[str, Any]) -> None:
        """``told``: facts that the arm knows when all is over."""
        value = identity(self._scenario, record, epoch_ns=self._epoch_ns)
        self._write({**value, **told, "segments": segments})

    def _write(self, value: Mapping[str, Any]) -> None:
        write_json(self._path, {**self._head, **self._where, **value})


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
        "queue": _queue(scenario, record),
        "order": None if scenario.order_rules is None else scenario.order_rules.model_dump(),
        "workload": _workload(scenario.workload),
        "coordinators": record.coordinators,
        "clients": record.clients,
        "deaths": record.deaths,
        **({"programs": record.programs, "doubts": record.doubts} if scenario.programs else {}),
        "late_ms": scenario.checks.late_ms,
        "forbid": list(scenario.checks.forbidden),
    }


def _queue(scenario: Scenario, record: RunRecord) -> dict[str, Any]:
    if scenario.programs:
        return record.queue or {"engine": ENGINE, "shards": record.shards, "priorities": False, "end_state": False}
    return {
        "engine": scenario.queue.engine,
        "shards": record.shards,
        **asdict(scenario.features),
        "lease_ms": scenario.queue.unack_ms,
    }


def _workload(workload: Workload | None) -> dict[str, Any] | None:
    if workload is None:
        return None
    return {
        "kind": workload.kind,
        "forbid": list(workload.forbidden),
        "budget_configurations": workload.budget_configurations,
    }
