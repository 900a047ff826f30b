"""The run directory of a log of events: every reader of runs takes it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zonelab.analysis.events.operations import SHARD, LoggedHistory
from zonelab.analysis.runs.history import DEPTH, FAULTS, FINAL_STATE
from zonelab.analysis.runs.info import FORMAT
from zonelab.analysis.runs.segments import segment_path, single_file
from zonelab.analysis.runs.tables import write_table
from zonelab.analysis.whole_files import write_json

ENGINE = "events"
"""The engine of a run of which nothing is known but events."""


def write_logged_run(directory: Path, history: LoggedHistory, *, facts: Mapping[str, Any]) -> None:
    """Write the files of a run that is known by its events alone.

    Args:
        directory: a new run directory.
        history: what happened.
        facts: what ``run.json`` says beside it: the scenario's name, the program and the machine, the command.
    """
    write_table(segment_path(directory, "operations", 1), history.operations)
    for name in ("faults", "depth"):
        write_table(segment_path(directory, name, 1), {"faults": FAULTS, "depth": DEPTH}[name].empty_table())
    write_table(single_file(directory, "final_state"), FINAL_STATE.empty_table())
    about = f"name: {facts['scenario']}\nlevel: {facts['level']}\n"
    (directory / "scenario.yaml").write_text(about, encoding="utf-8")
    write_json(directory / "run.json", {**_info(history), **facts})


def _info(history: LoggedHistory) -> dict[str, Any]:
    load_ns, end_ns = history.loaded_ns, history.ended_ns
    return {
        "format": FORMAT,
        "seed": 0,
        "epoch_ns": history.epoch_ns,
        "status": "complete",
        "phases": {"load": [0, load_ns], "drain": [load_ns, max(load_ns, end_ns)]},
        "drained": history.drained,
        "queue": queue_info(history, shards={SHARD: history.zones[0]}, end_state=history.drained),
        "coordinators": {zone: {} for zone in history.zones},
        "segments": {"operations": 1, "faults": 1, "depth": 1},
        "doubts": history.doubts,
    }


def queue_info(history: LoggedHistory, *, shards: Mapping[str, str], end_state: bool) -> dict[str, Any]:
    """Return what ``run.json`` says of a queue that is known by its events alone."""
    return {
        "engine": ENGINE,
        "shards": dict(shards),
        "priorities": False,
        "end_state": end_state,
        "unstated": list(history.unstated),
        "instants": list(history.instants),
    }
