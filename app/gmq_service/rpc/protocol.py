"""The connection of one client of JSON-RPC: requests in, lines out, several under way at once."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Any, cast

from zonelab.app.gmq_service.backend.waiting import Caller
from zonelab.app.gmq_service.rpc.methods import AnswerStatus, Methods, response
from zonelab.app.gmq_service.rpc.requests import NotJson, RequestFramer, RpcRequest
from zonelab.app.gmq_service.traffic import Traffic
from zonelab.cluster.resp.busy_poll import BusyPoll
from zonelab.cluster.resp.held_bytes import HeldBytes

UNDER_WAY_MAX = 64
"""Requests of one client; what it sends beyond waits in its socket."""

FEW_CLIENTS = 4
"""When more are connected the process sleeps between requests: there is enough to do, and others need the processor."""

SILENT_S = 5.0
"""Time without a whole request after which a client gives way to a newcomer when all places are taken."""

LARGE = 1 << 16
"""Bytes of an incomplete request beyond which a client is read in turn with others of that kind."""

LARGE_BYTES_PER_S = 32 * 1024 * 1024
"""Rate of all large requests together, so that others are served beside them."""

LARGE_SHARE = 0.25
"""Largest part of the time that is spent on reading these, if they are of a kind that takes longer."""

MISTAKEN_PER_S = 1_000
"""Requests that are an error whatever the queue holds, of all clients together, beyond what they have under way."""


class Turns:
    """Turns of one kind of request that costs others time: they come one after the other, from any client."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._until_s = 0.0

    def take(self, turn_s: float, ended: Callable[[], None]) -> None:
        """Call ``ended`` at the end of a turn of this length."""
        self._until_s = max(self._loop.time(), self._until_s) + turn_s
        self._loop.call_at(self._until_s, ended)


