"""The run directory of a manual session: what was done to the cluster, and how it did, second by second.

What single clients did is not recorded: their commands go past the supervisor, and they may be any program.
"""

import json
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.runs.history import DEPTH, FAULTS, FINAL_STATE, OPERATIONS, fault_row
from zonelab.analysis.runs.manual_session import SAMPLES, VERBS
from zonelab.analysis.runs.owner import RunOwner
from zonelab.analysis.whole_files import write_json
from zonelab.analysis.yaml_text import write_yaml
from zonelab.app.session.settings import NAME, SessionSettings
from zonelab.cluster.real.zones.key_comparison import KeyComparison
from zonelab.cluster.real.zones.waiting import in_thread
from zonelab.cluster.topology.topology import placed
from zonelab.scenarios.run_files.directory import create_run_directory, environment

LOGGER = logging.getLogger("zonelab.session")

SAVE_S = 5.0
"""Seconds of samples that a supervisor that is killed may lose, while there are few."""

SAVE_SHARE = 0.02
"""Largest share of the supervisor's time for saving."""

SAMPLES_MAX = 200_000
"""When there are more, every other one is dropped, and from then on half as many are taken."""


class SessionRecording:
    """Writes the directory; every file in it is whole at any time."""

    def __init__(self, settings: SessionSettings, *, server: str) -> None:
        started = datetime.now(UTC)
        self.epoch_ns = time.time_ns()
        self._begin_ns = time.monotonic_ns()
        self.directory = create_run_directory(settings.runs, settings, started)
        self.period = 1
        """Rounds of samples of which one is kept."""
        self._faults: list[dict[str, Any]] = []
        self._verbs: list[dict[str, Any]] = []
        self._samples: list[dict[str, Any]] = []
        self._saved_s = 0.0
        self._head: dict[str, Any] = {
            **environment(),
            "scenario": NAME,
            "level": settings.level,
            "seed": settings.seed,
            "arm": "real",
            "zones": settings.kind,
            "server": server,
            "started_utc": f"{started:%Y-%m-%dT%H:%M:%SZ}",
            "epoch_ns": self.epoch_ns,
            "queue": {"engine": "none", "shards": {}},
            "session": {
                "zones": settings.names,
                "lag": settings.links.lag,
                "dc_lag": settings.dc_lag,
                "time_factor": settings.time_factor,
                "data_centres": {} if settings.layout.flat else placed(settings.layout),
            },
            "command": settings.command,
            "owner": None if (owner := RunOwner.current()) is None else owner.model_dump(),
            "forbid": [],
        }
        (self.directory / "history").mkdir()
        for name, schema in (("history/operations", OPERATIONS), ("final_state", FINAL_STATE), ("depth", DEPTH)):
            self._write_table(name, schema, [])
        settings_text = write_yaml(settings.recorded())
        (self.directory / "scenario.yaml").write_text(settings_text, encoding="utf-8")
        self._save_faults()
        self._save_verbs()
        self._save_samples(self._samples)
        self._write_run(status="running", error=None)

    def now_ns(self) -> int:
        """Run time."""
        return time.monotonic_ns() - self._begin_ns

    def fault_began(
        self, *, name: str, kind: str, target: str, begin_ns: int, colour: str, detail: str
    ) -> dict[str, Any]:
        """The row, as in ``zonelab.analysis.runs.history.FAULTS``; give it to ``fault_ended``."""
        row = fault_row(fault=name, kind=kind, target=target, begin_ns=begin_ns, colour=colour, detail=detail)
        self._faults.append(row)
        self._save_faults()
        return row

    def fault_ended(self, row: dict[str, Any]) -> None:
        if row["end_ns"] is None:
            row["end_ns"] = self.now_ns()
            self._save_faults()

    def keys_compared(self, found: KeyComparison, *, after: str) -> None:
        """The zones were compared; the last comparison is in ``run.json``."""
        self._head["keys"] = {"after": after, **found.to_json()}
        for sentence in found.sentences():
            LOGGER.info("after %s: %s", after, sentence)

    def verb(self, name: str, arguments: Mapping[str, Any], *, error: str | None = None) -> None:
        """Somebody asked for something."""
        row = {"time_ns": self.now_ns(), "verb": name, "arguments": json.dumps(arguments), "error": error}
        self._verbs.append(row)
        self._save_verbs()

    async def sample(self, rows: list[dict[str, Any]]) -> None:
        """One row a zone, as in ``zonelab.analysis.runs.manual_session.SAMPLES``; saved in a thread every now and
        then.
        """
        self._samples += rows
        if len(self._samples) > SAMPLES_MAX:
            self._thin(len(rows))
        begin_s = time.monotonic()
        if begin_s >= self._saved_s:
            await in_thread(self._save_samples, list(self._samples))
            took_s = time.monotonic() - begin_s
            self._saved_s = begin_s + max(SAVE_S, took_s / SAVE_SHARE)

    def close(self, *, coordinators: Mapping[str, Any], error: str | None) -> None:
        """The session has ended, by itself if ``error`` says why."""
        self._save_samples(self._samples)
        self._write_run(status="failed" if error else "complete", error=error, coordinators=coordinators)

    def log(self, name: str, text: str) -> None:
        """Keep what a coordinator wrote."""
        if text.strip() and self.directory.is_dir():
            with (self.directory / "lab.log").open("a", encoding="utf-8") as log:
                log.writelines(f"{name}: {line}\n" for line in text.splitlines())

    def _thin(self, zones: int) -> None:
        """Keep every other round, all of whose rows stand together."""
        self._samples = [row for index, row in enumerate(self._samples) if index // zones % 2]
        self.period *= 2

    def _write_run(self, *, status: str, error: str | None, coordinators: Mapping[str, Any] | None = None) -> None:
        ending = {
            "status": status,
            "error": error,
            "phases": {NAME: [0, self.now_ns()]},
            "coordinators": dict(coordinators or {}),
        }
        try:
            write_json(self.directory / "run.json", {**self._head, **ending})
        except OSError as error:
            LOGGER.warning("%s cannot be written: %s", self.directory / "run.json", error)

    def _save_faults(self) -> None:
        self._write_table("faults", FAULTS, self._faults)

    def _save_verbs(self) -> None:
        self._write_table("verbs", VERBS, self._verbs)

    def _save_samples(self, rows: list[dict[str, Any]]) -> None:
        self._write_table("samples", SAMPLES, rows)

    def _write_table(self, name: str, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
        path = self.directory / f"{name}.parquet"
        partial = path.with_name(path.name + ".partial")
        try:
            pq.write_table(
                pa.Table.from_pylist(rows, schema=schema), partial, compression="zstd", write_page_checksum=True
            )
            partial.replace(path)
        except OSError as error:  # a full disk, a directory that is gone: the cluster stays up nevertheless
            LOGGER.warning("%s cannot be written: %s", path, error)
