"""Presence of services on the same data: by default several may serve it, with ``compat`` only one.

A service in mode ``compat`` would sleep through jobs that another stored (N6 in docs/gmq-windows.md).
"""

import asyncio
import json
import logging
from typing import Any

from zonelab.app.gmq_service.settings import ServiceMode
from zonelab.cluster.zone import ClusterError
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.ports import Connection, Reply

LOG = logging.getLogger("gmq.service")

EXPIRES_MS = 4_000
"""A service that was killed is forgotten after so long."""

RENEW_S = 1.0

_KEEP = """
-- Keep the mark KEYS[1] as ARGV[1] for ARGV[2] ms, unless it is another's and we (ARGV[3]) or it must be alone.
-- Returns what it is.
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] and (ARGV[3] == 'alone' or string.find(found, '"alone": true', 1, true)) then
    return found
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
"""
_FORGET = """
-- Remove the mark KEYS[1] if it is ARGV[1].
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
"""


class Presence:
    """The mark of this service beside its data."""

    def __init__(self, connection: Connection, *, prefix: str, mode: ServiceMode, who: str) -> None:
        self._connection = connection
        self._key = f"{prefix}:service"
        self._alone = mode is ServiceMode.COMPAT
        self._mark = json.dumps({"who": who, "mode": str(mode), "alone": self._alone})
        self._renewal: asyncio.Task[None] | None = None
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The service that serves the data now, if that one must be alone, or this one had to be."""

    async def begin(self) -> None:
        """Register this service, and keep it registered in the background.

        Waits until the entry of a service that was killed has expired. Raises ``ClusterError`` if a live one excludes
        this one.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + EXPIRES_MS / 1_000 + RENEW_S
        while (other := await self._keep()) is not None:
            if loop.time() > deadline_s:
                raise ClusterError(
                    f"{other['who']} (mode {other['mode']}) serves this data already; stop it first, since "
                    f"{'this one' if self._alone else 'that one'} runs as v1.0 and would miss the other's jobs"
                )
            await asyncio.sleep(RENEW_S / 2)
        self._renewal = asyncio.create_task(self._renew())

    async def end(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            try:
                await self._connection.execute(("EVAL", _FORGET, 1, self._key, self._mark))
            except COMMAND_FAILURES as error:
                LOG.warning("the mark at %s stays for %d ms: %s", self._key, EXPIRES_MS, error)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                other = await self._keep()
            except COMMAND_FAILURES:
                continue
            if other is not None and not self.lost.done():
                self.lost.set_result(str(other["who"]))

    async def _keep(self) -> dict[str, Any] | None:
        """None if the mark is ours now."""
        role = "alone" if self._alone else "among others"
        replies: list[Reply] = await self._connection.execute(
            ("EVAL", _KEEP, 1, self._key, self._mark, EXPIRES_MS, role)
        )
        (found,) = replies
        if not isinstance(found, bytes):
            raise ClusterError(f"the mark at {self._key} cannot be kept: {found}")
        owner = found.decode()
        return None if owner == self._mark else json.loads(owner)
