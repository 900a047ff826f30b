"""Types of RESP 3 in Lua, each a table with one field: what ``setresp(3)`` shows, and what a script returns.

Source: ``callReplyTo…`` and ``luaReplyToServerReply`` of the server's Lua engine.
"""

from collections.abc import Callable, Iterable
from typing import Any

from zonelab.cluster.sim.redis.numbers import format_double
from zonelab.cluster.sim.redis.reply import (
    BigNumberReply,
    BooleanReply,
    DoubleReply,
    ItemsReply,
    MapReply,
    PairsReply,
    SetReply,
    StatusReply,
    VerbatimReply,
    one_line,
)
from zonelab.cluster.sim.redis.resp import NullArray
from zonelab.engine.ports import Reply


class TypedValues:
    """Makes tables with ``table``, which takes a dictionary or a list."""

    def __init__(self, table: Callable[[Any], Any]) -> None:
        self._table = table

    def value(self, reply: Reply) -> Any:
        """Return a reply with its types as a script sees it after ``setresp(3)``: nil is nil."""
        if reply is None or isinstance(reply, NullArray):
            return None
        if isinstance(reply, bytes):
            return self._text(reply)
        if isinstance(reply, int):
            return bool(reply) if isinstance(reply, BooleanReply) else reply
        if not isinstance(reply, list):
            return reply
        if isinstance(reply, MapReply):
            return self._map(zip(reply[::2], reply[1::2], strict=True))
        if isinstance(reply, ItemsReply):
            return self._map(reply)
        if isinstance(reply, SetReply):
            return self._table({b"set": self._table({self.value(member): True for member in reply})})
        if isinstance(reply, PairsReply):
            reply = [list(pair) for pair in zip(reply[::2], reply[1::2], strict=True)]
        return self._table([self.value(item) for item in reply])

    def _map(self, pairs: Iterable[Any]) -> Any:
        return self._table({b"map": self._table({self.value(key): self.value(value) for key, value in pairs})})

    def _text(self, reply: bytes) -> Any:
        if isinstance(reply, StatusReply):
            return self._table({b"ok": bytes(reply)})
        if isinstance(reply, DoubleReply):
            return self._table({b"double": float(reply)})
        if isinstance(reply, BigNumberReply):
            return self._table({b"big_number": bytes(reply)})
        if isinstance(reply, VerbatimReply):
            content = {b"format": reply.form, b"string": bytes(reply)}
            return self._table({b"verbatim_string": self._table(content)})
        return reply

    def reply(self, kind: bytes, value: Any, convert: Callable[[Any], Reply]) -> Reply:
        """Return what a script's table of this ``kind`` is as a reply; ``convert`` does that for what is inside."""
        if kind == b"double":
            return DoubleReply(format_double(float(value)))
        if kind == b"map":
            return MapReply(convert(part) for pair in value.items() for part in pair)
        if kind == b"set":
            return SetReply(convert(member) for member in value)
        if kind == b"big_number":
            return BigNumberReply(one_line(value))
        text, form = value[b"string"], value[b"format"]
        if not isinstance(text, bytes) or not isinstance(form, bytes):
            return []
        verbatim = VerbatimReply(text)
        verbatim.form = form[:3].ljust(3)
        return verbatim
