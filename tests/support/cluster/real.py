"""What tests on real servers share: clusters, waiting for a condition, and clients that tell how a command ended."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from support.cluster.sim_lab import settings_of
from support.coroutines import given

from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.engine.ports import Command, Connection, Indeterminate, Unavailable

PATIENCE_S = 60.0


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until ``condition()`` holds; fails, and says for what, if it never does."""
    async with asyncio.timeout(PATIENCE_S) as waiting:
        try:
            while not condition():  # noqa: ASYNC110 (conditions of other people's making have no event)
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            if waiting.expired():
                raise AssertionError(f"waited {PATIENCE_S:g} s in vain: {what}") from None
            raise


async def settled(cluster: RealCluster, command: Command, expected: Any) -> None:
    """Wait until the servers answer ``command`` with ``expected``, each by itself; one may not be back yet."""
    async with asyncio.timeout(1.5 * PATIENCE_S):
        while [(await outcome(cluster.direct(zone), command))[0] for zone in cluster.zones] != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def outcome(connection: Connection, *commands: Command) -> Any:
    """The replies, or ``(class, text)`` of the error."""
    try:
        return await connection.execute(*commands)
    except (Unavailable, Indeterminate) as error:
        return type(error), str(error)


def on_servers(names: str = "abc", **settings: Any) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """As ``support.cluster.sim_lab.simulated``, on server processes; ``settings`` as there."""

    def carry_out(test: Callable[[RealCluster], Awaitable[None]]) -> None:
        topology = settings.get("topology")

        async def whole() -> None:
            servers = zones("process", topology.nodes if topology else names)
            async with RealCluster(servers, settings_of(RealSettings, **settings)) as cluster:
                await test(cluster)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(whole())

    return given("cluster", carry_out)
