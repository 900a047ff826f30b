"""Which runs are meant by paths, patterns and URIs, and which of them can be used.

A run is a directory with a ``run.json``. Whatever else a pattern matches, such as a hunt, a counterexample or a page,
is no run and nothing is said of it. Links to a run, such as
``latest``, and copies of it are one run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from tempfile import mkdtemp
from typing import Self
from urllib.parse import unquote, urlparse

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import CutOff, RunError, TooNew
from zonelab.analysis.runs.history import FINAL_STATE, OPERATIONS
from zonelab.analysis.spark.storage import Storage

_BESIDE = ("run.json", "scenario.yaml", "verdict.json")
"""Files of a run that are copied from storage which only Spark can read."""

_STUDIES = {"hunt": "a hunt", "sweep": "a sweep", "limit": "a search for limits", "evaluate": "an evaluation"}
"""By the first word of a folder's name."""

_NO_QUEUE = "no queue"
_MISSING = "missing"
_RUNNING = "running"


class NoRunFound(RunError):
    """The inputs lead to no run at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInput:
    """A run that can be used. ``place``: its path or URI. ``directory``: the run, or a copy without its tables."""

    run_id: str
    place: str
    directory: RunDirectory
    rows: int

    def files(self, table: str) -> list[str]:
        """Paths or URIs of the files of ``table``, in the order of their rows."""
        root = self.directory.path
        return [f"{self.place}/{path.relative_to(root).as_posix()}" for path in self.directory.files(table)]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """An input that cannot be used. ``kind``: missing, broken, cut off, too new, running or no queue. ``why``: one
    line.
    """

    kind: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """``left_out``: by path or URI, what should be a run and cannot be used. ``counted``: folders of many runs."""

    runs: Sequence[RunInput]
    left_out: Mapping[str, LeftOut]
    counted: Sequence[Path] = ()

    def and_also(self, other: Self) -> Self:
        known = {run.run_id for run in self.runs}
        new = [run for run in other.runs if run.run_id not in known]
        counted = [*self.counted, *other.counted]
        return replace(self, runs=[*self.runs, *new], left_out={**self.left_out, **other.left_out}, counted=counted)

    def finished(self) -> Self:
        """These inputs without the runs that are still going on, of which more is to come."""
        going_on = [run for run in self.runs if run.directory.info.status == "running"]
        more = {run.place: LeftOut(kind=_RUNNING, why=f"{run.place}: the run is still going on") for run in going_on}
        return replace(self, runs=[run for run in self.runs if run not in going_on], left_out={**self.left_out, **more})

    def usable(self, *, strict: bool) -> Self:
        """These inputs. Raises ``RunError`` if there is no run, or, if ``strict``, one that is broken."""
        faulty = [left for left in self.left_out.values() if left.kind not in (_NO_QUEUE, _RUNNING)]
        if strict and faulty:
            raise RunError(f"{faulty[0].why} ({left_out_words(faulty)})")
        if not self.runs:
            why = "; ".join((*(left.why for left in self.left_out.values()), *_keep_no_runs(self.counted)))
            if all(left.kind == _MISSING for left in self.left_out.values()):
                raise NoRunFound(why or "no run was found: a run is a directory with a run.json, as runs/*/* names")
            raise RunError(why)
        return self


def left_out_words(left_out: Iterable[LeftOut]) -> str:
    """Return how many were left out, by kind: ``left out: 2 broken, 1 too new``."""
    kinds = Counter(left.kind for left in left_out)
    return "left out: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def is_remote(given: str | Path) -> bool:
    """Return whether only Spark can read it."""
    return "://" in str(given) and not str(given).startswith("file:")


def place_of(name: str) -> str:
    """The path or URI of a file that Spark calls ``name``, without escapes."""
    parts = urlparse(name)
    root = "" if parts.scheme in ("", "file") else f"{parts.scheme}://{parts.netloc}"
    return root + unquote(parts.path)


def find_runs(given: Iterable[str | Path], *, storage: Storage | None = None, copies: Path | None = None) -> Inputs:
    """The runs at these paths, patterns and URIs, in their order, each once.

    ``storage`` and ``copies``, a directory for what is copied from it, are for URIs that only Spark can read.
    """
    runs: dict[str, RunInput] = {}
    left_out: dict[str, LeftOut] = {}
    counted: list[Path] = []
    for one in given:
        try:
            places = _matching(one, storage)
        except RunError as error:
            left_out[str(one)] = _left_out(error)
            continue
        for place in places:
            try:
                found = _remote(place, storage, copies) if storage and is_remote(place) else _local(Path(place))
                if found is not None:
                    runs.setdefault(found.run_id, found)
                elif _study_in(Path(place)) is not None:
                    counted.append(Path(place))
            except RunError as error:
                left_out[place] = _left_out(error)
    return Inputs(runs=list(runs.values()), left_out=left_out, counted=counted)


def _study_in(folder: Path) -> str | None:
    """The study of many runs whose results ``folder`` holds; None if it holds none."""
    study = _STUDIES.get(folder.resolve().name.partition("-")[0])
    return study if study is not None and any(folder.glob("*.jsonl")) else None


def _keep_no_runs(counted: Sequence[Path]) -> Iterator[str]:
    for folder in counted[:1]:
        kept = f"{folder}: {_study_in(folder)} keeps no runs, only what it counted"
        yield f"{kept}; accepted: run directories, as zonelab run and zonelab replay make them"


def _left_out(error: RunError) -> LeftOut:
    return LeftOut(kind=_KINDS.get(type(error), "broken"), why=str(error))


def _matching(given: str | Path, storage: Storage | None) -> list[str]:
    if storage and is_remote(given):
        places = storage.matching(str(given))
    else:
        path = place_of(str(given)) if str(given).startswith("file:") else str(given)
        places = [path] if Path(path).exists() else sorted(glob(path))
    if not places:
        raise NoRunFound(f"{given}: no such file or directory")
    return places


def _local(path: Path) -> RunInput | None:
    if not (path / "run.json").exists() and not (path / "history").is_dir():
        return None
    run = RunDirectory.open(path)
    _must_have_queue(run)
    run.final_state_rows()
    run.must_be_as_written("operations", OPERATIONS)
    if run.final_state_known:
        run.must_be_as_written("final_state", FINAL_STATE)
    if not run.files("operations"):
        if run.info.status == "running":
            raise _NothingYet(f"{run.path}: the run is still going on, and no operation is on record yet")
        raise RunError(f"{run.path}: no operation is on record")
    return RunInput(run_id=run.info.run_id, place=str(run.path), directory=run, rows=run.operation_rows())


def _remote(place: str, storage: Storage, copies: Path | None) -> RunInput | None:
    names = storage.names(place)
    if "run.json" not in names and "history" not in names:
        return None
    copy = Path(mkdtemp(dir=copies))
    (copy / "history").mkdir()
    for name in (*names, *(f"history/{name}" for name in storage.names(f"{place}/history"))):
        if name in _BESIDE:
            (copy / name).write_bytes(storage.content(f"{place}/{name}"))
        elif ".parquet" in name:
            (copy / name).touch()
    try:
        run = RunDirectory.open(copy)
    except RunError as error:
        raise type(error)(str(error).replace(str(copy.resolve()), place)) from error
    _must_have_queue(run, place=place)
    found = RunInput(run_id=run.info.run_id, place=place, directory=run, rows=0)
    for file in found.files("final_state"):
        storage.parquet_rows(file)
    return replace(found, rows=sum(map(storage.parquet_rows, found.files("operations"))))


class _NotOfQueue(RunError):
    """The clients of the run used no queue."""


class _NothingYet(RunError):
    """The run has just begun."""


_KINDS = {_NothingYet: _RUNNING, CutOff: "cut off", TooNew: "too new", NoRunFound: _MISSING, _NotOfQueue: _NO_QUEUE}


def _must_have_queue(run: RunDirectory, *, place: str | None = None) -> None:
    if run.info.session is not None:
        raise _NotOfQueue(f"{place or run.path}: a session of zonelab up, which has no messages")
    if run.info.workload is not None:
        raise _NotOfQueue(f"{place or run.path}: its clients used no queue but {run.info.workload.kind}s")
