"""The table of order as its checker wants it: every column a plain number, -1 for null, so numpy can judge it whole."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.checkers.spill import Columns
from zonelab.analysis.runs.order import OrderKind

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS: Mapping[str, int] = {str(kind): code for code, kind in enumerate(OrderKind)}
OK, FAIL, INFO = range(3)
_OUTCOMES = {"ok": OK, "fail": FAIL, "info": INFO}

BITS = 40
"""Offsets and tokens are smaller than 2 to this power, so that one number holds a code and one of them."""

_CODED = ("group", "partition", "session", "producer", "status")
_PLAIN = ("index", "time_ns", "invoke_ns", "op_id", "epoch", "offset", "cursor", "attempt", "sequence")
_MORE = ("position", "until_ns")
TEXTS = ("key", "message_id")
EVENTS = pa.schema(
    [
        *(pa.field(name, pa.int64()) for name in (*_PLAIN, *_MORE, "kind", "outcome", *_CODED, "token")),
        *(pa.field(name, pa.string()) for name in TEXTS),
    ]
)


@dataclass(frozen=True, slots=True)
class StringNumbers:
    """Numbers for strings in the order of their first appearance; null is -1."""

    codes: dict[str, int] = field(default_factory=dict)

    def encode(self, column: pa.Array) -> Ints:
        """The number of each name in ``column``, -1 for none; a new name gets the next number."""
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        known = [self.codes.setdefault(name, len(self.codes)) for name in encoded.dictionary.to_pylist()]
        codes: Ints = np.array([*known, -1], dtype=np.int64)[pc.fill_null(encoded.indices, len(known)).to_numpy()]
        return codes

    def texts(self) -> list[str]:
        return list(self.codes)


@dataclass(frozen=True, slots=True)
class Books:
    """The names of one run, by column."""

    names: Mapping[str, StringNumbers] = field(default_factory=lambda: {name: StringNumbers() for name in _CODED})

    def text(self, column: str, code: int) -> str:
        return self.names[column].texts()[code] if code >= 0 else "-"

    def code(self, column: str, text: str) -> int:
        """-2, which no row has, for a text that no row has."""
        return self.names[column].codes.get(text, -2)

    def encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the table of order as ``EVENTS``; a moment began when it ended."""
        plain = {name: pc.fill_null(batch[name].cast(pa.int64()), -1) for name in (*_PLAIN, *_MORE)}
        columns = {
            **plain,
            "invoke_ns": pc.coalesce(batch["invoke_ns"], batch["time_ns"]),
            "kind": StringNumbers(dict(KINDS)).encode(batch["kind"]),
            "outcome": StringNumbers(dict(_OUTCOMES)).encode(batch["outcome"]),
            "token": ballots(batch),
            **{name: self.names[name].encode(batch[name]) for name in _CODED},
            **{name: batch[name] for name in TEXTS},
        }
        return pa.RecordBatch.from_pydict(columns, schema=EVENTS)


def ballots(batch: pa.RecordBatch) -> Ints:
    """(generation, token) as one number that compares like it; -1 without a token."""
    token = pc.fill_null(batch["token"], -1).to_numpy(zero_copy_only=False)
    generation = pc.fill_null(batch["generation"], 0).to_numpy(zero_copy_only=False)
    whole: Ints = np.where(token < 0, -1, (generation << BITS) + token)
    return whole


@dataclass(frozen=True, slots=True)
class Rows:
    """Events as arrays of equal length. ``token``: of ``ballots``; ``key``, ``message_id``: numbers within a part;
    ``place``: the number of its place in the run, -1 for none. A place is a partition as one group sees it.
    """

    index: Ints
    time_ns: Ints
    invoke_ns: Ints
    op_id: Ints
    epoch: Ints
    offset: Ints
    cursor: Ints
    attempt: Ints
    sequence: Ints
    position: Ints
    until_ns: Ints
    kind: Ints
    outcome: Ints
    group: Ints
    partition: Ints
    session: Ints
    producer: Ints
    status: Ints
    token: Ints
    key: Ints
    message_id: Ints
    place: Ints

    @classmethod
    def of(cls, events: Columns, texts: Mapping[str, StringNumbers], places: Ints) -> "Rows":
        """Return ``events``, as ``EVENTS``.

        ``texts``: the part's names of keys and messages, which grow. ``places``: of ``places_in``, those of the run.
        """
        columns = {name: events[name] for name in EVENTS.names if name not in TEXTS}
        for name in TEXTS:
            columns[name] = texts[name].encode(events[name])
        both = _group_and_partition(columns["group"], columns["partition"])
        return cls(**columns, place=np.where(both < 0, -1, np.searchsorted(places, both)))

    def where(self, mask: Bools | Ints) -> "Rows":
        chosen = np.flatnonzero(mask) if mask.dtype == np.bool_ else mask
        return Rows(*(getattr(self, name).take(chosen) for name in self.__slots__))

    def of_kind(self, *kinds: OrderKind, outcomes: Collection[int] = ()) -> "Rows":
        """Those of ``kinds``, and of ``outcomes`` if any are given."""
        mask = np.isin(self.kind, [KINDS[kind] for kind in kinds])
        return self.where(mask & np.isin(self.outcome, list(outcomes)) if outcomes else mask)

    @property
    def spot(self) -> Ints:
        """(partition, offset) as one number."""
        return self.partition << BITS | self.offset

    @property
    def message(self) -> Ints:
        """(place, offset) as one number."""
        return self.place << BITS | self.offset

    def __len__(self) -> int:
        return len(self.index)


def places_in(table: pa.RecordBatch) -> Ints:
    """The places that a batch of ``EVENTS`` names, each as one number, in order."""
    both = np.unique(_group_and_partition(table["group"].to_numpy(), table["partition"].to_numpy()))
    return both[both >= 0]


def _group_and_partition(group: Ints, partition: Ints) -> Ints:
    both: Ints = np.where((group < 0) | (partition < 0), -1, group << BITS | partition)
    return both
