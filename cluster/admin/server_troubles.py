"""Why a zone's server refuses writes though it runs: its memory is full, or its files cannot be written.

Source: the replies ``OOM …`` and ``MISCONF …`` of Valkey, and the fields of INFO that go with them; measured with
9.1.2 on 23 November 2026. A server whose append-only file could not be written answers the first write that fails as
done, refuses the next ones, and takes writes again by itself once there is room. One whose snapshot could not be
written refuses until a BGSAVE has worked.
"""

from collections.abc import Mapping
from typing import Any

from redis.exceptions import RedisError

from zonelab.cluster.real.zones.admin import admin_client, info
from zonelab.cluster.zone import Address

MEMORY = "memory full"
FILE = "cannot write to its disk (full?)"

_ASK_S = 1.0


async def troubles_of(address: Address) -> tuple[str, ...]:
    """Return the troubles that the server reports; none from one that does not answer."""
    try:
        async with admin_client(address, timeout_s=_ASK_S) as client:
            return troubles({**await info(client, "persistence"), **await info(client, "memory")})
    except (OSError, RedisError):
        return ()


def troubles(said: Mapping[str, Any]) -> tuple[str, ...]:
    """``said``: the sections persistence and memory of INFO."""
    failed = [name for name in ("aof_last_write_status", "rdb_last_bgsave_status") if said.get(name, "ok") != "ok"]
    limit_bytes = int(said.get("maxmemory", 0))
    full = 0 < limit_bytes < int(said.get("used_memory", 0))
    return (*([MEMORY] if full else []), *([FILE] if failed else []))
