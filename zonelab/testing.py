"""Queues and clusters in tests: ``cluster`` for programs, ``QueueMachine`` and ``sim_test`` for properties.

Example::

    from zonelab import Message, queues
    from zonelab.testing import cluster

    def test_nothing_is_lost_when_a_zone_dies():
        with cluster("sim") as lab:
            with queues.open("jobs", lab, mode="hardened") as queue:
                queue.push([Message(id=str(number)) for number in range(10)])
                with lab.fault("kill", zone="b"):
                    for delivery in queue.pop(10, wait_ms=5_000):
                        queue.ack(delivery)
            assert lab.verdict().valid is True
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zonelab._lazy_names import lazy_names

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from zonelab._face.asyncio_program import AsyncioProgram
    from zonelab._face.cluster import AsyncCluster, Cluster
    from zonelab.analysis.checkers.verdict import Verdict
    from zonelab.cluster.sim.cluster import SimCluster
    from zonelab.cluster.testbed import Testbed
    from zonelab.cluster.votes.levels import Level, Setting
    from zonelab.engine.ports import Connection
    from zonelab.scenarios.queues.under_test import Site
    from zonelab.studies.properties.machine import QueueMachine
    from zonelab.studies.properties.simulated_test import sim_test

__all__ = [
    "AsyncCluster",
    "AsyncioProgram",
    "Cluster",
    "Level",
    "QueueMachine",
    "SimCluster",
    "Site",
    "Verdict",
    "asyncio_program",
    "client",
    "cluster",
    "sim_test",
]

_HOMES = {
    "AsyncCluster": "zonelab._face.cluster",
    "AsyncioProgram": "zonelab._face.asyncio_program",
    "Cluster": "zonelab._face.cluster",
    "Level": "zonelab.cluster.votes.levels",
    "QueueMachine": "zonelab.studies.properties.machine",
    "SimCluster": "zonelab.cluster.sim.cluster",
    "Site": "zonelab.scenarios.queues.under_test",
    "Verdict": "zonelab.analysis.checkers.verdict",
    "sim_test": "zonelab.studies.properties.simulated_test",
}


def client(
    where: "AsyncCluster | Testbed",
    zone: str,
    *,
    level: "Setting | str" = "DC_QUORUM",
    wrap: "Callable[[Any], Connection] | None" = None,
    decode_responses: bool = False,
) -> "Redis":
    """Return a ``redis.asyncio.Redis`` whose commands go through the coordinator of a zone, also in simulation.

    Names and conversions are redis-py's own, with pipelines, transactions, ``WATCH``, scripts, blocking commands and
    ``pubsub()``. A program that awaits only this client and the runtime of the cluster runs in virtual time as it is;
    what waits on asyncio, too, such as ``lock()``, runs in an ``asyncio_program``.

    Args:
        where: the cluster, or the testbed that the factory of a queue gets.
        zone: the zone of the program.
        level: consistency level.
        wrap: what the factory of a queue gets for the connections of one program.
        decode_responses: replies are ``str`` in place of ``bytes``, as in redis-py.

    Returns:
        A client. Errors are those of redis-py, and of ``zonelab.engine.ports`` as well.

    Raises:
        ClusterError: for a zone or level that is not there, with those that are.

    Example::

        async def program(lab: AsyncCluster) -> object:
            mine = client(lab, "a", decode_responses=True)
            await mine.rpush("jobs", "one")
            return await mine.blpop("jobs", timeout=1)

        with cluster("sim") as lab:
            print(lab.run(program))  # ('jobs', 'one')
    """
    from zonelab._face.redis_client import open_client

    return open_client(where, zone, level=level, wrap=wrap, decode_responses=decode_responses)


def cluster(
    on: str = "sim",
    *,
    zones: Sequence[str] = ("a", "b", "c"),
    level: str = "DC_QUORUM",
    seed: int = 1,
    lag: str = "0",
    set: Mapping[str, object] | None = None,
) -> "Cluster":
    """Return a cluster for a ``with`` block: a server in every zone, links between them, a coordinator in each.

    The fixture ``zonelab_cluster`` is such a cluster, with the arguments of the mark ``zonelab_cluster`` (docs/api.md).

    Args:
        on: ``sim`` simulates all of it in virtual time; ``process`` and ``docker`` start a server in every zone.
        zones: their names.
        level: consistency level of the queues that are opened on it.
        seed: seed of lags and losses; in simulation it decides the whole course.
        lag: one-way lag between zones, a distribution such as ``lognormal:2ms:15ms`` (docs/scenarios.md).
        set: further values of a scenario by their paths, such as ``{"persistence": "aof-always"}``.

    Returns:
        A ``Cluster``, which is up as long as the block lasts.

    Raises:
        ScenarioError: for a value that is not accepted, with those that are, as on the command line.
        ClusterError: for an unknown ``on`` at once; if servers cannot be started, when the block begins.

    Example::

        with cluster("sim", zones=("a", "b"), lag="lognormal:2ms:15ms") as lab, queues.open("jobs", lab) as queue:
            queue.push(Message(id="1"))
            print(lab.zones, lab.verdict().valid)  # ('a', 'b') True
    """
    from zonelab._face.cluster import make_cluster
    from zonelab._face.overrides import override_texts
    from zonelab._face.queue_scenario import cluster_document

    document = cluster_document(tuple(zones), real=on != "sim", level=level, seed=seed, links={"lag": lag})
    return make_cluster(on, document, override_texts(set))


def asyncio_program(where: "AsyncCluster | Testbed", zone: str, *, packages: Sequence[str] = ()) -> "AsyncioProgram":
    """Return a program on asyncio in virtual time, such as a library's worker: a process of its own in ``zone``.

    Tasks, time and what builds on them work as on any loop of asyncio; ``client`` and the coroutines of the cluster can
    be awaited, too. Sockets, threads and processes raise ``NotImplementedError``.

    Args:
        where: a simulated cluster, or the testbed that the factory of a queue gets.
        zone: that of the program.
        packages: libraries whose ``time``, ``datetime``, ``uuid`` and ``random`` are to be the program's. Modules of
            these that are loaded are changed, and stay so; outside of such programs they behave as before.

    Returns:
        The program, in which nothing runs yet.

    Raises:
        ClusterError: for a zone that is not there, with those that are; for a cluster on real servers.

    Example::

        import asyncio

        async def story(lab: AsyncCluster) -> object:
            program = asyncio_program(lab, "a")
            return await program.run(asyncio.wait_for(asyncio.sleep(60, "done"), timeout=3600))

        with cluster("sim") as lab:
            print(lab.run(story))  # done
    """
    from zonelab._face.redis_client import open_program

    return open_program(where, zone, packages=packages)


if not TYPE_CHECKING:  # lest every name that is not there be Any
    __getattr__ = lazy_names(__name__, _HOMES)
