"""A TCP proxy that delivers what it is sent later, in order, each way by itself: a link to a real server, for tests.

It runs in a thread of its own, on the loopback.
"""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class DelayingProxy:
    """Listens on ``port`` and passes everything on to ``host``: ``target``, each piece after ``delay_s()``.

    ``mute`` stops passing anything on, as a black hole does. ``pieces``: so many were passed on.
    """

    def __init__(self, target: int, *, delay_s: Callable[[], float], host: str = "127.0.0.1") -> None:
        self.port = 0
        self.mute = False
        self.pieces = 0
        self._host = host
        self._target = target
        self._delay_s = delay_s
        self._listening = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._target)
        await asyncio.gather(self._way(reader, far_writer), self._way(far_reader, writer))

    async def _way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        due_s = 0.0
        while piece := await reader.read(1 << 16):
            if self.mute:
                continue
            due_s = max(due_s, self._loop.time() + self._delay_s())
            self._loop.call_at(due_s, self._pass_on, writer, piece)
        self._loop.call_at(max(due_s, self._loop.time()), writer.close)

    def _pass_on(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        if not writer.is_closing():
            self.pieces += 1
            writer.write(piece)
