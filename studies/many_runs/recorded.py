"""The results of many runs, read from their file by who does not go on with them, for the index of all runs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.consistency.verdict import FORBIDDEN_OF
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT
from zonelab.analysis.run_index.many_runs import ManyRuns, SettingRow

_KINDS = ("hunt", "sweep")
_UNJUDGED = ("evaluate-", "limit-")
"""Evaluations count cases, searches for limits rates: neither says anything of verdicts."""

_FORBIDDEN = tuple(
    dict.fromkeys(map(str, (*FORBIDDEN_DEFAULT, *(name for each in FORBIDDEN_OF.values() for name in each))))
)


def result_files(runs: Path) -> list[Path]:
    """Every file of results with verdicts below ``runs``; links are not followed."""
    found = (path for depth in ("*.jsonl", "*/*.jsonl", "*/*/*.jsonl") for path in runs.glob(depth))
    judged = (path for path in found if not path.parent.name.startswith(_UNJUDGED))
    return sorted(path for path in judged if not path.is_symlink() and path.is_file())


def digest_of(path: Path) -> str:
    """Differs if the file was written to since."""
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}"


def counted(path: Path, *, place: str, digest: str) -> ManyRuns | None:
    """What the results in ``path`` sum up to; None if it is a file of something else.

    A last line that is cut off counts for nothing. Files without a first line about the environment are of older hunts.
    """
    try:
        lines = [json.loads(line) for line in path.read_bytes().rpartition(b"\n")[0].splitlines()]
        updated = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError) as error:
        return ManyRuns(
            place=place, digest=digest, kind=_kind(path), scenario=_scenario(path), problem=f"{path.name}: {error}"
        )
    header = lines[0] if lines and isinstance(lines[0], dict) and "environment" in lines[0] else None
    results = list(_results(lines if header is None else lines[1:]))
    if header is None and not results:
        return None
    return ManyRuns(
        place=place,
        digest=digest,
        kind=_kind(path),
        scenario=_scenario(path),
        experiment=str((header or {}).get("experiment", "")),
        program=_program((header or {}).get("environment", {})),
        updated_utc=f"{updated:%Y-%m-%dT%H:%M:%SZ}",
        rows=tuple(_rows(results)),
    )


def _kind(path: Path) -> str:
    kind = path.parent.name.partition("-")[0]
    return kind if kind in _KINDS else "study"


def _scenario(path: Path) -> str:
    return path.parent.parent.name if _kind(path) in _KINDS else path.stem


def _program(environment: Mapping[str, str]) -> str:
    """As ``run.json`` has it; with a queue of the user's own, a fingerprint over both."""
    parts = [value for name, value in sorted(environment.items()) if name.startswith("sources")]
    return parts[0] if len(parts) == 1 else sha256("\n".join(parts).encode()).hexdigest()[:16] if parts else ""


def _results(lines: Iterable[Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Setting, seed and result; a line of an older hunt is the result itself."""
    for line in lines:
        if isinstance(line, dict):
            result = line.get("result", line)
            violated = _violated(result) if isinstance(result, dict) else None
            if violated is not None and "seed" in line:
                yield str(line.get("setting", "")), int(line["seed"]), {**result, "violated": violated}


def _violated(result: Mapping[str, Any]) -> Mapping[str, int] | None:
    """Cases by forbidden class. A sweep tells all classes: of these the ones that are forbidden by default."""
    if isinstance(result.get("violated"), dict):
        return dict(result["violated"])
    cases = result.get("cases")
    if not isinstance(cases, dict):
        return None
    return {name: cases[name] for name in _FORBIDDEN if name in cases and result.get("valid") is False}


def _rows(results: Iterable[tuple[str, int, Mapping[str, Any]]]) -> Iterator[SettingRow]:
    by_setting: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for setting, seed, result in sorted(results, key=lambda one: one[:2]):
        by_setting.setdefault(setting, []).append((seed, result))
    for setting, shown in by_setting.items():
        failing: dict[str, list[int]] = {}
        for seed, result in shown:
            for name in result["violated"]:
                failing.setdefault(name, []).append(seed)
        yield SettingRow(
            setting=setting,
            runs=len(shown),
            judged=sum(_is_judged(result) for _, result in shown),
            failed=sum(bool(result["violated"]) or result.get("valid") is False for _, result in shown),
            failing={name: len(seeds) for name, seeds in failing.items()},
            first_seed={name: seeds[0] for name, seeds in failing.items()},
        )


def _is_judged(result: Mapping[str, Any]) -> bool:
    """Whether there is a verdict of true or false, and the run was the same twice if it was made twice."""
    if result["violated"] or result.get("valid") is False:
        return True
    lacking = any(result.get(name) for name in ("error", "problem", "difference"))
    return not lacking and result.get("valid", True) is True
