"""A folder of tables: immutable Parquet files, and a manifest that says which of them count.

::

    format.json                                               the version of all this
    manifest/run-<run id>.json                                one a run: its files, with their rows
    manifest/compaction-000001.json …                         which files stand in for which others
    <table>/scenario=<name>/level=<level>/<run id>-<hash>.parquet
    following/<run id>/                                       of a run that goes on:
    ``zonelab.analysis.spark.following``

A file gets its name once it is whole and never changes; the hash is that of its content. A run counts from the moment
that its file of the manifest is there, which is created exclusively: whoever adds a run that is there adds nothing.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Any, Self
from urllib.parse import quote

import pyarrow.parquet as pq

from zonelab.analysis.runs.errors import RunError

SCHEMA = 1
TABLES = ("operations", "messages", "verdicts", "faults", "latency_counts")
_STAGING = ".writing-"


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFile:
    """``name``: below the folder of tables."""

    name: str
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEntry:
    """The entry of one run in the manifest. ``settings``: those of the run (``zonelab.analysis.runs.settings``)."""

    run_id: str
    place: str
    scenario: str
    level: str
    settings: Mapping[str, Any]
    files: Mapping[str, tuple[TableFile, ...]]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        files = {table: tuple(TableFile(**one) for one in found) for table, found in value["files"].items()}
        return cls(**{**{name: value[name] for name in cls.__slots__}, "files": files})

    def rows(self, table: str) -> int:
        return sum(file.rows for file in self.files[table])

    @property
    def partition(self) -> str:
        """The folders of its files in each table, as Spark, Hive and DuckDB read them."""
        return f"scenario={quote(self.scenario, safe=' ')}/level={quote(self.level, safe=' ')}"


@dataclass(frozen=True, slots=True)
class TableFolder:
    """The tables at ``path``. Whatever is wrong with them is a ``RunError`` of one line."""

    path: Path

    @classmethod
    def made(cls, path: Path) -> Self:
        """The folder, made if it is not there."""
        (path / "manifest").mkdir(parents=True, exist_ok=True)
        created_exclusively(path / "format.json", {"zonelab_tables": SCHEMA})
        return cls.opened(path)

    @classmethod
    def opened(cls, path: Path) -> Self:
        """The folder at ``path``. Raises ``RunError`` if it has no tables, or those of another version."""
        if not (path / "format.json").exists():
            raise RunError(f"{path}: not a folder of tables: it has no format.json")
        _of_this_schema(path / "format.json", _read(path / "format.json").get("zonelab_tables"))
        return cls(path.resolve())  # Spark works in another directory

    def entries(self) -> dict[str, RunEntry]:
        """By run id, what the manifest says of each run."""
        entries = {}
        for path in sorted((self.path / "manifest").glob("run-*.json")):
            value = _read(path)
            _of_this_schema(path, value.get("schema"))
            entries[str(value["run_id"])] = RunEntry.from_json(value)
        return entries

    def has(self, run_id: str) -> bool:
        return self._entry_path(run_id).exists()

    def files(self, table: str) -> list[Path]:
        """The files of ``table`` that count, each once. Raises ``RunError`` if one is missing."""
        names = self._names(table)
        while missing := [name for name in names if not (self.path / name).exists()]:
            before, names = names, self._names(table)
            if names == before:
                raise RunError(f"{self.path / missing[0]}: missing, though the manifest names it")
        return [self.path / name for name in names]

    def _names(self, table: str) -> list[str]:
        names = dict.fromkeys(file.name for entry in self.entries().values() for file in entry.files[table])
        for compaction in self.compactions():
            if compaction["table"] == table:
                for name in compaction["replaced"]:
                    names.pop(name, None)  # of a run that was entered after we looked
                names[compaction["file"]["name"]] = None
        return list(names)

    def compactions(self) -> list[Mapping[str, Any]]:
        """Return the compactions in the manifest, in their order."""
        return [_read(path) for path in sorted((self.path / "manifest").glob("compaction-*.json"))]

    def name_of(self, path: Path) -> str:
        """The name of one of its files, as the manifest has it."""
        return path.relative_to(self.path).as_posix()

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A place in the folder for files that are being written; what is left there afterwards is deleted."""
        place = Path(mkdtemp(prefix=_STAGING, dir=self.path))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def add(self, entry: RunEntry, staged: Mapping[str, Sequence[Path]]) -> bool:
        """Give the ``staged`` files of each table their names, then enter the run. False if it was there already.

        A crash before the entry leaves files that do not count.
        """
        files = {table: tuple(self._placed(table, entry, path) for path in staged.get(table, ())) for table in TABLES}
        value = asdict(entry) | {"schema": SCHEMA, "files": {t: [asdict(one) for one in f] for t, f in files.items()}}
        if created_exclusively(self._entry_path(entry.run_id), value):
            return True
        theirs = self.entries()[entry.run_id].files
        for table, placed in files.items():
            for file in set(placed) - set(theirs[table]):
                (self.path / file.name).unlink(missing_ok=True)
        return False

    def _placed(self, table: str, entry: RunEntry, staged: Path) -> TableFile:
        rows = pq.read_metadata(staged).num_rows
        name = f"{table}/{entry.partition}/{entry.run_id}-{content_hash(staged)}.parquet"
        put(staged, self.path / name)
        return TableFile(name=name, rows=rows)

    def _entry_path(self, run_id: str) -> Path:
        return self.path / "manifest" / f"run-{run_id}.json"


def content_hash(path: Path) -> str:
    """16 hexadecimal digits of the content of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:16]


def put(staged: Path, final: Path) -> None:
    """Give a file that is whole, and on disk, its name."""
    with staged.open("rb") as file:
        os.fsync(file.fileno())
    final.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(final)


def created_exclusively(path: Path, value: Mapping[str, Any]) -> bool:
    """Create ``path`` with all of its content, unless there is such a file already."""
    try:
        with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True, default=str)
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)
    except FileExistsError:
        return False
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: unreadable: {' '.join(str(error).split())}") from error
    return dict(value)


def _of_this_schema(path: Path, written: object) -> None:
    if not isinstance(written, int) or not 1 <= written <= SCHEMA:
        raise RunError(f"{path}: written by a newer zonelab, in schema {written}; this one reads up to {SCHEMA}")
