"""The Redis commands that the queue uses: one round trip a call, replies with types, error replies raised."""

from collections.abc import Sequence
from typing import Any

from zonelab.engine.ports import Argument, Command, Connection, Indeterminate, ServerError, Unavailable


class V1Commands:
    """Single commands over one connection. Each raises ``PortError`` and, for an error reply, ``ServerError``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def hset(self, key: str, field: str, value: bytes) -> int:
        return int(await self._call("HSET", key, field, value))

    async def hget(self, key: str, field: str) -> bytes | None:
        value: bytes | None = await self._call("HGET", key, field)
        return value

    async def hgetall(self, key: str) -> dict[str, bytes]:
        flat = await self._call("HGETALL", key)
        return {field.decode(): value for field, value in zip(flat[::2], flat[1::2], strict=True)}

    async def hdel(self, key: str, field: str) -> int:
        return int(await self._call("HDEL", key, field))

    async def zadd(self, key: str, score: float | bytes, member: str, *, flag: str | None = None) -> int:
        """Number of members added (an update counts 0). ``flag``: ``NX`` or ``XX``."""
        flags = (flag,) if flag else ()
        return int(await self._call("ZADD", key, *flags, score, member))

    async def zrem(self, key: str, member: str) -> int:
        return int(await self._call("ZREM", key, member))

    async def zscore(self, key: str, member: str) -> float | None:
        score = await self._call("ZSCORE", key, member)
        return None if score is None else float(score)

    async def zrank(self, key: str, member: str) -> int | None:
        rank: int | None = await self._call("ZRANK", key, member)
        return rank

    async def zcard(self, key: str) -> int:
        return int(await self._call("ZCARD", key))

    async def ids_up_to(self, key: str, score: int, *, limit: int) -> list[str]:
        """The first ``limit`` members with scores 0..``score``, in order of score."""
        members = await self._call("ZRANGEBYSCORE", key, 0, score, "LIMIT", 0, limit)
        return [member.decode() for member in members]

    async def scored_ids_up_to(self, key: str, score: int, *, limit: int) -> list[tuple[str, bytes]]:
        """Like ``ids_up_to``, with each member's score as the server wrote it."""
        flat = await self._call("ZRANGEBYSCORE", key, 0, score, "WITHSCORES", "LIMIT", 0, limit)
        return [(member.decode(), raw) for member, raw in zip(flat[::2], flat[1::2], strict=True)]

    async def scores_up_to(self, key: str, score: int, *, limit: int) -> list[tuple[float, str]]:
        """Like ``ids_up_to``, with each member's score."""
        entries = await self.scored_ids_up_to(key, score, limit=limit)
        return [(float(raw), member) for member, raw in entries]

    async def delete(self, key: str) -> int:
        return int(await self._call("DEL", key))

    async def eval(self, script: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        """Run a script: ``zonelab.engine.dyno.v1.scripts`` says why by EVAL."""
        return await self._call("EVAL", script, len(keys), *keys, *arguments)

    async def eval_read(self, script: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        """``eval`` of a script that changes nothing, so that without an answer it was certainly not applied."""
        try:
            return await self.eval(script, keys, arguments)
        except Indeterminate as error:
            raise Unavailable(*error.args) from error

    async def _call(self, *words: Argument) -> Any:
        command: Command = words
        (reply,) = await self._connection.execute(command)
        if isinstance(reply, ServerError):
            raise reply
        return reply
