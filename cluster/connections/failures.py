"""Errors that a coordinator gives where no server has answered, in Dynomite's words, and one that a server gives."""

from zonelab.engine.ports import ServerError

UNKNOWN_SCRIPT = "NOSCRIPT"
"""Beginning of a server's error when EVALSHA names a script that it does not hold, so that nothing was begun."""

NO_QUORUM = "ERR Dynomite: Failed to achieve Quorum"
STORAGE_REFUSED = "ERR Storage: Datastore refused connection"
PEER_NOT_CONNECTED = "ERR Peer: Peer Node is not connected"
PEER_REFUSED = "ERR Peer: Peer Node refused connection"


class ZoneFailure(ServerError):
    """An error that no server gave: it stands in for a zone's missing reply, or for an answer that no quorum gave.

    ``maybe_applied`` is false only if the command certainly never reached the server that it stands for.
    """

    def __init__(self, text: str, *, maybe_applied: bool) -> None:
        super().__init__(text)
        self.maybe_applied = maybe_applied
