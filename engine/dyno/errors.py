"""What an operation on several messages or of several commands raises when it stops in the middle.

Each failure is also the error that caused it (``Unavailable``, ``Indeterminate`` or ``ServerError``), so
``except PortError`` keeps working, and it tells how far the operation came.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.message import Receipt
from engine.ports import Indeterminate, PortError, ServerError, Unavailable

COMMAND_FAILURES = (PortError, ServerError)
"""What a command may raise: no answer of its own, or an error reply."""

Failure = TypeVar("Failure", bound=Exception)


class PayloadError(Exception):
    """A stored payload is missing or is not the JSON of a message."""


class PushFailure(Exception):
    """A push stopped at the message ``failed_id``; ``receipts`` are those of the messages before it.

    The class tells the fate of ``failed_id`` alone. Messages after it were not tried. ``Unavailable`` means that it
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


def push_failure(cause: PortError | ServerError, *, receipts: tuple[Receipt, ...], failed_id: str) -> PushFailure:
    kind = of_fate(cause, PushUnavailable, PushIndeterminate, PushRejected)
    return kind(cause, receipts=receipts, failed_id=failed_id)


def ack_failure(cause: PortError | ServerError, *, acked: tuple[bool, ...], failed_id: str) -> AckFailure:
    kind = of_fate(cause, AckUnavailable, AckIndeterminate, AckRejected)
    return kind(cause, acked=acked, failed_id=failed_id)


def of_fate(
    cause: PortError | ServerError, unavailable: type[Failure], indeterminate: type[Failure], rejected: type[Failure]
) -> type[Failure]:
    """The class that is also the error ``cause``."""
    if isinstance(cause, ServerError):
        return rejected
    return unavailable if isinstance(cause, Unavailable) else indeterminate


class Effects:
    """How many commands of an operation have taken effect so far."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def operation(name: str) -> Iterator[Effects]:
    """The commands of one operation, which counts its effects in the value of the ``with``.

    Once a command took effect the operation is no longer *certainly not applied*, whatever befalls a later one: what
    would be ``Unavailable`` or ``ServerError`` is raised as ``Indeterminate``.
    """
    effects = Effects()
    try:
        yield effects
    except (Unavailable, ServerError) as error:
        if not effects.count:
            raise
        raise Indeterminate(f"{name} is partly done: {error}") from error
