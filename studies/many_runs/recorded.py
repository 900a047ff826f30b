"""The results of many runs, read from their file for the index of all runs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from zonelab.analysis.observation import Observation
from zonelab.analysis.run_index.many_runs import ManyRuns, SettingRow

_KINDS = ("hunt", "sweep", "matrix", "ablate")
_LEFT_OUT = ("evaluate-", "limit-", "engines-")
"""Evaluations count cases, searches for limits rates: neither says anything of verdicts. Runs of engines are in the
index by their own directories.
"""


def result_files(runs: Path) -> list[Path]:
    """Every file of results with verdicts below ``runs``; links are not followed."""
    found = (path for depth in ("*.jsonl", "*/*.jsonl", "*/*/*.jsonl") for path in runs.glob(depth))
    judged = (path for path in found if not path.parent.name.startswith(_LEFT_OUT))
    return sorted(path for path in judged if not path.is_symlink() and path.is_file())


def digest_of(path: Path) -> str:
    """Differs if the file was written to since."""
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}"


def counted(path: Path, *, place: str, digest: str) -> ManyRuns | None:
    """Return what the results in ``path`` sum up to; None if it is a file of something else.

    A last line that is cut off counts for nothing.
    """
    try:
        lines = [json.loads(line) for line in path.read_bytes().rpartition(b"\n")[0].splitlines()]
        updated = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError) as error:
        return ManyRuns(
            place=place, digest=digest, kind=_kind(path), scenario=_scenario(path), problem=f"{path.name}: {error}"
        )
    header = lines[0] if lines and isinstance(lines[0], dict) else {}
    if "environment" not in header:
        return None
    return ManyRuns(
        place=place,
        digest=digest,
        kind=_kind(path),
        scenario=_scenario(path),
        experiment=str(header.get("experiment", "")),
        program=_program(header["environment"]),
        updated_utc=f"{updated:%Y-%m-%dT%H:%M:%SZ}",
        rows=tuple(_rows(_results(lines[1:]))),
    )


def _kind(path: Path) -> str:
    kind = path.parent.name.partition("-")[0]
    return kind if kind in _KINDS else "study"


def _scenario(path: Path) -> str:
    return path.parent.parent.name if _kind(path) in _KINDS else path.stem


def _program(environment: Mapping[str, str]) -> str:
    """Return the program as ``run.json`` has it; with a queue of the user's own, a fingerprint over both."""
    parts = [value for name, value in sorted(environment.items()) if name.startswith("sources")]
    return parts[0] if len(parts) == 1 else sha256("\n".join(parts).encode()).hexdigest()[:16] if parts else ""


def _results(lines: Iterable[Any]) -> Iterator[tuple[str, int, Observation]]:
    for line in lines:
        if isinstance(line, dict) and "result" in line:
            yield str(line["setting"]), int(line["seed"]), Observation.from_json(line["result"])


def _rows(results: Iterable[tuple[str, int, Observation]]) -> Iterator[SettingRow]:
    by_setting: dict[str, dict[int, Observation]] = {}
    for setting, seed, observation in sorted(results, key=lambda one: one[:2]):
        by_setting.setdefault(setting, {})[seed] = observation
    for setting, runs in by_setting.items():
        failing: dict[str, list[int]] = {}
        for seed, one in runs.items():
            for name in one.violated:
                failing.setdefault(name, []).append(seed)
        yield SettingRow(
            setting=setting,
            runs=len(runs),
            judged=sum(one.is_decided for one in runs.values()),
            failed=sum(one.valid is False for one in runs.values()),
            failing={name: len(seeds) for name, seeds in failing.items()},
            first_seed={name: seeds[0] for name, seeds in failing.items()},
        )
