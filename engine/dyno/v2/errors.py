"""What operations on a batch raise: which messages share the fate that the error's class tells.

They are also the failures of ``engine.dyno.errors``, so code that knows only those goes on working.
"""

from engine.dyno.errors import AckFailure, PushFailure, of_fate
from engine.message import Receipt
from engine.ports import Indeterminate, PortError, ServerError, Unavailable


class BatchPushFailure(PushFailure):
    """A push failed for ``failed_ids``, all of which share the fate that the class tells.

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
    """An ack failed for ``failed_ids``, all of which share the fate that the class tells.

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
