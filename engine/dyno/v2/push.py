"""Pushing a batch: one pipeline, and what became of each message when it did not work."""

from collections.abc import Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.errors import batch_push_failure
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.message_json import encode
from zonelab.engine.dyno.scores import due_score
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.dyno.v2.steps import ListingEntry
from zonelab.engine.message import Message, Receipt
from zonelab.engine.ports import Indeterminate, Reply, ServerError


async def push_batch(context: PipelinedContext, messages: Sequence[Message]) -> list[Receipt]:
    """Write payloads and ids in one pipeline. Raises ``BatchPushFailure``."""
    keys, now_ms = context.keys, context.clock.now_ms()
    due_ms = [now_ms + message.timeout_ms for message in messages]
    entries = [
        ListingEntry(message.id, encode(message), due_score(due, priority=message.priority))
        for message, due in zip(messages, due_ms, strict=True)
    ]
    receipts = [
        Receipt(id=message.id, shard=keys.shard, due_ms=due) for message, due in zip(messages, due_ms, strict=True)
    ]
    payload_first = context.settings.has(DynoMechanism.PAYLOAD_BEFORE_ID)
    commands = steps.push_commands(keys, entries, payload_first=payload_first)
    try:
        replies = await context.quorum.execute(*commands) if commands else []
    except COMMAND_FAILURES as error:
        failed_ids = tuple(message.id for message in messages)
        raise batch_push_failure(error, receipts=(), failed_ids=failed_ids) from error
    if not context.settings.compat:
        _check(receipts, replies)
    return receipts


def _check(receipts: Sequence[Receipt], replies: Sequence[Reply]) -> None:
    """Raise if a reply is an error. The original never looks at these replies."""
    fates = [_refusals(pair) for pair in zip(replies[::2], replies[1::2], strict=True)]
    refused = [(receipt, errors) for receipt, errors in zip(receipts, fates, strict=True) if errors]
    if not refused:
        return
    cause: ServerError | Indeterminate = refused[0][1][0]
    if any(len(errors) == 1 for _, errors in refused):
        cause = Indeterminate(f"push is partly done: {cause}")
    pushed = tuple(receipt for receipt, errors in zip(receipts, fates, strict=True) if not errors)
    failed_ids = tuple(receipt.id for receipt, _ in refused)
    raise batch_push_failure(cause, receipts=pushed, failed_ids=failed_ids) from cause


def _refusals(replies: tuple[Reply, Reply]) -> list[ServerError]:
    return [reply for reply in replies if isinstance(reply, ServerError)]
