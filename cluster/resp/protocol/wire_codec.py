"""Commands and replies as the bytes that clients and servers sent, for coordinators that have to understand them."""

from collections.abc import Sequence
from typing import Any, cast

import hiredis

from zonelab.cluster.real.upstream import pack
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.engine.ports import Command, Reply

_STATUSES = frozenset({"SET", "MSET", "HMSET"})


class WireCodec:
    """``Codec`` of a gateway. A transaction, and what travels with a WATCH, cannot be separated."""

    def commands(self, commands: Sequence[Command], packed: bytes | None) -> Sequence[Command] | None:
        if not isinstance(commands, WireCommands) or not commands.plain or packed is None:
            return None
        reader = hiredis.Reader()
        reader.feed(packed)
        return [tuple(reader.gets()) for _ in commands]

    def inside(self, commands: Sequence[Command], packed: bytes | None) -> Sequence[Command] | None:
        if not isinstance(commands, WireCommands) or commands.replies == 1 or packed is None:
            return None
        reader = hiredis.Reader()
        reader.feed(packed)
        return [tuple(reader.gets()) for _ in range(commands.replies)][1:-1]

    def like(self, commands: Sequence[Command], model: Sequence[Command]) -> Sequence[Command]:
        return WireCommands(commands, protocol=_protocol(model))

    def packed(self, commands: Sequence[Command]) -> bytes:
        return b"".join(map(pack, commands))

    def decoded(self, reply: Reply) -> Any:
        assert isinstance(reply, bytes)
        return wire.value(reply)

    def encoded(self, name: str, value: Any, model: Sequence[Command]) -> Reply:
        protocol = _protocol(model)
        if value is None:
            return wire.NIL[protocol]
        if isinstance(value, list):
            return wire.array(cast(bytes, self.encoded("", item, model)) for item in value)
        if isinstance(value, int):
            return wire.integer(value)
        if name in _STATUSES:
            return wire.status(value.decode())
        if name == "ZSCORE" and protocol == 3:
            return b",%b\r\n" % value
        return wire.bulk(value)


def _protocol(commands: Sequence[Command]) -> int:
    return commands.protocol if isinstance(commands, WireCommands) else 2
