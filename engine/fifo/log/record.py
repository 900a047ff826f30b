"""A message as a partition's log has it."""

import json
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionRecord:
    """``sequence``: the number of the message among those of ``producer`` in its partition; from 1.

    ``epoch``: how often the topic had been resized when it was sent, as its producer knew. ``due_ms``: when it is due
    by its producer's clock, which is when it was sent if it is not delayed; 0: nobody says. ``front``: the number of
    the record, among those that its producer had sent by then, that is due last before it; 0: none is.
    """

    id: str
    key: str
    body: str
    producer: str
    sequence: int
    epoch: int = 0
    due_ms: int = 0
    front: int = -1

    def __post_init__(self) -> None:
        if self.front < 0:
            object.__setattr__(self, "front", self.sequence - 1)

    def text(self) -> str:
        parts = [self.id, self.key, self.body, self.producer, self.sequence, self.epoch]
        parts += [self.due_ms, self.front] if self.due_ms else []
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def order(self) -> tuple[int, int, int]:
        """Among those of its partition: by (due, epoch, sequence)."""
        return self.due_ms, self.epoch, self.sequence

    @property
    def place(self) -> str:
        """Among those that are due at the same time: by epoch and sequence, whose text sorts as they do."""
        return f"{self.epoch:08d} {self.sequence:016d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        message_id, key, body, producer, sequence, epoch, *due = json.loads(text)
        due_ms, front = due or (0, -1)
        fields = {"id": message_id, "key": key, "body": body, "producer": producer, "epoch": epoch}
        return cls(**fields, sequence=sequence, due_ms=due_ms, front=front)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record at its offset."""

    offset: int
    record: PartitionRecord

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        offset, _, text = raw.decode().partition(" ")
        return cls(int(offset), PartitionRecord.parse(text))


@dataclass(frozen=True, slots=True)
class DelayedRecord:
    """A record that is not in the log before ``due_ms``, by its producer's clock. ``place``: of the record at first."""

    due_ms: int
    place: str
    record: PartitionRecord

    def text(self) -> str:
        return f"{self.place} {self.record.producer} {self.record.text()}"

    @classmethod
    def parse(cls, raw: bytes, score: bytes) -> Self:
        epoch, sequence, _producer, text = raw.decode().split(" ", 3)
        return cls(int(float(score)), f"{epoch} {sequence}", PartitionRecord.parse(text))
