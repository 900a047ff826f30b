"""Operations on messages whose stored JSON matches a Lua pattern, each one script.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.getMsgWithPredicate`` and ``popMsgWithPredicate``.
"""

from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Argument


async def find(context: Context, pattern: str, *, own_shard_only: bool) -> str | None:
    """Id of a message whose JSON matches ``pattern``, waiting in the own shard if that is asked for."""
    keys = [context.keys.messages]
    if own_shard_only:
        keys.append(context.keys.queue_of(context.settings.shard))
    found: bytes | None = await context.local.eval_read(context.script("find_by_pattern"), keys, [pattern])
    return None if found is None else found.decode()


async def pop(context: Context, pattern: str, *, own_shard_only: bool) -> Delivery | None:
    """Lease the first due message whose JSON matches ``pattern``."""
    shards = (context.settings.shard,) if own_shard_only else context.settings.shards
    start_ms = context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms
    arguments: list[Argument] = [pattern, context.settings.due_until(start_ms), end_ms]
    found = await context.quorum.eval(context.script("pop_by_pattern"), context.keys_of(shards), arguments)
    if not found:
        context.counters.misses += 1
        return None
    number, member, raw = found
    message_id = member.decode()
    if context.settings.compat:
        message = Message(id=message_id, payload=raw.decode())
    else:
        message = decode(raw, message_id=message_id)
    return Delivery(
        message=message,
        shard=shards[number - 1],
        lease_start_ms=start_ms,
        leased_ms=context.clock.now_ms(),
        lease_end_ms=end_ms,
    )
