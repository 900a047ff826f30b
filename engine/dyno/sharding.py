"""Which shard a pushed message goes to.

Source: https://github.com/Netflix/dyno-queues, ``RoundRobinStrategy`` and ``CustomShardingStrategyTest``; local-only is
``LocalOnlyStrategy`` of https://github.com/Netflix/conductor/pull/1728.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from zonelab.engine.common.java_hash import java_string_hash
from zonelab.engine.message import Message


class ShardingStrategy(Protocol):
    def next_shard(self, shards: Sequence[str], message: Message) -> str:
        """Choose the shard of ``message`` among ``shards``. Called once for each push of a message."""


class RoundRobin:
    """Shards in turn, beginning with the second. A repeated push of one id lands in another shard: a duplicate."""

    def __init__(self) -> None:
        self._index = 0

    def next_shard(self, shards: Sequence[str], message: Message) -> str:
        self._index += 1
        if self._index >= len(shards):
            self._index = 0
        return shards[self._index]


class IdHash:
    """Shard from the message id, so that every push of one id meets the same shard and cannot double it."""

    def next_shard(self, shards: Sequence[str], message: Message) -> str:
        return shards[abs(java_string_hash(message.id)) % len(shards)]


@dataclass(frozen=True, slots=True)
class LocalOnly:
    """Always ``shard``, normally the pusher's own. Raises ``ValueError`` if the queue has no such shard."""

    shard: str

    def next_shard(self, shards: Sequence[str], message: Message) -> str:
        if self.shard not in shards:
            raise ValueError(f"shard {self.shard!r} is none of the queue's shards: {', '.join(shards)}")
        return self.shard


def chosen_shard(strategy: ShardingStrategy, shards: Sequence[str], message: Message) -> str:
    """Return the shard that ``strategy`` chooses. Raises ``ValueError`` if that is none of ``shards``: nobody would
    serve it.
    """
    shard = strategy.next_shard(shards, message)
    if shard not in shards:
        raise ValueError(f"strategy must choose one of {', '.join(shards)}, got {shard!r}")
    return shard
