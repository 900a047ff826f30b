"""Sizes of commands and replies as RESP has them, for counts of bytes where nothing is encoded."""

from collections.abc import Iterable, Sequence

from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.engine.ports import Argument, Command, Reply, ServerError

_LINE = 3
"""Bytes of a line beside its text: the type and the line break."""


def bytes_of_commands(commands: Sequence[Command]) -> int:
    """Return the bytes of ``commands``, each an array of bulk strings."""
    return sum(_head(len(command)) + sum(map(_bulk, command)) for command in commands)


def bytes_of_answer(answer: Sequence[Reply] | ZoneFailure) -> int:
    """Return the bytes of the replies to a batch; a failure is one line."""
    return _LINE + len(str(answer)) if isinstance(answer, ZoneFailure) else bytes_of_replies(answer)


def bytes_of_replies(replies: Iterable[Reply]) -> int:
    """Return the bytes of ``replies``, those in arrays included."""
    return sum(map(_reply, replies))


def _reply(reply: Reply) -> int:
    if reply is None:
        return _LINE + 2
    if isinstance(reply, int):
        return _LINE + len(str(reply))
    if isinstance(reply, ServerError):
        return _LINE + len(str(reply))
    if isinstance(reply, list):
        return _head(len(reply)) + bytes_of_replies(reply)
    return _bulk(reply)


def _bulk(word: Argument) -> int:
    text = word if isinstance(word, bytes) else str(word).encode()
    return _head(len(text)) + len(text) + _LINE - 1


def _head(count: int) -> int:
    return _LINE + len(str(count))
