"""Between the service and its server: it hands on one command after the other, and kills or stops at the one drawn."""

import asyncio
from dataclasses import dataclass

import hiredis
from support.gmq_kills.steps import step_of, took

HOLD_S = 0.02
"""How long a command is held back before a kill, so that answers that are on their way arrive."""


@dataclass(frozen=True)
class Moment:
    """The ``nth`` command of ``step``: ``before`` the server has it, or after it was executed, its reply lost."""

    step: str
    before: bool
    nth: int

    def __str__(self):
        return f"{'before' if self.before else 'after'} {self.step} {self.nth}"


class Proxy:
    """``end`` is called once, at ``moment``; then ``ended`` is set. Who is killed sends and hears nothing more."""

    def __init__(self, server_port, moment, end, *, how):
        self._server_port, self._moment, self._end, self._kills = server_port, moment, end, how == "kill"
        self._seen = 0
        self.ended = asyncio.Event()
        self._listener = None
        self._tasks = set()

    async def start(self):
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._listener.sockets[0].getsockname()[1]

    async def stop(self):
        self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        server, upstream = await asyncio.open_connection("127.0.0.1", self._server_port)
        try:
            await self._pass_on(reader, writer, server, upstream)
        except OSError:
            return
        finally:
            self._tasks.discard(asyncio.current_task())
            upstream.close()
            writer.close()

    async def _pass_on(self, reader, writer, server, upstream):
        commands, replies = hiredis.Reader(), hiredis.Reader()
        while data := await reader.read(1 << 16):
            commands.feed(data)
            while (command := commands.gets()) is not False:
                await self._at(command, before=True)
                if self._is_dead:
                    return
                upstream.write(hiredis.pack_command(tuple(command)))
                reply, raw = await self._reply(server, replies)
                if took(command, reply):
                    await self._at(command, before=False)
                if self._is_dead:
                    return
                writer.write(raw)

    @staticmethod
    async def _reply(server, replies):
        raw = b""
        while (reply := replies.gets()) is False:
            data = await server.read(1 << 16)
            if not data:
                raise ConnectionResetError
            raw += data
            replies.feed(data)
        return reply, raw

    @property
    def _is_dead(self):
        return self._kills and self.ended.is_set()

    async def _at(self, command, *, before):
        moment = self._moment
        if before is not moment.before or step_of(command) != moment.step or self.ended.is_set():
            return
        self._seen += 1
        if self._seen == moment.nth:
            if before and self._kills:
                await asyncio.sleep(HOLD_S)
            self.ended.set()
            self._end()
