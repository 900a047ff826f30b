"""Builds a pipelined queue of one shard, or a multi-shard queue, out of hosts or of a cluster's connections.

Source: https://github.com/Netflix/dyno-queues, ``v2/QueueBuilder``; docs/dyno-v2.md maps its setters to these options.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zonelab.engine.common.timings import MetricsSource
from zonelab.engine.dyno.hosts import DynoHost, HostSupplier, RackSuffixShards, ShardSupplier
from zonelab.engine.dyno.sharding import ShardingStrategy
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.dyno.v2.queue import PipelinedQueue
from zonelab.engine.dyno.v2.settings import PipelinedSettings
from zonelab.engine.ports import Clock, Connection, Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardCluster:
    """One replicated cluster for all shards. ``non_quorum``: for reads that may be old; ``quorum`` if not given."""

    hosts: HostSupplier
    quorum: Connection
    non_quorum: Connection | None = None


@dataclass(frozen=True, slots=True)
class Hosts:
    """Separate servers without replication, each with a shard of its own. Of two hosts of one shard the last counts."""

    connections: Mapping[DynoHost, Connection]


def build_queue(
    *,
    queue_name: str,
    redis_key_prefix: str,
    unack_ms: int,
    servers: ShardCluster | Hosts,
    runtime: Runtime,
    clock: Clock,
    local_rack: str = "",
    current_shard: str | None = None,
    shard_supplier: ShardSupplier | None = None,
    unack_interval_ms: int | None = None,
    strategy: ShardingStrategy | None = None,
    metrics: MetricsSource | None = None,
    compat: bool = False,
) -> PipelinedQueue | MultiQueue:
    """A queue with a shard for each group of hosts that ``shard_supplier`` puts together.

    ``shard_supplier``: the last character of the rack if not given, and then ``local_rack`` must be. ``current_shard``:
    as the supplier says if not given. ``unack_interval_ms``: ``unack_ms`` if not given. With one shard the result is
    that shard's queue itself. Raises ``ValueError`` if there is no host or the current shard is none of the shards.
    """
    hosts = _hosts(servers)
    supplier = supplier_of(hosts, shard_supplier, local_rack)
    shards = {supplier.shard_of(host): host for host in hosts}
    queues = {
        shard: _shard_queue(
            queue_name,
            servers,
            host,
            runtime=runtime,
            clock=clock,
            metrics=metrics,
            settings=PipelinedSettings(
                prefix=redis_key_prefix,
                shard=shard,
                unack_ms=unack_ms,
                unack_interval_ms=unack_ms if unack_interval_ms is None else unack_interval_ms,
                compat=compat,
            ),
        )
        for shard, host in shards.items()
    }
    own = supplier.current_shard() if current_shard is None else current_shard
    if len(queues) == 1 and own in queues:
        return queues[own]
    return MultiQueue(queue_name, shard=own, queues=queues, strategy=strategy)


def _hosts(servers: ShardCluster | Hosts) -> tuple[DynoHost, ...]:
    return tuple(servers.hosts() if isinstance(servers, ShardCluster) else servers.connections)


def supplier_of(hosts: Sequence[DynoHost], shard_supplier: ShardSupplier | None, local_rack: str) -> ShardSupplier:
    """``shard_supplier``, or the last character of the rack. Raises ``ValueError`` for no host and for no rack."""
    if not hosts:
        raise ValueError("servers must have at least one host, got none")
    if shard_supplier is None and not local_rack:
        raise ValueError("local_rack must be given when shard_supplier is not, got ''")
    return shard_supplier or RackSuffixShards(hosts=lambda: hosts, local_rack=local_rack)


def _shard_queue(
    name: str,
    servers: ShardCluster | Hosts,
    host: DynoHost,
    *,
    runtime: Runtime,
    clock: Clock,
    settings: PipelinedSettings,
    metrics: MetricsSource | None,
) -> PipelinedQueue:
    if isinstance(servers, ShardCluster):
        quorum, local = servers.quorum, servers.non_quorum or servers.quorum
    else:
        quorum = local = servers.connections[host]
    return PipelinedQueue(
        name, runtime=runtime, clock=clock, quorum=quorum, local=local, settings=settings, metrics=metrics
    )
