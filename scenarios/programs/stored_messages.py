"""Search of all keys of a zone's server for messages, whatever queue has put them there."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from zonelab.engine.ports import Command, Connection, Reply, ServerError
from zonelab.scenarios.programs.id_finder import IdFinder

_CHUNK = 500
"""Keys looked at in one pipeline, and elements read at a time."""

_DEAD = re.compile(rb"(?i)(?:^|[^a-z])(?:dead|dlq|xq|failed|archived)(?:$|[^a-z])")
"""Names of what queues set aside, in the key: rq's and BullMQ's ``failed``, asynq's ``archived``, dramatiq's ``XQ``."""


@dataclass(frozen=True, kw_only=True)
class SearchBounds:
    """Bounds of the search of one zone; beyond them it is not complete."""

    keys: int = 500_000
    bytes: int = 256 * 1024 * 1024
    value_bytes: int = 16 * 1024 * 1024
    """Bytes of one value that is a text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredMessage:
    """One place where a message is stored."""

    message_id: str
    key: str
    kind: str
    """Part of the key that has it: ``key``, ``string``, ``list``, ``set``, ``sorted set``, ``field``, ``value`` of a
    hash, or ``stream``."""
    encoding: str
    describes: bool
    """It is under the message's own name, as a key or a field is: no worker finds the message there."""
    stays: bool = False
    """It is a key or a field whose name ends with the id, and the key has no time to live, as that of a result has."""
    score: float | None = None

    @property
    def place(self) -> str:
        """Return the place as in ``zonelab.analysis.runs.history.FINAL_STATE``."""
        if self.describes:
            return "payload"
        return "dead" if _DEAD.search(self.key.encode("utf-8", "surrogatepass")) else "queue"

    def __str__(self) -> str:
        return f"{self.key!r} ({self.kind}{'' if self.encoding == 'plain' else f', {self.encoding}'})"


@dataclass(kw_only=True, slots=True)
class ZoneSearch:
    """Result of the search of one zone. ``complete``: all keys were read whole."""

    stored: list[StoredMessage] = field(default_factory=list)
    complete: bool = True
    keys: int = 0
    bytes: int = 0


async def search_zone(direct: Connection, finder: IdFinder, bounds: SearchBounds = SearchBounds()) -> ZoneSearch:
    """Return where the server behind ``direct`` stores the messages of ``finder``. Raises ``PortError``."""
    return await _KeySearch(direct, finder, bounds).search()


class _KeySearch:
    """One search under way."""

    def __init__(self, direct: Connection, finder: IdFinder, bounds: SearchBounds) -> None:
        self._direct = direct
        self._finder = finder
        self._bounds = bounds
        self._result = ZoneSearch()
        self._expiring: set[bytes] = set()

    async def search(self) -> ZoneSearch:
        cursor: Any = 0
        seen: set[bytes] = set()
        while True:
            cursor, keys = await self._ask("SCAN", cursor, "COUNT", _CHUNK)
            new = [key for key in dict.fromkeys(keys) if key not in seen]
            seen.update(new)
            await self._read(new)
            if self._is_full():
                self._result.complete = False
                return self._result
            if int(cursor) == 0:
                return self._result

    def _is_full(self) -> bool:
        return self._result.keys > self._bounds.keys or self._result.bytes > self._bounds.bytes

    async def _read(self, keys: Sequence[bytes]) -> None:
        """Read ``keys``: the first piece of all in one pipeline, and what is longer by itself."""
        if not keys:
            return
        self._result.keys += len(keys)
        asked = await self._direct.execute(*(("TYPE", key) for key in keys), *(("PTTL", key) for key in keys))
        types, left_ms = asked[: len(keys)], asked[len(keys) :]
        self._expiring = {key for key, left in zip(keys, left_ms, strict=True) if isinstance(left, int) and left >= 0}
        known = [(key, _READINGS[kind]) for key, kind in zip(keys, map(_text, types), strict=True) if kind in _READINGS]
        self._result.complete &= all(_text(kind) in (*_READINGS, "none") for kind in types)
        for key in keys:
            self._note(key, _Element("key", key))
        commands = [reading.command(key, reading.begin, self._bounds) for key, reading in known]
        replies = await self._direct.execute(*commands) if commands else []
        for (key, reading), reply in zip(known, replies, strict=True):
            await self._read_on(key, reading, reply)

    async def _read_on(self, key: bytes, reading: "_Reading", reply: Reply) -> None:
        at, named = reading.begin, self._finder.found(key).keys()
        while True:
            if reply is None or isinstance(reply, ServerError):
                return  # it has expired, or is another kind of key by now
            for element in reading.elements(reply):
                self._note(key, element, named)
            at = reading.following(at, reply, self._bounds)
            if at is _CUT:
                self._result.complete = False
                return
            if at is None or self._is_full():
                return
            (reply,) = await self._direct.execute(reading.command(key, at, self._bounds))

    def _note(self, key: bytes, element: "_Element", named: Collection[str] = ()) -> None:
        """Note the messages of an element; ``named``: those that the key names."""
        self._result.bytes += len(element.data)
        if not (found := self._finder.found(element.data)):
            return
        named = {*named, *(self._finder.found(element.field) if element.field else ())}
        stays = element.kind in _NAMED and key not in self._expiring
        shown = key.decode("utf-8", "backslashreplace")
        self._result.stored += [
            StoredMessage(
                message_id=one,
                key=shown,
                kind=element.kind,
                encoding=encoding,
                score=element.score,
                stays=stays and element.data.endswith(one.encode("utf-8", "surrogatepass")),
                describes=element.kind in _DESCRIBING or one in named,
            )
            for one, encoding in found.items()
        ]

    async def _ask(self, *words: Any) -> Any:
        (reply,) = await self._direct.execute(words)
        if isinstance(reply, ServerError):
            raise reply
        return reply


