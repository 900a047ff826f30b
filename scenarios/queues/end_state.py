"""Reading what a zone's server holds of a queue, straight from it."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from zonelab.engine.ports import Connection, Reply, ServerError, Unavailable

CHUNK_ROWS = 1_000
"""Entries of a sorted set or hash that are read at a time, so that a large end state blocks no server."""


async def sorted_set(direct: Connection, key: str) -> AsyncIterator[tuple[str, float]]:
    first = 0
    while True:
        flat = await _ask(direct, "ZRANGE", key, first, first + CHUNK_ROWS - 1, "WITHSCORES")
        for member, score in zip(flat[::2], flat[1::2], strict=True):
            yield member.decode(), float(score)
        if len(flat) < 2 * CHUNK_ROWS:
            return
        first += CHUNK_ROWS


async def hash_fields(direct: Connection, key: str) -> AsyncIterator[str]:
    """Every field once: HSCAN may name one twice while the server still reorganises the hash."""
    cursor = 0
    seen: set[bytes] = set()
    while True:
        raw_cursor, flat = await _ask(direct, "HSCAN", key, cursor, "COUNT", CHUNK_ROWS)
        for field in flat[::2]:
            if field not in seen:
                seen.add(field)
                yield field.decode()
        cursor = int(raw_cursor)
        if cursor == 0:
            return


async def keys_like(direct: Connection, pattern: str) -> AsyncIterator[str]:
    """Every key that matches the glob ``pattern``, once."""
    cursor = 0
    seen: set[bytes] = set()
    while True:
        raw_cursor, keys = await _ask(direct, "SCAN", cursor, "MATCH", pattern, "COUNT", CHUNK_ROWS)
        for key in keys:
            if key not in seen:
                seen.add(key)
                yield key.decode()
        cursor = int(raw_cursor)
        if cursor == 0:
            return


async def sizes_of(direct: Connection, commands: Sequence[tuple[str, str]]) -> list[int]:
    return [answer_of(reply) for reply in await direct.execute(*commands)]


async def _ask(direct: Connection, *words: str | int) -> Any:
    (reply,) = await direct.execute(words)
    return answer_of(reply)


def answer_of(reply: Reply) -> Any:
    """A server that answers an administrative read with an error (loading its files, say) is as good as none."""
    if isinstance(reply, ServerError):
        raise Unavailable(*reply.args)
    return reply


def with_text(row: dict[str, Any]) -> dict[str, Any]:
    """``row`` of an end state, with text where an adapter has left what a server answers: bytes."""
    return {
        name: value.decode(errors="backslashreplace") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def state_row(
    zone: str,
    place: str,
    message_id: str,
    *,
    shard: str | None = None,
    score: float | None = None,
    serving: bool = False,
) -> dict[str, Any]:
    return {
        "zone": zone,
        "shard": shard,
        "place": place,
        "message_id": message_id,
        "score": score,
        "serving": serving,
    }
