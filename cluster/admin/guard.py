"""Authorization: who may read and who may change something. A browser that shows another site's page must not.

Three attacks are known on programs that listen on a loopback port: a page sends a request there (refused: its browser
adds an ``Origin``), a page has its own name resolved to 127.0.0.1 (refused: the ``Host`` is not ours), and another user
of the machine sends a request (refused for changes: the token is in a file that only its owner can read).
"""

import hmac
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from zonelab.cluster.admin.settings import LOOPBACK_NAMES

_READING = ("GET", "HEAD")


class Guard:
    """ASGI middleware that answers 403 or 401 to whom it does not let through, in the form of the other errors.

    ``reading_needs_token``: also what changes nothing is for those with the token only, except for the paths that are
    ``open_to_all``. ``open_without_token``: if there is none, anybody may change something who may read.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Iterable[str] = (),
        reading_needs_token: bool = False,
        open_to_all: Iterable[str] = (),
        open_without_token: bool = False,
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset((*LOOPBACK_NAMES, *hosts))
        self._reading_needs_token = reading_needs_token
        self._open_to_all = frozenset(open_to_all)
        self._open_without_token = open_without_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Request(scope))) is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> JSONResponse | None:
        host = _name_of(request.headers.get("host", ""))
        if host not in self._hosts:
            return refused(f"host: got {host!r}; accepted: {', '.join(sorted(self._hosts))}", status=403)
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers['host']}":
            return refused(f"pages of {origin} may not use this", status=403)
        if request.method in _READING and (not self._reading_needs_token or request.url.path in self._open_to_all):
            return None
        if self._token is None and self._open_without_token:
            return None
        if self._token is None:
            return refused("nobody may change anything here: it was started without a token", status=403)
        if not shows_token(request.headers.get("authorization", "").encode("latin-1"), self._token):
            return refused("this needs the right token, as Authorization: Bearer …", status=401)
        return None


def shows_token(authorization: bytes, token: str | None) -> bool:
    """Returns True if the header ``Authorization`` of a request has ``token``; without a token nobody shows it."""
    return token is not None and hmac.compare_digest(authorization, f"Bearer {token}".encode())


def refused(error: str, *, status: int) -> JSONResponse:
    """The form of every error answer."""
    return JSONResponse({"error": error}, status_code=status)


def _name_of(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdigit() else host.lower()
