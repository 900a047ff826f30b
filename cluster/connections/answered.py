"""Errors in replies of a zone's port that no server gave, raised as the zone's own coordinator would raise them."""

from collections.abc import Sequence

from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED
from zonelab.engine.ports import Command, Connection, Indeterminate, Reply, ServerError, Unavailable

_OF_NO_SERVER = (NO_QUORUM, STORAGE_REFUSED, PEER_NOT_CONNECTED, PEER_REFUSED)
"""Replies of a zone's port that no server gave: none is a refusal, since zones may have carried the command out."""


def answered(commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
    """``replies``. Raises an error of the ports for what a zone's port says in place of a server."""
    for reply in replies:
        if isinstance(reply, ServerError) and str(reply) in _OF_NO_SERVER:
            raise (Indeterminate if any(map(is_write, commands)) else Unavailable)(str(reply))
    return replies


class AnsweredConnection:
    """``connection`` to a zone's port, or to a server, which never says such a thing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, *commands: Command) -> list[Reply]:
        """Run ``commands`` as one pipeline; errors as in ``Connection.execute``."""
        return answered(commands, await self._connection.execute(*commands))
