"""How an operation of several commands fails, and what its error then says of the effect.

A queue engine raises the errors of ``zonelab.engine.ports``. When an operation is made of several commands, the error
of one of them does not yet tell what became of the whole; the functions here decide that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable

COMMAND_FAILURES = (PortError, ServerError)
"""What a command may raise: no answer of its own, or an error reply."""

Failure = TypeVar("Failure", bound=Exception)


def of_fate(
    cause: PortError | ServerError, unavailable: type[Failure], indeterminate: type[Failure], rejected: type[Failure]
) -> type[Failure]:
    """Of three classes of an operation's failure the one that tells the fate of the command that raised ``cause``."""
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
