"""The history as the queue checker wants it: one row per event and message, every column a plain number.

Codes replace category strings, ``ABSENT`` replaces null, so that whole partitions can be judged with numpy.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.runs.history import MessageColumns

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ABSENT = int(np.iinfo(np.int64).min)

PUSH, POP, ACK, EXTEND, OTHER = range(5)
INVOKE, OK, FAIL, INFO = range(4)
_F = {"push": PUSH, "pop": POP, "ack": ACK, "extend": EXTEND}
_TYPE = {"invoke": INVOKE, "ok": OK, "fail": FAIL, "info": INFO}


@dataclass(frozen=True, slots=True)
class EventRows:
    """Events of one partition as arrays of equal length; ``message``: position of the row's id among the ids.

    A field that ``zonelab.analysis.runs.history.MessageColumns`` has, too, is that column of the history.
    """

    message: Ints
    index: Ints
    time_ns: Ints
    invoke_ns: Ints
    op_id: Ints
    delivery: Ints
    due_ms: Ints
    lease_start_ms: Ints
    leased_ms: Ints
    lease_end_ms: Ints
    lease_ms: Ints
    body: Ints
    program: NDArray[np.int32]
    zone: NDArray[np.int16]
    shard: NDArray[np.int16]
    priority: NDArray[np.int16]
    f: NDArray[np.int8]
    type: NDArray[np.int8]

    @classmethod
    def of(cls, table: pa.Table, message: Ints) -> "EventRows":
        return cls(message, *(table[name].to_numpy() for name in cls.__slots__[1:]))

    def where(self, mask: Bools | Ints) -> "EventRows":
        return EventRows(*(getattr(self, name)[mask] for name in self.__slots__))

    def completions(self) -> "EventRows":
        """Without the invocations; but one that nothing completed for its message stays, as what it is: in doubt."""
        invoked = self.type == INVOKE
        pair = self.op_id * (int(self.message.max(initial=0)) + 1) + self.message
        in_doubt = invoked & ~np.isin(pair, pair[~invoked])
        kind = np.where(in_doubt, np.int8(INFO), self.type)
        return replace(self, type=kind).where(~invoked | in_doubt)

    def __len__(self) -> int:
        return len(self.message)


_CODED = ("shard", "priority", "delivery")
_PLAIN = tuple(name for name in MessageColumns._fields if name in EventRows.__slots__ and name not in _CODED)
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
        *(pa.field(name, _NARROW.get(name, pa.int64())) for name in EventRows.__slots__[1:]),
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

    def encode(self, column: pa.Array) -> NDArray[np.int32]:
        """The number of each name in ``column``, -1 for none; a new name gets the next number."""
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        known = [self.codes.setdefault(name, len(self.codes)) for name in encoded.dictionary.to_pylist()]
        codes = np.array([*known, -1], dtype=np.int32)
        coded: NDArray[np.int32] = codes[pc.fill_null(encoded.indices, len(known)).to_numpy()]
        return coded

    def __getitem__(self, code: int) -> str | None:
        return list(self.codes)[code] if code >= 0 else None


def event_batch(batch: pa.RecordBatch, *, zones: NameTable, shards: NameTable, programs: NameTable) -> pa.RecordBatch:
    """The rows of a history batch that concern a message, as ``EVENTS``."""
    batch = batch.filter(pc.is_valid(batch["message_id"]))
    kind = NameTable(dict(_TYPE)).encode(batch["type"]).astype(np.int8)
    f = np.minimum(NameTable(dict(_F)).encode(batch["f"]), OTHER).astype(np.int8)
    # Without a number of its own, a row is about the delivery made by its own operation.
    delivery = pc.if_else(pa.array(f == POP), pc.coalesce(batch["delivery"], batch["op_id"]), batch["delivery"])
    columns = {
        "message_id": batch["message_id"],
        "index": batch["index"],
        "time_ns": batch["time_ns"],
        "invoke_ns": pc.coalesce(batch["invoke_ns"], batch["time_ns"]),
        "op_id": batch["op_id"],
        "delivery": pc.fill_null(delivery, ABSENT),
        **{name: pc.fill_null(batch[name], ABSENT) for name in _PLAIN},
        "program": programs.encode(batch["process"]),
        "zone": zones.encode(batch["zone"]).astype(np.int16),
        "shard": shards.encode(batch["shard"]).astype(np.int16),
        "priority": pc.fill_null(batch["priority"], -1),
        "f": f,
        "type": kind,
    }
    return pa.RecordBatch.from_pydict(columns, schema=EVENTS)


def state_batch(batch: pa.RecordBatch, *, zones: NameTable, shards: NameTable) -> pa.RecordBatch:
    """A batch of the end state as ``STATES``."""
    places = NameTable({name: code for code, name in enumerate(PLACES)})
    columns = {
        "message_id": batch["message_id"],
        "zone": zones.encode(batch["zone"]).astype(np.int16),
        "shard": shards.encode(batch["shard"]).astype(np.int16),
        "place": places.encode(batch["place"]).astype(np.int8),
        "serving": batch["serving"],
    }
    return pa.RecordBatch.from_pydict(columns, schema=STATES)


@dataclass(frozen=True, slots=True)
class States:
    """End-state rows of one partition, arrays as in ``STATES``."""

    message: Ints
    zone: NDArray[np.int16]
    shard: NDArray[np.int16]
    place: NDArray[np.int8]
    serving: Bools

    @classmethod
    def of(cls, table: pa.Table, message: Ints) -> "States":
        """The end state in ``table`` as arrays; ``message`` has the number of each row's message."""
        return cls(
            message=message,
            zone=table["zone"].to_numpy(),
            shard=table["shard"].to_numpy(),
            place=table["place"].to_numpy(),
            serving=table["serving"].to_numpy(),
        )


@dataclass(frozen=True, slots=True)
class PartitionEvents:
    """All that is known of the messages ``ids``: their completed operations in history order and their end states."""

    ids: pa.Array
    events: EventRows
    states: States

    @classmethod
    def of(cls, events: pa.Table, states: pa.Table) -> "PartitionEvents":
        """Number the messages of ``events`` and ``states`` together, so that both mean the same one by a number."""
        both = pa.chunked_array([*events["message_id"].chunks, *states["message_id"].chunks], type=pa.string())
        encoded = both.combine_chunks().dictionary_encode()
        message = encoded.indices.to_numpy().astype(np.int64)
        return cls(
            encoded.dictionary,
            EventRows.of(events, message[: events.num_rows]).completions(),
            States.of(states, message[events.num_rows :]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def marked(self, messages: Ints) -> Bools:
        """Which of the ids occur in ``messages``."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[messages] = True
        return found
