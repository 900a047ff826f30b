"""Acknowledgement, and the end of one that was interrupted."""

from collections import OrderedDict

from zonelab.engine.common.failures import Effects, operation
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.ports import Indeterminate

INTERRUPTED_ACKS_MAX = 10_000


class Acks:
    """Removes the lease, then the payload. Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.ack``.

    In the original, an ack that fails between the two, or whose first reply is lost, leaks the payload for ever: the
    retry finds no lease and stops there. Here the object remembers such ids (the last ``INTERRUPTED_ACKS_MAX``), and
    the retry deletes the payload, unless the id is waiting again. With ``compat`` nothing is remembered.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._interrupted: OrderedDict[str, bool] = OrderedDict()
        """Id → whether its lease is known to be removed (otherwise it may be)."""

    async def ack(self, message_id: str) -> bool:
        interrupted = self._interrupted.get(message_id)
        waiting = interrupted is not None and await self._is_waiting(message_id)
        try:
            with operation(f"ack of {message_id!r}") as effects:
                if await self._ack_lease(message_id, effects):
                    return True
        except Indeterminate:
            self._remember(message_id, lease_removed=bool(interrupted) or effects.count > 0)
            raise
        if interrupted is None:
            return False
        return await self._finish(message_id, lease_removed=interrupted, payload_in_use=waiting)

    def forget(self, message_id: str) -> None:
        """``message_id`` is a new message from now on, or gone for good."""
        self._interrupted.pop(message_id, None)

    def forget_all(self) -> None:
        self._interrupted.clear()

    async def _ack_lease(self, message_id: str, effects: Effects) -> bool:
        context = self._context
        lease_first = context.settings.has(DynoMechanism.ACK_LEASE_FIRST)
        if not lease_first:
            effects.count += await context.quorum.hdel(context.keys.messages, message_id)
        for shard in context.settings.shards:
            if await context.quorum.zrem(context.keys.unack(shard), message_id):
                effects.count += 1
                if lease_first:
                    await context.quorum.hdel(context.keys.messages, message_id)
                self.forget(message_id)
                return True
        return False

    async def _is_waiting(self, message_id: str) -> bool:
        context = self._context
        for shard in context.settings.shards:
            if await context.quorum.zscore(context.keys.queue_of(shard), message_id) is not None:
                return True
        return False

    async def _finish(self, message_id: str, *, lease_removed: bool, payload_in_use: bool) -> bool:
        """True if the earlier attempt acknowledged the message, as far as its traces show."""
        deleted = 0
        if not payload_in_use:
            deleted = await self._context.quorum.hdel(self._context.keys.messages, message_id)
        self.forget(message_id)
        return lease_removed or deleted > 0

    def _remember(self, message_id: str, *, lease_removed: bool) -> None:
        if self._context.settings.compat:
            return
        self._interrupted[message_id] = lease_removed
        if len(self._interrupted) > INTERRUPTED_ACKS_MAX:
            self._interrupted.popitem(last=False)
