"""A client's own connection to the real server of its zone, on which messages come."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import hiredis

from zonelab.cluster.real.upstream import ServerProtocol, TcpUpstream, pack
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Command, ServerError, Unavailable

REFUSED = "ERR Storage: Datastore refused connection"


class RealSubscriber(TcpUpstream["_SubscriberProtocol"]):
    """``Subscriber`` over TCP. ``greeting``: with which its connection begins, such as a login."""

    def __init__(
        self,
        address: Address,
        *,
        loop: asyncio.AbstractEventLoop,
        greeting: Sequence[Command],
        hand_on: Callable[[list[Any]], None],
    ) -> None:
        super().__init__(address, loop=loop)
        self._greeting = greeting
        self._hand_on = hand_on

    def ask(self, command: Command) -> None:
        if self._protocol is not None:
            self._protocol.write(pack(command))

    def _new_protocol(self, on_close: Callable[[], None]) -> "_SubscriberProtocol":
        return _SubscriberProtocol(on_close, greeting=self._greeting, hand_on=self._hand_on)


class _SubscriberProtocol(ServerProtocol):
    """Hands on what comes behind the answers to the greeting; an error in the place of a message ends it."""

    def __init__(
        self, on_close: Callable[[], None], *, greeting: Sequence[Command], hand_on: Callable[[list[Any]], None]
    ) -> None:
        super().__init__(on_close)
        self._reader = hiredis.Reader(replyError=ServerError, protocolError=ConnectionError)
        self._greeting = greeting
        self._answers = len(greeting)
        self._hand_on = hand_on

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        for command in self._greeting:
            self.write(pack(command))

    def write(self, packed: bytes) -> None:
        assert self._transport is not None
        self._transport.write(packed)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._reader.feed(data)
        try:
            while self.alive and (message := self._reader.gets()) is not False:
                if isinstance(message, ServerError):
                    self._transport.abort()
                elif self._answers:
                    self._answers -= 1
                else:
                    self._hand_on(message)
        except ConnectionError:  # not RESP
            self._transport.abort()


async def subscribe(
    address: Callable[[], Address],
    greeting: Sequence[Command],
    *,
    hand_on: Callable[[list[Any]], None],
    lost: Callable[[], None],
) -> RealSubscriber:
    """Connect to the server at ``address``. Raises ``Unavailable`` if it is not there."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[bool] = loop.create_future()
    subscriber = RealSubscriber(address(), loop=loop, greeting=greeting, hand_on=hand_on)

    def closed() -> None:
        if opened.done():
            lost()
        else:
            opened.set_result(False)

    subscriber.open(on_open=lambda: opened.set_result(True), on_close=closed)
    if not await opened:
        raise Unavailable(REFUSED)
    return subscriber
