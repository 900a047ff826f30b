"""Copy a live zone's data into a zone that restarts, before that zone serves anybody.

The servers' own replication does the copying (https://valkey.io/topics/replication/). What it guarantees:

The zone begins to serve with exactly the data of the source at one instant: every write that the source had answered
before that instant is in it, and none after. The source keeps serving; for the few milliseconds around the instant its
writes are held back (``CLIENT PAUSE … WRITE``, https://valkey.io/commands/client-pause/), then executed in order.

What it does not guarantee: writes that reach the source after that instant get here only if whoever replicates sends
them here as well. Until every coordinator has connected to the zone again they do not, and a write that they sent
while this zone was down, and that the source executes after the instant, is missing here. It is also a copy of one
zone, not of the cluster: what the source missed itself is missing here too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.exceptions import RedisError

from zonelab.cluster.real.zones.admin import admin_client, execute, info, poll
from zonelab.cluster.real.zones.waiting import to_completion
from zonelab.cluster.zone import Address, ZoneError

HOLD_LIMIT_MS = 5000
"""The source ends a hold by itself after this time, should the lab be unable to."""

_CATCH_UP_S = 0.1
"""Longest time for which one attempt holds the source's writes before it lets them go and tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmCopy:
    """One copy. ``target`` answers at a private address; when the copy is complete it listens on ``serving_port``."""

    source_name: str
    source: Address
    source_for_target: Address
    target_name: str
    target: Address
    serving_port: int
    snapshot: bool
    """True if the target persists by snapshots only."""

    async def run(self, *, timeout_s: float) -> None:
        """Copy the data. Raises ``ZoneError`` if the copy is not complete in time, or either server fails."""
        what = f"zone {self.target_name}: warm copy from zone {self.source_name}"
        try:
            async with (
                asyncio.timeout(timeout_s),
                admin_client(self.source) as source,
                admin_client(self.target) as target,
            ):
                await self._follow(target)
                await self._persisted(target)
                await self._switch(source, target)
        except TimeoutError as error:
            raise ZoneError(f"{what} was not complete in {timeout_s:g} s") from error
        except (RedisError, OSError) as error:
            raise ZoneError(f"{what} failed: {error}") from error

    async def _follow(self, target: Redis) -> None:
        await execute(target, "REPLICAOF", self.source_for_target.host, self.source_for_target.port)
        while (await info(target, "replication"))["master_link_status"] != "up":
            await poll()

    async def _persisted(self, target: Redis) -> None:
        """Wait for the append-only file that the server writes anew after a copy, or for a snapshot of it.

        A crash right after the restart must not undo the copy where the zone's persistence would have kept the data.
        """
        if self.snapshot:
            await execute(target, "BGSAVE")
        under_way = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
        while True:
            persistence = await info(target, "persistence")
            if not any(persistence[field] for field in under_way):
                return
            await poll()

    async def _switch(self, source: Redis, target: Redis) -> None:
        """Serve the data of one instant. A source that streams late is not held up for it, but tried again."""
        while True:
            await _caught_up(source, target)
            async with _writes_held(source):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_CATCH_UP_S):
                        await _caught_up(source, target)
                    await execute(target, "REPLICAOF", "NO", "ONE")
                    await execute(target, "CONFIG", "SET", "port", self.serving_port)
                    return


async def _caught_up(source: Redis, target: Redis) -> None:
    """Wait until ``target`` has all that ``source`` had written at the call."""
    end = (await info(source, "replication"))["master_repl_offset"]
    while (await info(target, "replication"))["slave_repl_offset"] < end:
        await poll()


@contextlib.asynccontextmanager
async def _writes_held(source: Redis) -> AsyncIterator[None]:
    await execute(source, "CLIENT", "PAUSE", HOLD_LIMIT_MS, "WRITE")
    try:
        yield
    finally:
        await to_completion(_release(source))


async def _release(source: Redis) -> None:
    # If the source cannot be reached any more, its pause ends by itself.
    with contextlib.suppress(RedisError, OSError):
        await execute(source, "CLIENT", "UNPAUSE")
