"""Addresses at which the processes of programs reach their zones."""

from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.zone import Address


async def address_of(cluster: PortedCluster, *, program: str, zone: str) -> Address:
    """Return where the processes of ``program`` in ``zone`` connect: the zone's port.

    Raises ``ClusterError`` if the cluster has not started.
    """
    return cluster.port(zone)
