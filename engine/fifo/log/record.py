"""A message as a partition's log has it."""

import json
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """``sequence``: the number of the message among those of ``producer`` in its partition; from 1.

    ``epoch``: how often the topic had been resized when it was sent, as its producer knew.
    """

    id: str
    key: str
    body: str
    producer: str
    sequence: int
    epoch: int = 0

    def text(self) -> str:
        parts = [self.id, self.key, self.body, self.producer, self.sequence, self.epoch]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def place(self) -> str:
        """Among those that are due at the same time: by epoch and sequence, whose text sorts as they do."""
        return f"{self.epoch:08d} {self.sequence:016d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        message_id, key, body, producer, sequence, epoch = json.loads(text)
        return cls(id=message_id, key=key, body=body, producer=producer, sequence=sequence, epoch=epoch)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record at its offset."""

    offset: int
    record: Record

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        offset, _, text = raw.decode().partition(" ")
        return cls(int(offset), Record.parse(text))


@dataclass(frozen=True, slots=True)
class Delayed:
    """A record that is not in the log before ``due_ms``, by its producer's clock. ``place``: of the record at first."""

    due_ms: int
    place: str
    record: Record

    def text(self) -> str:
        return f"{self.place} {self.record.producer} {self.record.text()}"

    @classmethod
    def parse(cls, raw: bytes, score: bytes) -> Self:
        epoch, sequence, _producer, text = raw.decode().split(" ", 3)
        return cls(int(float(score)), f"{epoch} {sequence}", Record.parse(text))
