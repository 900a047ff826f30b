"""Rows too many for memory, split by a hash of their message id into temporary files that fit one at a time."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zonelab.analysis.id_hashes import id_hashes

Columns = Mapping[str, Any]
"""Rows by column, in arrays of equal length: strings in one of Arrow, all else in one of numpy."""


def columns_of(table: pa.Table) -> Columns:
    """Return the rows of ``table``, which has no null but in strings."""
    return {
        field.name: column.combine_chunks() if pa.types.is_string(field.type) else column.to_numpy()
        for field, column in zip(table.schema, table.columns, strict=True)
    }


def partition_by_id(ids: pa.Array, partitions: int) -> NDArray[np.int64]:
    """The partition of each id, by ``zonelab.analysis.id_hashes``: the same in every process."""
    if partitions == 1:
        return np.zeros(len(ids), dtype=np.int64)
    encoded = ids.dictionary_encode()
    hashes = id_hashes(encoded.dictionary.to_numpy(zero_copy_only=False), count=len(encoded.dictionary))
    wanted: NDArray[np.int64] = (hashes % partitions)[encoded.indices.to_numpy()]
    return wanted


class Spill:
    """Rows of one schema divided over ``partitions`` Arrow files in ``directory``, read back one partition at a time.

    Rows keep their order within a partition. With one partition nothing touches the disk.
    """

    def __init__(self, directory: Path, name: str, schema: pa.Schema, *, partitions: int) -> None:
        self._schema = schema
        self._paths = [directory / f"{name}-{number}.arrow" for number in range(partitions)]
        self._kept: list[Columns] = []
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []
        if partitions > 1:
            self._writers = [pa.ipc.new_stream(str(path), schema) for path in self._paths]

    def add(self, rows: Columns, partition: NDArray[np.int64]) -> None:
        """Keep ``rows``, each in the file of its ``partition``; in memory if there is one only."""
        if not self._writers:
            self._kept.append(rows)
            return
        order = np.argsort(partition, kind="stable")
        grouped = pa.RecordBatch.from_pydict(dict(rows), schema=self._schema).take(pa.array(order))
        bounds = np.searchsorted(partition[order], np.arange(len(self._writers) + 1))
        for writer, begin, end in zip(self._writers, bounds[:-1], bounds[1:], strict=True):
            if end > begin:
                writer.write_batch(grouped.slice(begin, end - begin))

    def partitions(self) -> Iterator[Columns]:
        """Yield the rows of each partition; its file is removed once read."""
        if not self._writers:
            yield self._kept[0] if len(self._kept) == 1 else self._joined()
            return
        self.close()
        for path in self._paths:
            with pa.OSFile(str(path)) as source:
                table = pa.ipc.open_stream(source).read_all()
            path.unlink()
            yield columns_of(table)

    def _joined(self) -> Columns:
        joined = {}
        for field in self._schema:
            parts = [rows[field.name] for rows in self._kept]
            if pa.types.is_string(field.type):
                joined[field.name] = pa.chunked_array(parts, field.type).combine_chunks()
            else:
                joined[field.name] = np.concatenate([np.empty(0, field.type.to_pandas_dtype()), *parts])
        return joined

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
