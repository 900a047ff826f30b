"""Compaction: many small files become one, so that tables over thousands of runs are read quickly."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from zonelab.analysis.tables.folder import SCHEMA, TABLES, TableFolder, content_hash, created_exclusively, put

SMALL_BYTES = 16 << 20
"""A file of fewer bytes than this is joined with its neighbours."""


def compact(folder: TableFolder, *, small_bytes: int = SMALL_BYTES) -> int:
    """Join the small files of each table and partition; returns how many there are fewer.

    The manifest tells the change in one file with the next number, created exclusively: if somebody else compacts at
    the same time, one of the two has done nothing. Only then are the old files deleted. Raises ``RunError``.
    """
    fewer, number = 0, len(folder.compactions()) + 1  # before any look at the files: see _joined
    for table in TABLES:
        for small in list(_small(folder, table, small_bytes)):
            try:
                if not _joined(folder, table, small, number=number):
                    return fewer
            except FileNotFoundError:  # who was quicker has deleted what we were reading
                return fewer
            fewer, number = fewer + len(small) - 1, number + 1
    return fewer


def _small(folder: TableFolder, table: str, small_bytes: int) -> Iterator[Sequence[Path]]:
    partitions: dict[Path, list[Path]] = defaultdict(list)
    for path in folder.files(table):
        if path.exists() and path.stat().st_size < small_bytes:
            partitions[path.parent].append(path)
    yield from (sorted(paths) for paths in partitions.values() if len(paths) > 1)


def _joined(folder: TableFolder, table: str, paths: Sequence[Path], *, number: int) -> bool:
    """Return False if there is a compaction of this ``number`` by now: ``paths`` may not be what counts any more.

    The number is a part of the file's name: what is given up then is no file that a compaction of another number has
    just made of the same rows.
    """
    with folder.staging() as staging:
        staged = staging / "joined.parquet"
        _write_joined(staged, paths)
        rows = pq.read_metadata(staged).num_rows
        final = paths[0].with_name(f"compacted-{number:06}-{content_hash(staged)}.parquet")
        put(staged, final)
    content = {
        "schema": SCHEMA,
        "table": table,
        "replaced": [folder.name_of(path) for path in paths],
        "file": {"name": folder.name_of(final), "rows": rows},
    }
    if not created_exclusively(folder.path / "manifest" / f"compaction-{number:06}.json", content):
        if final not in folder.files(table):
            final.unlink(missing_ok=True)
        return False
    for path in paths:
        path.unlink(missing_ok=True)
    return True


def _write_joined(staged: Path, paths: Sequence[Path]) -> None:
    with pq.ParquetWriter(staged, pq.read_schema(paths[0]), compression="zstd") as writer:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    writer.write_batch(batch)
