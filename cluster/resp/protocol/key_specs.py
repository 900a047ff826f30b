"""Positions of the keys of a command, by the key specifications in the servers' ``COMMAND`` reply.

https://redis.io/docs/latest/develop/reference/key-specs/: a specification says where to begin looking, at a position or
behind a keyword, and how many keys there are from there, up to a last one or as many as an argument says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.cluster.resp.protocol import wire

_NO_KEY = "not_key"
"""Marks what is laid out like a key but is none, such as the channel of a sharded message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """Keys begin at ``begin``, or behind ``keyword``, looked for from there on, backwards if ``begin`` is negative.

    ``count_at``: which argument from there is the number of keys, the first of them at ``first``; None if they go on to
    ``last``, which counts from there, or from the end if it is negative, of which a ``limit`` above 1 takes that part.
    """

    begin: int
    keyword: bytes | None = None
    count_at: int | None = None
    first: int = 0
    last: int = 0
    step: int = 1
    limit: int = 0

    def keys(self, arguments: Sequence[bytes]) -> Sequence[bytes]:
        """The keys among ``arguments``, where this specification says they are."""
        begin = self.begin if self.keyword is None else self._behind_keyword(arguments)
        if begin is None or begin >= len(arguments):
            return ()
        if self.count_at is not None:
            return self._counted(arguments, begin)
        end = begin + self.last + 1
        if self.last < 0:
            end = len(arguments) + self.last + 1
            if self.limit > 1:
                end = begin + (end - begin) // self.limit
        return arguments[begin : end : self.step]

    def _counted(self, arguments: Sequence[bytes], begin: int) -> Sequence[bytes]:
        assert self.count_at is not None
        said = arguments[begin + self.count_at] if begin + self.count_at < len(arguments) else b""
        count = int(said) if said.isdigit() and len(said) < 10 else 0
        first = begin + self.first
        return arguments[first : first + count * self.step : self.step]

    def _behind_keyword(self, arguments: Sequence[bytes]) -> int | None:
        positions: Iterable[int] = range(self.begin, len(arguments))
        if self.begin < 0:
            positions = range(len(arguments) + self.begin, 0, -1)
        return next((at + 1 for at in positions if arguments[at].upper() == self.keyword), None)


def key_specs(entry: Sequence[Any]) -> tuple[KeySpec, ...]:
    """Those of one element of a ``COMMAND`` reply; what the server does not know itself is left out."""
    found = (_spec(_mapping(one)) for one in entry)
    return tuple(spec for spec in found if spec is not None)


def _spec(value: Mapping[str, Any]) -> KeySpec | None:
    begin, find = _mapping(value["begin_search"]), _mapping(value["find_keys"])
    if _NO_KEY in map(wire.text, value["flags"]) or "unknown" in (wire.text(begin["type"]), wire.text(find["type"])):
        return None
    where, how = _mapping(begin["spec"]), _mapping(find["spec"])
    by_keyword = wire.text(begin["type"]) == "keyword"
    counted = wire.text(find["type"]) == "keynum"
    return KeySpec(
        begin=where["startfrom"] if by_keyword else where["index"],
        keyword=wire.text(where["keyword"]).upper().encode() if by_keyword else None,
        count_at=how["keynumidx"] if counted else None,
        first=how["firstkey"] if counted else 0,
        last=0 if counted else how["lastkey"],
        step=max(1, how["keystep"]),
        limit=0 if counted else how["limit"],
    )


def _mapping(flat: Any) -> dict[str, Any]:
    """A map of RESP3, or the flat array that it is in RESP2."""
    pairs = flat.items() if isinstance(flat, Mapping) else zip(flat[::2], flat[1::2], strict=True)
    return {wire.text(name): value for name, value in pairs}
