"""Which shards a queue has, which one is the program's own, and to which a host belongs.

Source: https://github.com/Netflix/dyno-queues, the package ``com.netflix.dyno.queues.shard``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class DynoHost:
    """A server of the cluster. ``rack`` is its availability zone."""

    name: str
    rack: str

    def __post_init__(self) -> None:
        if not self.rack:
            raise ValueError(f"rack of host {self.name!r} must be a non-empty string, got {self.rack!r}")


HostSupplier = Callable[[], Sequence[DynoHost]]
"""The hosts as they are known now."""

AWS_SHARDS: Mapping[str, str] = {
    "us-east-1c": "c",
    "us-east-1d": "d",
    "us-east-1e": "e",
    "eu-west-1a": "c",
    "eu-west-1b": "d",
    "eu-west-1c": "e",
    "us-west-2a": "c",
    "us-west-2b": "d",
    "us-west-2c": "e",
}
"""The racks of ``ConsistentAWSDynoShardSupplier``: three regions, the same three shards in each."""


class ShardSupplier(Protocol):
    def queue_shards(self) -> tuple[str, ...]:
        """All shards, each once, in the order of the hosts."""

    def current_shard(self) -> str:
        """The shard that this program serves."""

    def shard_of(self, host: DynoHost) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RackSuffixShards:
    """The last character of the rack: ``us-east-1d`` → ``d`` (``DynoShardSupplier``, deprecated).

    Regions that name their zones differently then disagree about the shards, and messages of one land in shards that
    nobody serves in another (https://github.com/Netflix/dyno-queues/pull/67).
    """

    hosts: HostSupplier
    local_rack: str

    def __post_init__(self) -> None:
        if not self.local_rack:
            raise ValueError(f"local_rack must be a non-empty string, got {self.local_rack!r}")

    def queue_shards(self) -> tuple[str, ...]:
        return _distinct(self.shard_of(host) for host in self.hosts())

    def current_shard(self) -> str:
        return self.local_rack[-1]

    def shard_of(self, host: DynoHost) -> str:
        return host.rack[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class MappedShards:
    """A shard for each rack, given explicitly, the same in every region (``ConsistentDynoShardSupplier``).

    Raises ``ValueError`` for a rack without one; the original goes on with a shard called null.
    """

    hosts: HostSupplier
    local_rack: str
    shards: Mapping[str, str]

    def queue_shards(self) -> tuple[str, ...]:
        return _distinct(self.shard_of(host) for host in self.hosts())

    def current_shard(self) -> str:
        return self._shard(self.local_rack)

    def shard_of(self, host: DynoHost) -> str:
        return self._shard(host.rack)

    def _shard(self, rack: str) -> str:
        if rack not in self.shards:
            raise ValueError(f"rack must be one of {', '.join(self.shards)}, got {rack!r}")
        return self.shards[rack]


@dataclass(frozen=True, slots=True)
class SingleShard:
    """One shard, whatever the host (``SingleShardSupplier``)."""

    name: str

    def queue_shards(self) -> tuple[str, ...]:
        return (self.name,)

    def current_shard(self) -> str:
        return self.name

    def shard_of(self, host: DynoHost) -> str:
        return self.name


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
