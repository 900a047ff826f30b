"""A client that waits for each answer, for programs without an event loop."""

import socket
from types import TracebackType
from typing import Any, Self

from zonelab.app.gmq_service.addresses import parse_listen
from zonelab.app.gmq_service.clients.messages import (
    ADDRESS_DEFAULT,
    REPLY_BYTES_MAX,
    GmqError,
    PoppedJob,
    WrongReply,
    check_pushed,
    popped,
    push_argument,
    request_line,
    result_of,
)


class BlockingGmqClient:
    """One connection, one request at a time. ``address``: ``HOST:PORT`` or ``unix:PATH``. Not for several threads.

    Raises ``OSError`` if the service is not reached, or does not answer within ``timeout_s``; the connection is closed
    then.
    """

    def __init__(self, address: str = ADDRESS_DEFAULT, *, timeout_s: float = 30.0) -> None:
        self._socket = _connected(address, timeout_s)
        self._lines = self._socket.makefile("rb")
        self._asked = 0

    def push(self, job_id: str, *, topic: str, body: str = "", delay_s: int = 0, ttr_s: int = 60) -> None:
        """Store a job. Raises ``GmqError`` if there is one with this id, or it could not be stored."""
        check_pushed(self._ask("Push", push_argument(job_id, topic=topic, body=body, delay_s=delay_s, ttr_s=ttr_s)))

    def pop(self, *topics: str) -> PoppedJob | None:
        """A job of the first of ``topics`` that has any; None if there is none within two seconds."""
        return popped(self._ask("Pop", list(topics)))

    def ack(self, job_id: str) -> bool:
        """The work is done. Raises ``JobGone``, and ``GmqError`` if the job's TTR is over or it was not popped."""
        return bool(self._ask("Ack", job_id))

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, argument: Any) -> Any:
        self._asked += 1
        try:
            self._socket.sendall(request_line(method, argument, self._asked))
            line = self._lines.readline(REPLY_BYTES_MAX)
            if not line.endswith(b"\n"):
                raise ConnectionResetError("the service closed the connection before it answered")
            return result_of(line, self._asked)
        except (OSError, WrongReply):
            self.close()
            raise


def _connected(address: str, timeout_s: float) -> socket.socket:
    try:
        listen = parse_listen(address)
    except ValueError:
        listen = None
    if listen is None:
        raise GmqError(f"address: got {address!r}; accepted: HOST:PORT or unix:PATH")
    if listen.path is None:
        made = socket.create_connection((listen.host, listen.port), timeout_s)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(timeout_s)
    made.connect(str(listen.path))
    return made
