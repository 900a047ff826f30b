"""The history as the queue checker wants it: one row per event and message, every column a plain number.

Codes replace category strings, ``ABSENT`` replaces null, so that whole partitions can be judged with numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.checkers.spill import Columns
from zonelab.analysis.runs.history import MessageColumns

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Values: TypeAlias = pa.Array | list[Any]
"""A column of the rows of a run: an array of Arrow, or Python's values where a run is in memory."""

Number = TypeVar("Number", bound=np.generic)

ABSENT = int(np.iinfo(np.int64).min)

PUSH, POP, ACK, EXTEND, OTHER = range(5)
INVOKE, OK, FAIL, INFO = range(4)
_F = {"push": PUSH, "pop": POP, "ack": ACK, "extend": EXTEND}
_TYPE = {"invoke": INVOKE, "ok": OK, "fail": FAIL, "info": INFO}


class EventColumn(Generic[Number]):
    """A column of ``EventRows``: an array with an entry for each row."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, rows: "EventRows", owner: type) -> NDArray[Number]:
        return rows.column(self._name)


class EventRows:
    """Events of one partition as arrays of equal length; ``message``: position of the row's id among the ids.

    A field that ``zonelab.analysis.runs.history.MessageColumns`` has, too, is that column of the history. Rows chosen
    by ``where`` take a column from the rows that they were chosen from when it is first read: most never are.
    """

    message = EventColumn[np.int64]()
    index = EventColumn[np.int64]()
    time_ns = EventColumn[np.int64]()
    invoke_ns = EventColumn[np.int64]()
    op_id = EventColumn[np.int64]()
    delivery = EventColumn[np.int64]()
    due_ms = EventColumn[np.int64]()
    lease_start_ms = EventColumn[np.int64]()
    leased_ms = EventColumn[np.int64]()
    lease_end_ms = EventColumn[np.int64]()
    lease_ms = EventColumn[np.int64]()
    body = EventColumn[np.int64]()
    program = EventColumn[np.int32]()
    zone = EventColumn[np.int16]()
    shard = EventColumn[np.int16]()
    priority = EventColumn[np.int16]()
    f = EventColumn[np.int8]()
    type = EventColumn[np.int8]()

    def __init__(
        self, columns: Mapping[str, NDArray[Any]], *, chosen_from: "tuple[EventRows, Ints] | None" = None
    ) -> None:
        self._columns = dict(columns)
        self._replaced = bool(columns)
        self._chosen_from = chosen_from

    def column(self, name: str) -> NDArray[Any]:
        """Return the column called ``name``."""
        known = self._columns.get(name)
        if known is None:
            assert self._chosen_from is not None, name
            rows, chosen = self._chosen_from
            known = self._columns[name] = rows.column(name)[chosen]
        return known

    def where(self, chosen: Bools | Ints, **columns: NDArray[Any]) -> "EventRows":
        """Return the ``chosen`` rows, by a mask or by their numbers in the wanted order, with ``columns`` in place of
        their own.
        """
        numbers: Ints = chosen.nonzero()[0] if chosen.dtype == np.bool_ else chosen  # type: ignore[assignment]
        if self._chosen_from is None or self._replaced:
            return EventRows(columns, chosen_from=(self, numbers))
        rows, before = self._chosen_from
        return EventRows(columns, chosen_from=(rows, before[numbers]))

    def completions(self) -> "EventRows":
        """Without the invocations; but one that nothing completed for its message stays, as what it is: in doubt."""
        invoked = self.type == INVOKE
        pair = self.op_id * (int(self.message.max(initial=0)) + 1) + self.message
        in_doubt = invoked & ~np.isin(pair, pair[~invoked])
        kept = ~invoked | in_doubt
        return self.where(kept, type=np.where(in_doubt, np.int8(INFO), self.type)[kept])

    def __len__(self) -> int:
        return len(self._columns["message"]) if self._chosen_from is None else len(self._chosen_from[1])


_CODED = ("shard", "priority", "delivery")
_NAMES = tuple(name for name, value in vars(EventRows).items() if isinstance(value, EventColumn))
_PLAIN = tuple(name for name in MessageColumns._fields if name in _NAMES and name not in _CODED)
HISTORY_COLUMNS = (
    *("index", "time_ns", "invoke_ns", "process", "zone", "f", "type", "op_id", "message_id"),
    *(*_CODED, *_PLAIN),
)
_NARROW = {
    "program": pa.int32(),
    **dict.fromkeys(("zone", "shard", "priority"), pa.int16()),
    **dict.fromkeys(("f", "type"), pa.int8()),
}
EVENTS = pa.schema(
    [
        pa.field("message_id", pa.string()),
        *(pa.field(name, _NARROW.get(name, pa.int64())) for name in _NAMES[1:]),
    ]
)
STATE_COLUMNS = ("zone", "shard", "place", "message_id", "serving")
STATES = pa.schema(
    [
        pa.field("message_id", pa.string()),
        *(pa.field(name, pa.int16()) for name in ("zone", "shard")),
        pa.field("place", pa.int8()),
        pa.field("serving", pa.bool_()),
    ]
)
PLACES = ("queue", "unack", "payload", "dead")
QUEUE, UNACK, PAYLOAD, DEAD = range(len(PLACES))


@dataclass(frozen=True, slots=True)
class NameTable:
    """Small integers for strings, in order of first appearance; null is -1."""

    codes: dict[str, int] = field(default_factory=dict)

    def encode(self, column: Values) -> NDArray[np.int32]:
        """Return the number of each name in ``column``, -1 for none; a new name gets the next number."""
        if isinstance(column, list):
            named = self.codes
            return np.array([-1 if name is None else named.setdefault(name, len(named)) for name in column], np.int32)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        known = [self.codes.setdefault(name, len(self.codes)) for name in encoded.dictionary.to_pylist()]
        codes = np.array([*known, -1], dtype=np.int32)
        coded: NDArray[np.int32] = codes[pc.fill_null(encoded.indices, len(known)).to_numpy()]
        return coded

    def __getitem__(self, code: int) -> str | None:
        return list(self.codes)[code] if code >= 0 else None


def event_columns(batch: Mapping[str, Values], *, zones: NameTable, shards: NameTable, programs: NameTable) -> Columns:
    """Return rows of the history that concern a message, as ``EVENTS``."""
    f = np.minimum(NameTable(dict(_F)).encode(batch["f"]), OTHER).astype(np.int8)
    time_ns, op_id = _numbers(batch["time_ns"]), _numbers(batch["op_id"])
    invoke_ns, delivery = _numbers(batch["invoke_ns"]), _numbers(batch["delivery"])
    # Without a number of its own, a row is about the delivery made by its own operation.
    own = (f == POP) & (delivery == ABSENT)
    return {
        "message_id": _texts(batch["message_id"]),
        "index": _numbers(batch["index"]),
        "time_ns": time_ns,
        "invoke_ns": np.where(invoke_ns == ABSENT, time_ns, invoke_ns),
        "op_id": op_id,
        "delivery": np.where(own, op_id, delivery),
        **{name: _numbers(batch[name]) for name in _PLAIN},
        "program": programs.encode(batch["process"]),
        "zone": zones.encode(batch["zone"]).astype(np.int16),
        "shard": shards.encode(batch["shard"]).astype(np.int16),
        "priority": _numbers(batch["priority"], absent=-1).astype(np.int16),
        "f": f,
        "type": NameTable(dict(_TYPE)).encode(batch["type"]).astype(np.int8),
    }


def _numbers(column: Values, *, absent: int = ABSENT) -> Ints:
    if isinstance(column, list):
        return np.array([absent if value is None else value for value in column], np.int64)
    numbers: Ints = (pc.fill_null(column, absent) if column.null_count else column).to_numpy()
    return numbers


def _texts(column: Values) -> pa.Array:
    return pa.array(column, pa.string()) if isinstance(column, list) else column


def state_columns(batch: Mapping[str, Values], *, zones: NameTable, shards: NameTable) -> Columns:
    """Return a batch of the end state as ``STATES``."""
    places = NameTable({name: code for code, name in enumerate(PLACES)})
    return {
        "message_id": _texts(batch["message_id"]),
        "zone": zones.encode(batch["zone"]).astype(np.int16),
        "shard": shards.encode(batch["shard"]).astype(np.int16),
        "place": places.encode(batch["place"]).astype(np.int8),
        "serving": np.array(batch["serving"], np.bool_),
    }


@dataclass(frozen=True, slots=True)
class States:
    """End-state rows of one partition, arrays as in ``STATES``; ``message``: the number of each row's message."""

    message: Ints
    zone: NDArray[np.int16]
    shard: NDArray[np.int16]
    place: NDArray[np.int8]
    serving: Bools

    def __len__(self) -> int:
        return len(self.message)


@dataclass(frozen=True, slots=True)
class PartitionEvents:
    """All that is known of the messages ``ids``: their completed operations in history order and their end states."""

    ids: pa.Array
    events: EventRows
    states: States

    @classmethod
    def of(cls, events: Columns, states: Columns) -> "PartitionEvents":
        """Number the messages of ``events`` and ``states`` together, so that both mean the same one by a number."""
        encoded = pa.concat_arrays([events["message_id"], states["message_id"]]).dictionary_encode()
        message, count = encoded.indices.to_numpy().astype(np.int64), len(events["message_id"])
        return cls(
            encoded.dictionary,
            EventRows({**events, "message": message[:count]}).completions(),
            States(message[count:], *(states[name] for name in STATES.names[1:])),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def marked(self, messages: Ints) -> Bools:
        """Which of the ids occur in ``messages``."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[messages] = True
        return found
