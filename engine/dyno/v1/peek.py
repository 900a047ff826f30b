"""Looking at messages without leasing them.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.peek``, ``unsafePeekAllShards``, ``findStaleMessages``.
"""

from collections.abc import Iterable

from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.scores import eligible_until
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.message import Message

STALE_IDS_PER_SHARD = 10


async def peek(context: Context, count: int) -> list[Message]:
    if count < 1:
        return []
    return await _messages(context, await _due(context, context.settings.shard, count))


async def unsafe_peek_all_shards(context: Context, count: int) -> list[Message]:
    if count < 1:
        return []
    if context.settings.compat:
        return await _messages(context, await _union(context, count))
    entries: list[tuple[float, str]] = []
    until = eligible_until(context.clock.now_ms())
    for shard in context.settings.shards:
        entries += await context.local.scores_up_to(context.keys.queue_of(shard), until, limit=count)
    ids = list(dict.fromkeys(message_id for _, message_id in sorted(entries)))
    return await _messages(context, ids[:count])


async def find_stale(context: Context) -> list[str]:
    """Ids among the first due ones of every shard that have no payload; a snapshot that may be over already."""
    stale: list[str] = []
    for shard in context.settings.shards:
        now_ms = context.clock.now_ms()
        ids = await context.local.ids_up_to(context.keys.queue_of(shard), now_ms, limit=STALE_IDS_PER_SHARD)
        if ids:
            found = await context.quorum.eval_read(context.script("find_stale"), context.keys_of([shard]), ids)
            stale += [member.decode() for member in found]
    return stale


async def _due(context: Context, shard: str, count: int) -> list[str]:
    until = eligible_until(context.clock.now_ms())
    return await context.local.ids_up_to(context.keys.queue_of(shard), until, limit=count)


async def _union(context: Context, count: int) -> list[str]:
    """Return up to ``count`` ids of each shard. Like the original, check one shard too late that there are enough."""
    own = context.settings.shard
    union = dict.fromkeys(await _due(context, own, count))
    remaining = count - len(union)
    for shard in context.settings.shards:
        if shard == own:
            continue
        ids = await _due(context, shard, count)
        union |= dict.fromkeys(ids)
        remaining -= len(ids)
        if remaining <= 0:
            break
    return list(union)


async def _messages(context: Context, ids: Iterable[str]) -> list[Message]:
    """The messages of ``ids``. One without payload is left out; with ``compat`` it raises ``PayloadError``."""
    messages = []
    for message_id in ids:
        raw = await context.local.hget(context.keys.messages, message_id)
        if raw is not None:
            messages.append(decode(raw, message_id=message_id))
        elif context.settings.compat:
            raise PayloadError(f"no payload is stored for {message_id!r}")
    return messages
