"""One evaluation as the index has it: its answer, which is no verdict on runs and so no finding."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_FILE = "evaluate.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationLine:
    """``place``: of its folder, below that of runs. ``exit_code``: as of the verb. ``runs``: of each setting.

    ``problem``: why it cannot be read.
    """

    place: str
    scenario: str
    answer: str = ""
    exit_code: int = 2
    settings: int = 0
    runs: int = 0
    updated_utc: str = ""
    command: str = ""
    problem: str | None = None


def evaluation_lines(folder: Path) -> Iterator[EvaluationLine]:
    """Return the evaluations in ``folder``, the newest first; links are not followed."""
    found = [path for path in folder.glob(f"*/evaluate-*/{_FILE}") if not path.is_symlink()]
    for path in sorted(found, key=lambda path: (path.stat().st_mtime, path), reverse=True):
        place, scenario = path.parent.relative_to(folder).as_posix(), path.parent.parent.name
        updated = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            yield EvaluationLine(
                place=place,
                scenario=value["scenario"],
                answer=value["answer"],
                exit_code=value["exit_code"],
                settings=len(value["settings"]),
                runs=sum(value["runs"].values()),
                updated_utc=f"{updated:%Y-%m-%dT%H:%M:%SZ}",
                command=value["command"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            yield EvaluationLine(place=place, scenario=scenario, problem=f"{_FILE}: {error or type(error).__name__}")
