"""The end of a simulated cluster whose program is over, or has failed."""

from contextlib import suppress

from zonelab.cluster.sim.cluster import SimCluster

_CLOSE_NS = 100_000_000
_ROUNDS = 10
"""Times that a cancelled task may fail, or end the program that was waiting, before it is left as it is."""


def close(cluster: SimCluster) -> None:
    """Stop the cluster and let what was cancelled come to its end."""
    cluster.runtime.run_until_complete(cluster.stop())
    cluster.runtime.run(for_ns=_CLOSE_NS)


def abandon(cluster: SimCluster) -> None:
    """End what is running after a failure was reported; what else fails is its consequence."""
    cluster.runtime.close()
    for _ in range(_ROUNDS):
        with suppress(Exception):
            cluster.runtime.run(for_ns=_CLOSE_NS)
