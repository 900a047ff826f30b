"""The results so far, in a file: runs that were broken off, by SIGKILL or by Ctrl-C, go on where they were.

JSON, one line each: first the fingerprint of the experiment and its environment, then a line a task that has a result.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from zonelab.analysis.observation import Observation
from zonelab.cluster.process.file_lock import locked
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.task import FinishedTask, Key

RESULTS_NAME = "results.jsonl"


class RunState:
    """The file is begun anew if it is of another experiment or environment. Only one program can write it at a time.

    ``experiment``: differs whenever a task of the same name could show something else. Failed tasks are not kept, so
    they are run again. Raises ``OSError``, or ``NotAccepted`` if another program is writing.
    """

    def __init__(self, path: Path, *, environment: Environment, experiment: str = "") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = _locked(path)
        header = {"experiment": experiment, "environment": dict(environment.parts)}
        self.results: dict[Key, Observation] = {}
        lines = self._whole_lines()
        if next(lines, None) == header:
            self.results = dict(self._known(lines))
        else:
            self._file.truncate(0)
            self._write(header)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Also after a write that failed, whose rest cannot be written either."""
        if error is None:
            self._file.close()
        else:
            with suppress(OSError):
                self._file.close()

    def add(self, finished: FinishedTask[Observation]) -> None:
        """Keep the result of a run in the file, so that the same command need not make it again."""
        if finished.result is not None:
            setting, seed = finished.key
            self.results[finished.key] = finished.result
            self._write({"setting": setting, "seed": seed, "result": finished.result.to_json()})

    def forget_lost(self) -> None:
        """Drop the results whose run directories are gone: their runs are made again."""
        lost = [key for key, one in self.results.items() if one.directory and not Path(one.directory).is_dir()]
        for key in lost:
            del self.results[key]

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(value).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            error.filename = str(self.path)
            raise

    def _whole_lines(self) -> Iterator[Any]:
        """A last line without its end is cut off: its task is run again."""
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        for line in whole.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                yield None

    def _known(self, lines: Iterator[Any]) -> Iterator[tuple[Key, Observation]]:
        for line in lines:
            if isinstance(line, dict):
                yield (line["setting"], line["seed"]), Observation.from_json(line["result"])


def _locked(path: Path) -> BinaryIO:
    file = path.open("a+b")
    if not locked(file.fileno()):
        file.close()
        raise NotAccepted(f"{path}: in use by another zonelab process; try again when it has finished")
    return file
