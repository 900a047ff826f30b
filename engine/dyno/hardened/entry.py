"""How a message is entered into a zone's lists."""

from engine.dyno.hardened.context import HardenedContext
from engine.dyno.hardened.mechanisms import Hardening
from engine.dyno.hardened.records.record import rank
from engine.dyno.hardened.records.steps import Put
from engine.dyno.message_json import encode
from engine.dyno.scores import due_score
from engine.message import Message


def put_of(message: Message, *, shard: str, due_ms: int, context: HardenedContext) -> Put:
    score = due_score(due_ms, priority=message.priority)
    ranked = context.settings.has(Hardening.PRIORITY_ORDER)
    return Put(
        id=message.id,
        payload=encode(message),
        shard=shard,
        score=score,
        rank=rank(due_ms, priority=message.priority) if ranked else score,
        due=due_ms <= context.clock.now_ms(),
    )
