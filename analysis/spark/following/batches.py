"""Counts up to each batch, on disk: each batch once, however often Spark hands it over.

::

    <tables>/following/<run id>/checkpoint/             Spark's own: which segments each batch has
    <tables>/following/<run id>/batch-000012/           what is counted of batches 0 to 12; the last two are kept

A batch gets its name when it is whole. Spark repeats a batch of which it has not heard that it was done; if the batch
is there, it is passed over, otherwise it is added to the one before.
"""

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.spark.from_tables import COUNTS
from zonelab.analysis.tables.folder import TableFolder

_KEPT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Through:
    """Position up to which the batches reach. ``events`` of the run are counted, the last of them at ``last_index``
    (from 0).
    """

    events: int = 0
    last_index: int = -1
    last_ns: int = 0

    @property
    def twice(self) -> bool:
        """Events are numbered, so more of them than numbers were counted more than once."""
        return self.events > self.last_index + 1


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of one run at ``path``."""

    path: Path

    @classmethod
    def of(cls, folder: TableFolder, run_id: str) -> "Batches":
        """Begun anew unless Spark's checkpoint is there, without which the numbers of batches mean nothing."""
        path = folder.path / "following" / run_id
        if not (path / "checkpoint").exists():
            shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock on this run. Raises ``RunError`` if another process follows it into the same tables."""
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(f"{self.path}: another zonelab follows this run into these tables") from None
            yield

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    def last(self) -> int:
        """The number of the last batch; -1 if there is none."""
        return max((int(path.name.rpartition("-")[2]) for path in self.path.glob("batch-*[0-9]")), default=-1)

    def through(self, batch: int) -> Through:
        """Raises ``RunError`` if the batch is not there. Before batch 0 nothing is counted."""
        if batch < 0:
            return Through()
        try:
            return Through(**json.loads((self._batch(batch) / "through.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{self._batch(batch)}: missing or unreadable: delete {self.path} to begin anew") from error

    def counts(self, batch: int) -> pa.Table:
        """Columns as in ``zonelab.analysis.spark.from_tables.COUNTS``."""
        return COUNTS.empty_table() if batch < 0 else pq.ParquetFile(self._batch(batch) / "counts.parquet").read()

    def waiting(self, batch: int) -> list[str]:
        """The files of the messages that wait."""
        return [str(path) for path in sorted((self._batch(batch) / "waiting").glob("*.parquet"))]

    @contextmanager
    def added(self, batch: int) -> Iterator[Path]:
        """A folder for the files of a batch, which has its name once all of them are there."""
        staging = self.path / f"batch-{batch:06}.partial"
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        yield staging
        staging.replace(self._batch(batch))
        for number in range(self.last() - _KEPT + 1):
            shutil.rmtree(self._batch(number), ignore_errors=True)

    def delete(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _batch(self, batch: int) -> Path:
        return self.path / f"batch-{batch:06}"


def write_counts(staging: Path, *, counts: pa.Table, through: Through) -> None:
    pq.write_table(counts, staging / "counts.parquet", compression="zstd")
    (staging / "through.json").write_text(json.dumps(asdict(through)), encoding="utf-8")
