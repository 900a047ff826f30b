"""Acknowledgement of a batch, and the end of one that was interrupted."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress

from zonelab.engine.common.failures import COMMAND_FAILURES, Effects, operation
from zonelab.engine.dyno.errors import batch_ack_failure
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.v1.ack import INTERRUPTED_ACKS_MAX
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.ports import Indeterminate


class BatchAcks:
    """Removes the leases in one pipeline, then the payloads in another.

    Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue.ack``. In the original, an ack that fails
    between the two, or whose first reply is lost, leaks the payloads of the whole batch for ever: the retry finds no
    lease and stops there. Here the object remembers such ids (the last ``INTERRUPTED_ACKS_MAX``), and the retry deletes
    their payloads, unless they are waiting again. With ``compat`` nothing is remembered.
    """

    def __init__(self, context: PipelinedContext) -> None:
        self._context = context
        self._interrupted: OrderedDict[str, bool] = OrderedDict()
        """Id → whether its lease is known to be removed (otherwise it may be)."""

    async def ack(self, ids: Sequence[str]) -> list[bool]:
        """Return whether each of ``ids`` is acknowledged now, by this call or by the interrupted one that it repeats.

        Raises ``BatchAckFailure``: nothing is known of any of them, unless it is also ``Unavailable``.
        """
        retried = {each: self._interrupted[each] for each in ids if each in self._interrupted}
        removed: list[bool] = []
        try:
            with operation(f"ack of {len(ids)} messages") as effects:
                waiting = await self._waiting(retried)
                removed = await self._remove_leases(ids, effects)
                return await self._delete(ids, removed, retried, waiting)
        except COMMAND_FAILURES as error:
            if isinstance(error, Indeterminate):
                self._remember(ids, removed)
            raise batch_ack_failure(error, failed_ids=tuple(ids)) from error

    def forget(self, message_id: str) -> None:
        """``message_id`` is a new message from now on, or gone for good."""
        self._interrupted.pop(message_id, None)

    def forget_all(self) -> None:
        self._interrupted.clear()

    async def _waiting(self, retried: dict[str, bool]) -> frozenset[str]:
        ids = list(retried)
        scores = await steps.waiting_scores(self._context.quorum, self._context.keys, ids)
        return frozenset(each for each, score in zip(ids, scores, strict=True) if score is not None)

    async def _remove_leases(self, ids: Sequence[str], effects: Effects) -> list[bool]:
        if not self._context.settings.has(DynoMechanism.ACK_LEASE_FIRST):
            effects.count += sum(await steps.delete_payloads(self._context.quorum, self._context.keys, ids))
        removed = await steps.end_leases(self._context.quorum, self._context.keys, ids)
        effects.count += sum(removed)
        return removed

    async def _delete(
        self, ids: Sequence[str], removed: Sequence[bool], retried: dict[str, bool], waiting: frozenset[str]
    ) -> list[bool]:
        delete = [done or (each in retried and each not in waiting) for each, done in zip(ids, removed, strict=True)]
        targets = list(compress(ids, delete))
        found = await steps.delete_payloads(self._context.quorum, self._context.keys, targets)
        deleted = dict(zip(targets, found, strict=True))
        for each in (*targets, *retried):
            self.forget(each)
        return [
            done or (each in retried and (retried[each] or deleted.get(each, False)))
            for each, done in zip(ids, removed, strict=True)
        ]

    def _remember(self, ids: Sequence[str], removed: Sequence[bool]) -> None:
        if self._context.settings.compat:
            return
        known = frozenset(compress(ids, removed))
        for each in ids:
            if each in known or not removed or each in self._interrupted:
                self._interrupted[each] = self._interrupted.get(each, False) or each in known
        while len(self._interrupted) > INTERRUPTED_ACKS_MAX:
            self._interrupted.popitem(last=False)
