"""Builds a hardened queue out of hosts and connections, as ``zonelab.engine.dyno.v2.builder`` builds one of V2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from zonelab.engine.common.timings import MetricsSource
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.queue import HardenedQueue
from zonelab.engine.dyno.hardened.settings import HardenedSettings
from zonelab.engine.dyno.hosts import DynoHost, ShardSupplier
from zonelab.engine.dyno.sharding import ShardingStrategy
from zonelab.engine.dyno.v2.builder import supplier_of
from zonelab.engine.ports import Clock, Connection, Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicatedHosts:
    """Connections as ``HardenedQueue`` takes them; ``zones``: for reading one zone alone, by the zone's only host."""

    quorum: Connection
    safe: Connection
    local: Connection
    zones: Mapping[DynoHost, Connection]


class HardenedOptions(TypedDict, total=False):
    """Those of ``HardenedSettings`` that have a default."""

    margin_ms: int
    keeper_interval_ms: int
    page: int
    poll_interval_ms: int
    retention_ms: int
    grace_ms: int
    takeover_ms: int
    hold_max_ms: int
    deliveries_max: int | None
    payloads_compared: bool
    without: tuple[Hardening, ...]


def build_hardened_queue(
    *,
    queue_name: str,
    redis_key_prefix: str,
    unack_ms: int,
    servers: ReplicatedHosts,
    instance: str,
    runtime: Runtime,
    clock: Clock,
    local_rack: str = "",
    current_shard: str | None = None,
    shard_supplier: ShardSupplier | None = None,
    strategy: ShardingStrategy | None = None,
    metrics: MetricsSource | None = None,
    **options: Unpack[HardenedOptions],
) -> HardenedQueue:
    """A queue with a shard for each host of ``servers``, as ``shard_supplier`` names them.

    ``shard_supplier``, ``local_rack`` and ``current_shard`` as for ``build_queue``; ``unack_ms`` is the length of a
    lease, ``instance`` and ``options`` are those of ``HardenedSettings``. Raises ``ValueError`` if there is no host, if
    two are given one shard, or if the current shard is none of the shards.
    """
    hosts = tuple(servers.zones)
    supplier = supplier_of(hosts, shard_supplier, local_rack)
    zones: dict[str, Connection] = {}
    for host, connection in servers.zones.items():
        shard = supplier.shard_of(host)
        if shard in zones:
            raise ValueError(f"every zone must have a shard of its own, got two hosts for shard {shard!r}")
        zones[shard] = connection
    return HardenedQueue(
        queue_name,
        runtime=runtime,
        clock=clock,
        quorum=servers.quorum,
        safe=servers.safe,
        local=servers.local,
        zones=zones,
        settings=HardenedSettings(
            prefix=redis_key_prefix,
            shards=tuple(zones),
            shard=supplier.current_shard() if current_shard is None else current_shard,
            instance=instance,
            lease_ms=unack_ms,
            **options,
        ),
        strategy=strategy,
        metrics=metrics,
    )
