"""A client on asyncio: any number of requests at once over one connection."""

import asyncio
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
    checked,
    popped,
    push_argument,
    request_line,
    split_reply,
)


class GmqClient:
    """``async with GmqClient() as gmq: …``. ``address``: ``HOST:PORT`` or ``unix:PATH``.

    Raises ``OSError`` if the service is not reached or goes away, ``TimeoutError`` if it does not answer within
    ``timeout_s``.
    """

    def __init__(self, address: str = ADDRESS_DEFAULT, *, timeout_s: float = 30.0) -> None:
        self._address, self._timeout_s = address, timeout_s
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[tuple[Any, str | None]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Connect. Raises ``GmqError`` for an address of unknown form, ``OSError``, ``TimeoutError``."""
        try:
            listen = parse_listen(self._address)
        except ValueError:
            listen = None
        if listen is None:
            raise GmqError(f"address: got {self._address!r}; accepted: HOST:PORT or unix:PATH")
        async with asyncio.timeout(self._timeout_s):
            if listen.path is None:
                opening = asyncio.open_connection(listen.host, listen.port, limit=REPLY_BYTES_MAX)
            else:
                opening = asyncio.open_unix_connection(str(listen.path), limit=REPLY_BYTES_MAX)
            reader, self._writer = await opening
        self._reading = asyncio.create_task(self._read(reader))

    async def push(self, job_id: str, *, topic: str, body: str = "", delay_s: int = 0, ttr_s: int = 60) -> None:
        """Store a job. Raises ``GmqError`` if there is one with this id, or it could not be stored."""
        argument = push_argument(job_id, topic=topic, body=body, delay_s=delay_s, ttr_s=ttr_s)
        check_pushed(await self._ask("Push", argument))

    async def pop(self, *topics: str) -> PoppedJob | None:
        """A job of the first of ``topics`` that has any; None if there is none within two seconds.

        Who cancels it may lose the job that is on its way, until its TTR is over: close the client to leave in order.
        """
        return popped(await self._ask("Pop", list(topics)))

    async def ack(self, job_id: str) -> bool:
        """The work is done. Raises ``JobGone``, and ``GmqError`` if the job's TTR is over or it was not popped."""
        return bool(await self._ask("Ack", job_id))

    async def close(self) -> None:
        """Requests under way fail."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._writer is not None:
            self._writer.close()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, method: str, argument: Any) -> Any:
        if self._writer is None or self._reading is None or self._reading.done():
            raise ConnectionResetError("the client is not connected")
        self._asked += 1
        number = self._asked
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(request_line(method, argument, number))
            await self._writer.drain()
            async with asyncio.timeout(self._timeout_s):
                return checked(*await waiting)
        finally:
            self._waiting.pop(number, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        failure: Exception = ConnectionResetError("the service closed the connection")
        try:
            while line := await reader.readline():
                number, result, error = split_reply(line)
                if not isinstance(number, int) or not 0 < number <= self._asked:
                    raise WrongReply(f"got the reply to id {number!r}, which was not asked")
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result((result, error))
        except (OSError, ValueError, WrongReply) as error:
            failure = error
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(failure)
            if self._writer is not None:
                self._writer.close()