class RpcPort:
    """State that all connections of the port share. ``compat``: a client that leaves during a Pop takes the next job
    along (N7).
    """

    def __init__(
        self,
        methods: Methods,
        *,
        traffic: Traffic,
        clients_max: int,
        request_bytes_max: int,
        held_bytes_max: int,
        compat: bool,
        silent_s: float = SILENT_S,
        busy_poll_us: int = 0,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.methods, self.traffic, self.compat = methods, traffic, compat
        self.clients_max, self.request_bytes_max = clients_max, request_bytes_max
        self.held = HeldBytes(
            held_bytes_max, under_way=held_bytes_max, loop=loop, on_closed=lambda: traffic.closed("held_bytes_max")
        )
        self.clients: dict[RpcConnection, None] = {}
        self._silent_since_s: dict[RpcConnection, float] = {}  # who has sent no whole request, longest first
        self._silent_s = silent_s
        self._work: dict[asyncio.Task[None], None] = {}
        self._loop = loop
        self.large, self.mistaken = Turns(loop), Turns(loop)
        self.polling = BusyPoll(loop, duration_us=busy_poll_us)

    def admit(self, client: "RpcConnection") -> bool:
        """Take ``client`` on; False if as many as may be are connected already, and none of them gives way."""
        if len(self.clients) >= self.clients_max and not self._one_gives_way():
            self.traffic.refused("rpc")
            return False
        self.clients[client] = None
        self._silent_since_s[client] = self._loop.time()
        return True

    def asks(self, client: "RpcConnection") -> None:
        """``client`` has sent a request, and gives way to nobody."""
        self._silent_since_s.pop(client, None)

    def forget(self, client: "RpcConnection") -> None:
        """It has left, or has to."""
        self.clients.pop(client, None)
        self._silent_since_s.pop(client, None)
        self.held.forget(client)

    def _one_gives_way(self) -> bool:
        silent, since_s = next(iter(self._silent_since_s.items()), (None, 0.0))
        if silent is None or self._loop.time() - since_s < self._silent_s:
            return False
        self.traffic.closed("no_request")
        silent.drop()
        self.forget(silent)
        return True

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._work[task] = None
        task.add_done_callback(self._ended)

    async def finish(self, *, within_s: float) -> int:
        """No request is taken any more; wait for those under way. How many are not answered."""
        for client in list(self.clients):
            client.take_no_more()
        work = list(self._work)
        if work:
            await asyncio.wait(work, timeout=within_s)
        for client in list(self.clients):
            client.close_when_sent()
        return sum(not task.done() for task in work)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._work.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.traffic.bug("an answer to JSON-RPC", error)


class RpcConnection(asyncio.Protocol):
    """One client. Bytes that are no JSON, and more of them than a request may have, close it without a word."""

    def __init__(self, port: RpcPort) -> None:
        self._port = port
        self._framing = RequestFramer()
        self._caller = Caller()
        self._under_way = 0
        self._rests = 0  # turns that are not over
        self._paused = self._ended = self._stopping = False
        self._backlog: deque[RpcRequest] = deque()
        self._transport: asyncio.Transport | None = None

    # The client of a ``HeldBytes``.

    def measured(self) -> int:
        unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
        return self._framing.held + unsent

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def take_turn(self) -> None:
        """Never waits for one."""

    # The protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not derive from asyncio's
        if not self._port.admit(self):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._port.forget(self)
        self._left()

    def eof_received(self) -> bool:
        """Keep the connection open while calls are under way: a client that sends no more may still read replies.

        One that waits in a Pop is taken for gone, except with ``compat``.
        """
        self._left()
        if not self._under_way and not self._backlog:
            return False
        self._stopping = True
        return True

    def pause_writing(self) -> None:
        self._port.held.note(self, self.measured())
        self._pause()

    def resume_writing(self) -> None:
        self._port.held.note(self, self.measured())
        self._go_on()

    def data_received(self, data: bytes) -> None:
        if self._stopping or self._ended:
            return
        begin_s = perf_counter()  # the loop's time stands still within a turn
        try:
            requests = self._framing.feed(data)
        except NotJson as error:
            self._take(error.args[0])
            self._close("not_json")
            return
        if len(self._port.clients) <= FEW_CLIENTS:
            self._port.polling.touch()
        self._take(requests)
        if self._framing.held > self._port.request_bytes_max:
            self._close("request_bytes_max")
            return
        self._port.held.note(self, self.measured())
        if self._framing.held > LARGE:
            took_s = perf_counter() - begin_s
            self._rest(self._port.large, max(len(data) / LARGE_BYTES_PER_S, took_s / LARGE_SHARE))

    def take_no_more(self) -> None:
        self._stopping = True
        self._backlog.clear()

    def close_when_sent(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _take(self, requests: list[RpcRequest]) -> None:
        if requests:
            self._port.asks(self)
        self._backlog += requests
        while self._backlog and self._under_way < UNDER_WAY_MAX and not self._rests:
            self._under_way += 1
            self._port.run(self._answer(self._backlog.popleft()))
        if self._backlog:
            self._pause()

    async def _answer(self, request: RpcRequest) -> None:
        timed = self._port.traffic.begin(request.method)
        outcome = AnswerStatus.ERROR
        try:
            answer, outcome = await self._port.methods.answer(request, self._caller)
            if self._transport is not None and not self._ended:
                self._transport.write(response(request.id, answer, is_result=outcome is AnswerStatus.RESULT))
        finally:
            timed.end("ok" if outcome is AnswerStatus.RESULT else "error")
            self._under_way -= 1
            if outcome is AnswerStatus.MISTAKEN:
                self._rest(self._port.mistaken, 1 / MISTAKEN_PER_S)
            if self._backlog and not self._ended:
                self._take([])
            if self._stopping and not self._under_way and not self._backlog:
                self.close_when_sent()
            self._go_on()

    def _close(self, why: str) -> None:
        """Close the connection after answering the earlier requests."""
        self._port.traffic.closed(why)
        self._stopping = True
        if not self._under_way:
            self.close_when_sent()
        else:
            self._pause()

    def _rest(self, turns: Turns, turn_s: float) -> None:
        self._rests += 1
        self._pause()
        turns.take(turn_s, self._rested)

    def _rested(self) -> None:
        self._rests -= 1
        if self._backlog and not self._ended:
            self._take([])
        self._go_on()

    def _left(self) -> None:
        if not self._port.compat:
            self._caller.leave()

    def _pause(self) -> None:
        if not self._paused and not self._ended and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _go_on(self) -> None:
        crowded = self._backlog or self._stopping or self._rests
        if self._paused and not crowded and not self._ended and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
