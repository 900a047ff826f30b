"""Failures of an operation of several commands, and what the error says about its effect.

A queue engine raises the errors of ``zonelab.engine.ports``. When an operation is made of several commands, the error
of one of them does not decide the outcome of the whole; the functions here do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable

COMMAND_FAILURES = (PortError, ServerError)
"""Errors that a command may raise: no answer, or an error reply."""

Failure = TypeVar("Failure", bound=Exception)


def of_fate(
    cause: PortError | ServerError, unavailable: type[Failure], indeterminate: type[Failure], rejected: type[Failure]
) -> type[Failure]:
    """Choose the class of an operation's failure that states the fate of the command that raised ``cause``."""
    if isinstance(cause, ServerError):
        return rejected
    return unavailable if isinstance(cause, Unavailable) else indeterminate


class Effects:
    """Count of the commands of an operation that have taken effect so far."""

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
