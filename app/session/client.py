"""The command line's way to the supervisor."""

from typing import Any

import httpx

from zonelab.app.session.state_file import SessionFile, StateDirectory
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import NotAccepted

CALL_S = 90.0
"""A restart that copies another zone's data may take that long."""

READ_S = 15.0
"""Time-out of a request that only reads, which is answered at once."""

_WRONG_ASKED = (409, 422)


class NotUp(ClusterError):
    """There is no cluster to ask."""


class Control:
    """Asks one supervisor."""

    def __init__(self, session: SessionFile, *, timeout_s: float = CALL_S) -> None:
        self.session = session
        self._timeout_s = timeout_s

    @classmethod
    def of_user(cls, state: StateDirectory) -> "Control":
        """Raises ``NotUp``."""
        session = state.read()
        if session is None:
            raise NotUp("no cluster is up: zonelab up starts one")
        if session.supervisor.is_gone():
            raise NotUp("the cluster was killed: zonelab down removes what is left of it, zonelab up starts a new one")
        if not session.control:
            raise NotUp("the cluster has not started yet: try again in a second, or end it with zonelab down")
        return cls(session)

    def get(self, path: str) -> dict[str, Any]:
        return self._asked("GET", path, timeout_s=min(READ_S, self._timeout_s))

    def post(self, path: str, body: Any = None) -> dict[str, Any]:
        return self._asked("POST", path, body, timeout_s=self._timeout_s)

    def _asked(self, method: str, path: str, body: Any = None, *, timeout_s: float) -> dict[str, Any]:
        """Raises ``NotAccepted`` if it was asked for what cannot be, ``ClusterError`` if it failed."""
        try:
            answer = httpx.request(
                method,
                self.session.control + path,
                json=body,
                headers={"Authorization": f"Bearer {self.session.token}"},
                timeout=timeout_s,
                trust_env=False,
            )
        except httpx.TransportError as error:
            raise NotUp(f"the supervisor does not answer at {self.session.control}: {error}") from error
        if answer.status_code in _WRONG_ASKED:
            raise NotAccepted(answer.json()["error"])
        if answer.is_error:
            raise ClusterError(_said(answer))
        value: dict[str, Any] = answer.json()
        return value


def _said(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError):
        return f"the supervisor answered {answer.status_code}: {answer.text[:200]}"
