"""The id of a message in commands and replies, by itself or within a longer value."""

import re
from dataclasses import dataclass, field
from typing import Any

from zonelab.cluster.connections.batch import Answer
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.engine.ports import Command


@dataclass(frozen=True, slots=True)
class MessageNaming:
    """Finds ``message_id``, but not at the beginning of a longer id."""

    message_id: str
    _pattern: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        pattern = rb"(?<![\w-])" + re.escape(self.message_id.encode()) + rb"(?![\w-])"
        object.__setattr__(self, "_pattern", re.compile(pattern))

    def is_in(self, value: Command | Answer | Any) -> bool:
        """Return whether ``value``, or a part of it at any depth, has the id; a failure has none."""
        if isinstance(value, ZoneFailure):
            return False
        if isinstance(value, list | tuple):
            return any(map(self.is_in, value))
        text = value.encode() if isinstance(value, str) else value
        return isinstance(text, bytes) and self._pattern.search(text) is not None
