"""Errors of an operation on several messages, or of several commands, that stops in the middle.

Each failure is also the error that caused it (``Unavailable``, ``Indeterminate`` or ``ServerError``), so
``except PortError`` keeps working, and it states how far the operation came. V1 handles messages one by one and names
the message at which it stopped; V2 and hardened mode handle batches and raise the ``Batch…`` kinds of these failures.
"""

from zonelab.engine.common.failures import of_fate
from zonelab.engine.message import Receipt
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable


class PayloadError(Exception):
    """A stored payload is missing or is not the JSON of a message."""


class PushFailure(Exception):
    """A push stopped at the message ``failed_id``; ``receipts`` are those of the messages before it.

    The class states the fate of ``failed_id`` alone. Messages after it were not tried. ``Unavailable`` means that it
    is certainly not listed in a queue, though its payload may have been written.
    """

    def __init__(self, cause: Exception, *, receipts: tuple[Receipt, ...], failed_id: str) -> None:
        super().__init__(f"push of {failed_id!r} failed after {len(receipts)} pushed: {cause}")
        self.receipts = receipts
        self.failed_id = failed_id


class PushUnavailable(PushFailure, Unavailable):
    pass


class PushIndeterminate(PushFailure, Indeterminate):
    pass


class PushRejected(PushFailure, ServerError):
    pass


class AckFailure(Exception):
    """An ack of several ids stopped at ``failed_id``; ``acked`` are the answers for the ids before it, in order."""

    def __init__(self, cause: Exception, *, acked: tuple[bool, ...], failed_id: str) -> None:
        super().__init__(f"ack of {failed_id!r} failed after {len(acked)} answered: {cause}")
        self.acked = acked
        self.failed_id = failed_id


class AckUnavailable(AckFailure, Unavailable):
    pass


class AckIndeterminate(AckFailure, Indeterminate):
    pass


class AckRejected(AckFailure, ServerError):
    pass


class BatchPushFailure(PushFailure):
    """A push failed for ``failed_ids``, all of which share the fate that the class states.

    ``receipts`` are those of the messages that were pushed. What is in neither was not tried.
    """

    def __init__(self, cause: Exception, *, receipts: tuple[Receipt, ...], failed_ids: tuple[str, ...]) -> None:
        super().__init__(cause, receipts=receipts, failed_id=failed_ids[0])
        self.failed_ids = failed_ids


class BatchPushUnavailable(BatchPushFailure, Unavailable):
    pass


class BatchPushIndeterminate(BatchPushFailure, Indeterminate):
    pass


class BatchPushRejected(BatchPushFailure, ServerError):
    pass


class BatchAckFailure(AckFailure):
    """An ack failed for ``failed_ids``, all of which share the fate that the class states.

    ``acked_ids`` are acknowledged. What is in neither had no lease where it was looked for, or was not tried.
    """

    def __init__(self, cause: Exception, *, failed_ids: tuple[str, ...], acked_ids: tuple[str, ...] = ()) -> None:
        super().__init__(cause, acked=(True,) * len(acked_ids), failed_id=failed_ids[0])
        self.failed_ids = failed_ids
        self.acked_ids = acked_ids


class BatchAckUnavailable(BatchAckFailure, Unavailable):
    pass


class BatchAckIndeterminate(BatchAckFailure, Indeterminate):
    pass


class BatchAckRejected(BatchAckFailure, ServerError):
    pass


class UnsupportedOperation(NotImplementedError):
    """The operation does not exist in this kind of queue (``UnsupportedOperationException`` of the original)."""


def push_failure(cause: PortError | ServerError, *, receipts: tuple[Receipt, ...], failed_id: str) -> PushFailure:
    kind = of_fate(cause, PushUnavailable, PushIndeterminate, PushRejected)
    return kind(cause, receipts=receipts, failed_id=failed_id)


def ack_failure(cause: PortError | ServerError, *, acked: tuple[bool, ...], failed_id: str) -> AckFailure:
    kind = of_fate(cause, AckUnavailable, AckIndeterminate, AckRejected)
    return kind(cause, acked=acked, failed_id=failed_id)


def batch_push_failure(
    cause: PortError | ServerError, *, receipts: tuple[Receipt, ...], failed_ids: tuple[str, ...]
) -> BatchPushFailure:
    kind = of_fate(cause, BatchPushUnavailable, BatchPushIndeterminate, BatchPushRejected)
    return kind(cause, receipts=receipts, failed_ids=failed_ids)


def batch_ack_failure(
    cause: PortError | ServerError, *, failed_ids: tuple[str, ...], acked_ids: tuple[str, ...] = ()
) -> BatchAckFailure:
    kind = of_fate(cause, BatchAckUnavailable, BatchAckIndeterminate, BatchAckRejected)
    return kind(cause, failed_ids=failed_ids, acked_ids=acked_ids)
