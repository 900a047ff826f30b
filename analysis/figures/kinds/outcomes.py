"""Lost and doubled messages of runs, beside the runs' settings: from run directories, or from a sweep."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.settings import settings_of
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.analysis.yaml_text import read_yaml

SWEEP_RESULTS = "results.jsonl"
"""File that ``zonelab sweep`` writes: a line a setting and seed; the first line says what made them."""

_NAMED = re.compile(r"(?:^| )([\w.\[\]]+)=")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCounts:
    """Counts of one run. ``settings`` by name, ``counts`` by message class."""

    settings: Mapping[str, Any]
    seed: int
    counts: Mapping[str, int]
    delivered: int
    acknowledged: int


def outcomes_of(runs: Sequence[RunDirectory]) -> list[RunCounts]:
    """The outcomes of ``runs``; those that never were are checked. Raises ``RunError``."""
    found = []
    for run in runs:
        verdict = load_verdict(run)
        found.append(
            RunCounts(
                settings=settings_of(run),
                seed=run.info.seed,
                counts=verdict.counts,
                delivered=verdict.totals.delivered,
                acknowledged=verdict.totals.acknowledged,
            )
        )
    return found


def outcomes_of_sweep(folder: Path) -> list[RunCounts]:
    """The outcomes of a sweep, those without a verdict left out; messages are those pushed. Raises ``RunError``."""
    path, found = folder / SWEEP_RESULTS, []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last is cut off, or nothing
        for line in map(json.loads, lines[1:]):
            result = line["result"]
            if result["valid"] is None:
                continue
            counts, messages = defaultdict(int, result["cases"]), result["messages"]
            settings = _settings(line["setting"])
            found.append(
                RunCounts(
                    settings=settings, seed=line["seed"], counts=counts, delivered=messages, acknowledged=messages
                )
            )
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RunError(f"{path}: not the results of a sweep: {' '.join(str(error).split())}") from error
    if not found:
        raise RunError(f"{path}: no runs with a verdict: nothing to draw")
    return found


def _settings(name: str) -> dict[str, Any]:
    """Return the values in the name of a setting by their paths: ``level=DC_ONE queue.unack_ms=500`` has two."""
    _, *parts = _NAMED.split(name)
    return {path: read_yaml(value) for path, value in zip(parts[::2], parts[1::2], strict=True)}
