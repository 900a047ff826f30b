"""Addresses at which the processes of programs reach their zones."""

from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.zone import Address


async def address_of(cluster: PortedCluster, *, process: str, zone: str, failover: bool) -> Address:
    """Return where ``process`` connects: an address of its own at the port of ``zone``, so that its commands are known.

    With ``failover`` it leads to another zone while the coordinator of ``zone`` is dead. Raises ``ClusterError`` if the
    cluster has not started.
    """
    return await cluster.add_program(zone, process, failover=failover)
