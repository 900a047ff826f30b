"""Survey of running servers: what they did between two looks, and how they keep their data. It changes nothing.

The commands are ``INFO``, and ``CONFIG GET`` of what is about persistence; none of them looks at a key.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from zonelab.cluster.real.zones.admin import admin_client, execute, info
from zonelab.cluster.zone import Address, ClusterError, Persistence

APART_S = 5.0
"""Time between the two looks."""

_FSYNC = {"always": Persistence.AOF_ALWAYS, "everysec": Persistence.AOF_EVERYSEC, "no": Persistence.AOF_NO}


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSurvey:
    """``calls``: by command, how often the server carried it out in ``seconds``; ``bytes_in``: what it was sent then.

    ``persistence_by``: the commands that told it.
    """

    address: Address
    seconds: float
    calls: Mapping[str, int]
    bytes_in: int
    persistence: Persistence
    persistence_by: str


async def survey(
    addresses: Sequence[Address],
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    now_s: Callable[[], float] = time.monotonic,
    answered: Callable[[], None] = lambda: None,
) -> list[ServerSurvey]:
    """Look at all servers twice, with a pause between; ``answered`` is called before the pause.

    Raises ``ClusterError`` for one that does not answer.
    """
    before = [(now_s(), await _asked(one, _looked)) for one in addresses]
    answered()
    await pause(APART_S)
    after = [(now_s(), await _asked(one, _looked)) for one in addresses]
    return [
        ServerSurvey(
            address=address,
            seconds=max(end_s - begin_s, 1e-3),
            calls={
                name: calls - first.calls.get(name, 0)
                for name, calls in later.calls.items()
                if calls > first.calls.get(name, 0)
            },
            bytes_in=max(0, later.bytes_in - first.bytes_in),
            **dict(zip(("persistence", "persistence_by"), await _asked(address, _persistence), strict=True)),
        )
        for address, (begin_s, first), (end_s, later) in zip(addresses, before, after, strict=True)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    calls: Mapping[str, int]
    bytes_in: int


async def _asked(address: Address, question: Callable[[Redis], Awaitable[Any]]) -> Any:
    try:
        async with admin_client(address) as client:
            return await question(client)
    except (OSError, RedisError) as error:
        raise ClusterError(f"{address}: does not answer: {' '.join(str(error).split())}") from None


async def _looked(client: Redis) -> _Look:
    statistics, commands = await info(client, "stats"), await info(client, "commandstats")
    calls = {name.removeprefix("cmdstat_").upper(): int(one["calls"]) for name, one in commands.items()}
    return _Look(calls=calls, bytes_in=int(statistics.get("total_net_input_bytes", 0)))


async def _persistence(client: Redis) -> tuple[Persistence, str]:
    """Return it, and the commands that told; many services refuse CONFIG, and INFO says less."""
    try:
        said = [await execute(client, "CONFIG", "GET", name) for name in ("appendonly", "appendfsync", "save")]
    except ResponseError:
        fields = await info(client, "persistence")
        kept = Persistence.AOF_EVERYSEC if fields.get("aof_enabled") else Persistence.RDB
        return kept, "INFO persistence, as CONFIG GET is refused: the rest is a guess"
    on, fsync, save = (one[1] if isinstance(one, list) else next(iter(one.values()), "") for one in said)
    if on == "yes":
        return _FSYNC[fsync], "CONFIG GET appendonly, appendfsync"
    return Persistence.RDB if save else Persistence.NONE, "CONFIG GET appendonly, save"