_NAMED = ("key", "field")
_DESCRIBING = (*_NAMED, "string")


class _Element(NamedTuple):
    """A piece of a key, and for a value of a hash its field."""

    kind: str
    data: bytes
    score: float | None = None
    field: bytes = b""


_CUT: Any = object()
"""Stands for a rest that is not read."""


class _Reading:
    """Reading of keys of one kind, piece by piece. ``begin``: where the first piece begins."""

    begin: Any = 0

    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        """The command for the piece at ``at``."""
        raise NotImplementedError

    def elements(self, reply: Any) -> Iterator[_Element]:
        """The kind, the bytes and the score of each element of a piece."""
        raise NotImplementedError

    def following(self, at: Any, reply: Any, bounds: SearchBounds) -> Any:
        """Return the beginning of the next piece; None: there is none. ``_CUT``: it is not read."""
        return reply[0] if int(reply[0]) else None


class _Strings(_Reading):
    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("GETRANGE", key, 0, bounds.value_bytes)

    def elements(self, reply: Any) -> Iterator[_Element]:
        yield _Element("string", reply)

    def following(self, at: Any, reply: Any, bounds: SearchBounds) -> Any:
        return _CUT if len(reply) > bounds.value_bytes else None


class _Lists(_Reading):
    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("LRANGE", key, at, at + _CHUNK - 1)

    def elements(self, reply: Any) -> Iterator[_Element]:
        yield from (_Element("list", one) for one in reply)

    def following(self, at: Any, reply: Any, bounds: SearchBounds) -> Any:
        return at + _CHUNK if len(reply) == _CHUNK else None


class _Sets(_Reading):
    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("SSCAN", key, at, "COUNT", _CHUNK)

    def elements(self, reply: Any) -> Iterator[_Element]:
        yield from (_Element("set", one) for one in reply[1])


class _SortedSets(_Reading):
    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("ZSCAN", key, at, "COUNT", _CHUNK)

    def elements(self, reply: Any) -> Iterator[_Element]:
        flat = reply[1]
        yield from (_Element("sorted set", one, float(score)) for one, score in zip(flat[::2], flat[1::2], strict=True))


class _Hashes(_Reading):
    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("HSCAN", key, at, "COUNT", _CHUNK)

    def elements(self, reply: Any) -> Iterator[_Element]:
        flat = reply[1]
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            yield _Element("field", name)
            yield _Element("value", value, field=name)


class _Streams(_Reading):
    begin = "-"

    def command(self, key: bytes, at: Any, bounds: SearchBounds) -> Command:
        return ("XRANGE", key, at, "+", "COUNT", _CHUNK)

    def elements(self, reply: Any) -> Iterator[_Element]:
        for number, words in reply:
            yield _Element("stream", number)
            yield from (_Element("stream", one) for one in words)

    def following(self, at: Any, reply: Any, bounds: SearchBounds) -> Any:
        return b"(" + reply[-1][0] if len(reply) == _CHUNK else None


_READINGS: dict[str, _Reading] = {
    "string": _Strings(),
    "list": _Lists(),
    "set": _Sets(),
    "zset": _SortedSets(),
    "hash": _Hashes(),
    "stream": _Streams(),
}
"""By the names that TYPE answers."""


def _text(reply: Reply) -> str:
    return reply.decode() if isinstance(reply, bytes) else str(reply)
