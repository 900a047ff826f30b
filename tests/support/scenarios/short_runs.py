"""Short runs on real servers for tests, in this process or through the command line, and what they leave behind."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml
from support.programs import HANGS_S

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario

# Leases are long, so that a noisy machine does not end one before its ack; what needs short ones says so.
SHORT: dict[str, Any] = {
    "name": "short",
    "persistence": "none",
    "links": {"lag": "lognormal:1ms:5ms"},
    "queue": {"unack_ms": 10_000, "unack_interval_ms": 200},
    "load": {
        "duration_s": 2,
        "rate_per_s": 25,
        "delay": "0.5*constant:0ms + 0.5*uniform:50ms:500ms",
        "priority": {"max": 9},
    },
    "consumers": {"per_zone": 3, "batch": 2, "wait_ms": 100, "processing": "exponential:2ms"},
    "drain": {"bound_s": 25},
}


def table_rows(run: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a run directory; of a fault that has ended the row of its end alone."""
    files = RunDirectory.open(run).files(name)
    rows: list[dict[str, Any]] = [row for path in files for row in pq.read_table(path).to_pylist()]
    return list({row["fault"]: row for row in rows}.values()) if name == "faults" else rows


@dataclass
class Phases:
    """A watcher that remembers."""

    names: list[str] = field(default_factory=list)
    counts: dict[tuple[str, Outcome], int] = field(default_factory=dict)

    def phase(self, name: str, bound_s: float | None) -> None:
        self.names.append(name)

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        self.counts = dict(counts)


@dataclass(frozen=True)
class Ran:
    directory: Path
    record: RunRecord
    phases: list[str]

    def check(self) -> Verdict:
        return check(self.directory)

    def table(self, name: str) -> list[dict[str, Any]]:
        return table_rows(self.directory, name)

    def json(self, name: str) -> Any:
        return json.loads((self.directory / name).read_text())

    @property
    def log(self) -> str:
        return (self.directory / "lab.log").read_text()


def scenario_file(directory: Path, **changes: Any) -> Path:
    """``SHORT`` with ``changes``, sections key by key, as a file."""
    document = {name: dict(value) if isinstance(value, dict) else value for name, value in SHORT.items()}
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(document.get(name), dict):
            document[name].update(value)
        else:
            document[name] = value
    path = directory / "short.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def run_short(
    directory: Path, *, make_queue: MakeQueue = queue_under_test, on: ZoneKind = ZoneKind.PROCESS, **changes: Any
) -> Ran:
    scenario = load_scenario(str(scenario_file(directory, **changes)))
    return ran(scenario, directory / "runs", make_queue=make_queue, on=on)


def ran(
    scenario: Scenario, runs: Path, *, make_queue: MakeQueue = queue_under_test, on: ZoneKind = ZoneKind.PROCESS
) -> Ran:
    """A run of ``scenario`` on real servers, with its directory below ``runs``."""
    phases = Phases()
    where, record = run_on_servers(
        scenario, kind=on, runs=runs, watcher=phases, command="zonelab run short.yaml", make_queue=make_queue
    )
    return Ran(where, record, phases.names)


def zonelab(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line, to its end."""
    return subprocess.run(
        zonelab_command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=HANGS_S, check=False, **options
    )


def zonelab_command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from zonelab.app.cli.main import main; main()", *arguments]


def servers_of(marker: str) -> list[int]:
    """Process ids whose command line contains ``marker``, such as a directory that only one test uses."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in command:
                found.append(int(entry.name))
    return found
