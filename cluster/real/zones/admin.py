"""Administration of a server over an ordinary Redis client: is it up, which version, what does INFO say."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from zonelab.cluster.zone import Address

POLL_INTERVAL_S = 0.003
_PING_TIMEOUT_S = 1.0


@contextlib.asynccontextmanager
async def admin_client(address: Address, *, timeout_s: float = 5.0) -> AsyncIterator[Redis]:
    """A client that never retries by itself, closed at the end."""
    client = Redis(
        host=address.host,
        port=address.port,
        protocol=2,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )
    try:
        yield client
    finally:
        await client.aclose()


async def answers(address: Address) -> bool:
    """Return whether a server answers PING there and has loaded its data."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_PING_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(b"PING\r\n")
                return await reader.readline() == b"+PONG\r\n"
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    return False


async def execute(client: Redis, *command: str | int) -> Any:
    return await client.execute_command(*command)  # type: ignore[no-untyped-call]


async def info(client: Redis, section: str) -> dict[str, Any]:
    return dict(await client.info(section))


async def server_version(address: Address) -> str:
    """For example ``valkey 9.1.2``."""
    async with admin_client(address) as client:
        fields = await info(client, "server")
    product = str(fields.get("server_name", "redis"))
    return f"{product} {fields.get(f'{product}_version', fields['redis_version'])}"


async def poll() -> None:
    """The pause between two looks at a condition of a server."""
    await asyncio.sleep(POLL_INTERVAL_S)
