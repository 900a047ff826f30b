"""Cases of message classes as columns: all of them in a file, the first few of each in memory."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.checkers.findings import Findings
from zonelab.analysis.checkers.judgement import FIRST_CASES, Case
from zonelab.analysis.checkers.queue.events import Ints
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.errors import reading

OFFENDERS = pa.schema(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("message_id", pa.string(), nullable=False),
        pa.field("index", pa.int64()),
        pa.field("delivery", pa.int64()),
        pa.field("zone", pa.string()),
        pa.field("detail", pa.string(), nullable=False),
    ]
)
OFFENDERS_NAME = "offenders.parquet"


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases of one class as columns of equal length; ``None``: the column does not apply to the class."""

    ids: pa.Array
    index: Ints | None = None
    delivery: Ints | None = None
    zone: Sequence[str] | None = None
    detail: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Ints) -> "Cases":
        return Cases(
            self.ids.take(pa.array(rows)),
            None if self.index is None else self.index[rows],
            None if self.delivery is None else self.delivery[rows],
            None if self.zone is None else [self.zone[row] for row in rows],
            None if self.detail is None else [self.detail[row] for row in rows],
        )


class MessageFindings(Findings):
    """Findings in columns, of which there may be millions."""

    def add(self, name: MessageClass, cases: Cases) -> None:
        """Count ``cases`` under ``name`` and keep the first ones, unless the queue does not promise it."""
        if len(cases) and name not in self.not_judged:
            self.count(name, len(cases))
            self.keep(name, _cases(_candidates(cases)))


class OffenderFile(MessageFindings):
    """All cases in ``offenders.parquet`` of a run. The order of its rows is not specified.

    It appears when closed whole.
    """

    def __init__(self, run: Path, *, not_judged: Collection[MessageClass] = ()) -> None:
        super().__init__(not_judged=not_judged)
        self.run = run
        self._writer = pq.ParquetWriter(self._partial, OFFENDERS, compression="zstd", write_page_checksum=True)

    @property
    def _partial(self) -> Path:
        return self.run / (OFFENDERS_NAME + ".partial")

    def add(self, name: MessageClass, cases: Cases) -> None:
        super().add(name, cases)
        if len(cases) and name not in self.not_judged:
            self._writer.write_table(_table(name, cases))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        if error is None:
            self._partial.replace(self.run / OFFENDERS_NAME)
        else:
            self._partial.unlink(missing_ok=True)


def cases_of_message(run: Path, message_id: str) -> tuple[tuple[str, Case], ...]:
    """Return every case of one message in a run that was checked, beside its class. Raises ``RunError``."""
    with reading(run / OFFENDERS_NAME, pa.ArrowException) as path:
        rows = pq.read_table(path, filters=[("message_id", "=", message_id)]).to_pylist()
    return tuple((row.pop("class"), Case(**row)) for row in rows)


def _table(name: MessageClass, cases: Cases) -> pa.Table:
    count = len(cases)
    columns = {
        "class": pa.repeat(str(name), count),
        "message_id": cases.ids,
        "index": pa.nulls(count, pa.int64()) if cases.index is None else pa.array(cases.index),
        "delivery": pa.nulls(count, pa.int64()) if cases.delivery is None else pa.array(cases.delivery),
        "zone": pa.nulls(count, pa.string()) if cases.zone is None else pa.array(cases.zone, pa.string()),
        "detail": pa.repeat("", count) if cases.detail is None else pa.array(cases.detail, pa.string()),
    }
    return pa.table(columns, schema=OFFENDERS)


def _candidates(cases: Cases) -> Cases:
    """Those of ``cases`` that may be among the first: all if the order does not go by index."""
    if cases.index is None or len(cases) <= FIRST_CASES:
        return cases
    limit = np.partition(cases.index, FIRST_CASES - 1)[FIRST_CASES - 1]
    return cases.take(np.flatnonzero(cases.index <= limit))


def _cases(cases: Cases) -> Iterable[Case]:
    for row, message_id in enumerate(cases.ids.to_pylist()):
        yield Case(
            message_id=message_id,
            index=None if cases.index is None else int(cases.index[row]),
            delivery=None if cases.delivery is None else int(cases.delivery[row]),
            zone=None if cases.zone is None else cases.zone[row],
            detail="" if cases.detail is None else cases.detail[row],
        )
