"""``index.json`` of a folder of runs: one line a run, what many runs sum up to, and the findings.

The file is its own cache: what it says of a run is taken over for as long as the run's files have the same digest,
wherever the run has been moved to, so a further run costs the reading of its files, and of the digests of the others.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from zonelab.analysis.run_index.evaluation_line import EvaluationLine, evaluation_lines
from zonelab.analysis.run_index.expected import Expectations
from zonelab.analysis.run_index.findings import RULES, Finding, collected, findings
from zonelab.analysis.run_index.many_runs import ManyRuns
from zonelab.analysis.run_index.run_line import RunLine, digest_of, line_of
from zonelab.analysis.stages import Stage, unheard

FORMAT = 3
"""Changes whenever the same files of a run would make another line: then nothing is taken over."""

JSON_NAME = "index.json"
PAGE_NAME = "index.html"
_LEFT_BY_A_LAB = ("lab.log", "history", "scenario.yaml")
"""A directory with one of these is that of a run, whether or not its ``run.json`` was written."""

ReadMany = Callable[[Path, Mapping[str, ManyRuns]], Sequence[ManyRuns]]
"""Reader of what a folder of runs has besides single runs, given what is known by place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """``runs``: the newest first, broken ones last. ``read``: so many lines were made now, and not taken over."""

    folder: Path
    runs: tuple[RunLine, ...]
    many: tuple[ManyRuns, ...]
    findings: tuple[Finding, ...]
    read: int
    evaluations: tuple[EvaluationLine, ...] = ()

    @property
    def broken(self) -> list[RunLine]:
        return [line for line in self.runs if line.problem is not None]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "runs": [line.to_json() for line in self.runs],
            "many_runs": [asdict(one) for one in self.many],
            "evaluations": [asdict(one) for one in self.evaluations],
            "findings": [asdict(one) for one in self.findings],
            "rules": {str(status): words for status, words in RULES.items()},
        }


def read_index(folder: Path, read_many: ReadMany, *, today: date, stage: Stage = unheard) -> Index:
    """Return the index of ``folder``; on ``today`` an entry of ``expected.yaml`` may have ended.

    Raises ``OSError``, and ``RunError`` if ``expected.yaml`` is wrong.
    """
    expectations = Expectations.of(folder, today=today)
    known = _known(folder / JSON_NAME)
    lines, read = [], 0
    directories = list(run_directories(folder))
    for number, run in enumerate(directories, start=1):
        place = run.relative_to(folder).as_posix()
        digest = digest_of(run)
        before = known.runs.get((digest, "")) or known.runs.get((digest, place))
        # Whether a run still goes on depends on its process, not on its files alone.
        if before is None or before.status == "running":
            before, read = line_of(run, place=place, digest=digest), read + 1
        lines.append(before if before.place == place else replace(before, place=place))
        stage("runs", number, len(directories))
    many = read_many(folder, known.many)
    ordered = sorted(lines, key=lambda line: (line.problem is None, line.started_utc, line.place), reverse=True)
    return Index(
        folder=folder,
        runs=tuple(ordered),
        many=tuple(many),
        findings=tuple(findings(collected(lines, many), expectations)),
        read=read,
        evaluations=tuple(evaluation_lines(folder)),
    )


def run_directories(folder: Path) -> Iterator[Path]:
    """The directories of runs in ``folder``, links left out: one level below it, or two as zonelab makes them."""
    for outer in sorted(_directories(folder)):
        if is_run(outer):
            yield outer
        else:
            yield from (inner for inner in sorted(_directories(outer)) if is_run(inner))


def _directories(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        yield from (Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False))


def is_run(directory: Path) -> bool:
    return (directory / "run.json").exists() or any((directory / name).exists() for name in _LEFT_BY_A_LAB)


@dataclass(frozen=True, slots=True)
class _Known:
    """Entries of the earlier index: of runs by digest, and by place where the digest has no run id in it."""

    runs: Mapping[tuple[str, str], RunLine]
    many: Mapping[str, ManyRuns]


def _known(path: Path) -> _Known:
    """Nothing if there is no index, or if another version wrote it: then all is read anew."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["format"] == FORMAT:
            runs, many = map(RunLine.from_json, value["runs"]), map(ManyRuns.from_json, value["many_runs"])
            by_digest = {(line.digest, "" if line.run_id else line.place): line for line in runs}
            return _Known(by_digest, {one.place: one for one in many})
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return _Known({}, {})
