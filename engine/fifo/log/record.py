"""A message as a partition's log has it."""

import json
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """``sequence``: the number of the message among those of ``producer`` in its partition; from 1."""

    id: str
    key: str
    body: str
    producer: str
    sequence: int

    def text(self) -> str:
        parts = [self.id, self.key, self.body, self.producer, self.sequence]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        message_id, key, body, producer, sequence = json.loads(text)
        return cls(id=message_id, key=key, body=body, producer=producer, sequence=sequence)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record at its offset."""

    offset: int
    record: Record

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        offset, _, text = raw.decode().partition(" ")
        return cls(int(offset), Record.parse(text))
