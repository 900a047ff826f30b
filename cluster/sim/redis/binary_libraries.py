"""``cmsgpack``, ``struct`` and ``bit`` of scripts: https://github.com/antirez/lua-cmsgpack, Roberto Ierusalimschy's
``struct`` and Mike Pall's ``BitOp``, as the server has them.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

from lupa import lua51

from zonelab.cluster.sim.redis.script_functions import (
    LuaFailure,
    int32,
    integer_argument,
    number_argument,
    truncated,
    type_name,
)

_NESTING_MAX = 16
_MISSING = "Missing bytes in input."
_BAD_DATA = "Bad data format in input."
_INTEGERS = ((0xCC, ">B"), (0xCD, ">H"), (0xCE, ">I"), (0xCF, ">Q"))
_NEGATIVES = ((0xD0, ">b"), (0xD1, ">h"), (0xD2, ">i"), (0xD3, ">q"))
_FLOATS = {0xCA: ">f", 0xCB: ">d"}
_LENGTHS = {code + offset: form for code in (0xD9, 0xC4) for offset, form in enumerate((">B", ">H", ">I"))}


class MessagePackLibrary:
    """``table`` makes a table of Lua out of a list or dict."""

    def __init__(self, *, table: Callable[[Any], Any]) -> None:
        self._table = table

    def pack(self, *values: Any) -> bytes:
        """Return the encodings of ``values``, one behind the other."""
        if not values:
            raise LuaFailure("bad argument #0 to 'pack' (MessagePack pack needs input.)")
        return b"".join(_packed(value, 0) for value in values)

    def unpack(self, *words: Any) -> Any:
        """Return all values of a text."""
        return self._unpacked(_text(words, "unpack"), 0, 0)

    def unpack_one(self, *words: Any) -> Any:
        """Return where the next value begins, -1 at the end, and the value at an offset."""
        offset = integer_argument(words, 1, "unpack_one") if len(words) > 1 else 0
        return self._unpacked(_text(words, "unpack_one"), 1, offset)

    def unpack_limit(self, *words: Any) -> Any:
        """Return as ``unpack_one``, up to so many values."""
        limit = integer_argument(words, 1, "unpack_limit")
        offset = integer_argument(words, 2, "unpack_limit") if len(words) > 2 else 0
        return self._unpacked(_text(words, "unpack_limit"), limit, offset)

    def _unpacked(self, data: bytes, limit: int, offset: int) -> Any:
        if offset < 0 or limit < 0:
            raise LuaFailure(f"Invalid request to unpack with offset of {offset} and limit of {len(data)}.")
        if offset > len(data):
            raise LuaFailure(f"Start offset {offset} greater than input length {len(data)}.")
        values: list[Any] = []
        at = offset
        while at < len(data) and (not limit or len(values) < limit):
            value, at = self._one(data, at)
            values.append(value)
        if limit:
            values.insert(0, -1 if at == len(data) else at)
        return tuple(values)

    def _one(self, data: bytes, at: int) -> tuple[Any, int]:
        code = _bytes(data, at, 1)[0]
        at += 1
        if code <= 0x7F or code >= 0xE0:
            return code if code <= 0x7F else code - 256, at
        if code <= 0x8F:
            return self._map(data, at, code & 15)
        if code <= 0x9F:
            return self._array(data, at, code & 15)
        if code <= 0xBF:
            return _bytes(data, at, code & 31), at + (code & 31)
        if code in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
        for number, form in (*_FLOATS.items(), *_INTEGERS, *_NEGATIVES):
            if code == number:
                return struct.unpack(form, _bytes(data, at, struct.calcsize(form)))[0], at + struct.calcsize(form)
        if code in _LENGTHS:
            size, at = _length(data, at, _LENGTHS[code])
            return _bytes(data, at, size), at + size
        if code in (0xDC, 0xDD, 0xDE, 0xDF):
            size, at = _length(data, at, ">I" if code & 1 else ">H")
            return self._array(data, at, size) if code < 0xDE else self._map(data, at, size)
        raise LuaFailure(_BAD_DATA)

    def _array(self, data: bytes, at: int, size: int) -> tuple[Any, int]:
        items = {}
        for place in range(1, size + 1):
            value, at = self._one(data, at)
            if value is not None:
                items[place] = value
        return self._table(items), at

    def _map(self, data: bytes, at: int, size: int) -> tuple[Any, int]:
        fields = {}
        for _ in range(size):
            key, at = self._one(data, at)
            fields[key], at = self._one(data, at)
        return self._table(fields), at


def _bytes(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise LuaFailure(_MISSING)
    return data[at : at + size]


def _length(data: bytes, at: int, form: str) -> tuple[int, int]:
    size = struct.calcsize(form)
    return struct.unpack(form, _bytes(data, at, size))[0], at + size


def _text(words: tuple[Any, ...], function: str, *, number: int = 1) -> bytes:
    """Return the first of ``words``, which is argument ``number``, as ``luaL_checklstring`` does."""
    word = words[0] if words else None
    if isinstance(word, int | float) and not isinstance(word, bool):
        return b"%.14g" % word
    if not isinstance(word, bytes):
        raise LuaFailure(
            f"bad argument #{number} to '{function}' (string expected, got {type_name(word) if words else 'no value'})"
        )
    return word


def _packed(value: Any, depth: int) -> bytes:
    if isinstance(value, bytes):
        return _headed(len(value), value, (0xA0, 31), (0xD9, 0xDA, 0xDB))
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int | float):
        return _packed_number(value)
    if value is None or lua51.lua_type(value) != "table" or depth == _NESTING_MAX:
        return b"\xc0"
    items = list(value.items())
    if _is_array(items):
        by_place = dict(items)
        body = b"".join(_packed(by_place[place], depth + 1) for place in range(1, len(items) + 1))
        return _headed(len(items), body, (0x90, 15), (None, 0xDC, 0xDD))
    body = b"".join(_packed(part, depth + 1) for pair in items for part in pair)
    return _headed(len(items), body, (0x80, 15), (None, 0xDE, 0xDF))


def _headed(size: int, body: bytes, fixed: tuple[int, int], codes: tuple[int | None, int, int]) -> bytes:
    """Return ``body`` behind its length: within the code, or in 1, 2 or 4 bytes."""
    if size <= fixed[1]:
        return bytes((fixed[0] | size,)) + body
    for code, form, most in zip(codes, (">B", ">H", ">I"), (0xFF, 0xFFFF, 0xFFFFFFFF), strict=True):
        if code is not None and size <= most:
            return bytes((code,)) + struct.pack(form, size) + body
    raise LuaFailure(_BAD_DATA)


def _packed_number(value: float) -> bytes:
    if not -(2**63) <= value < 2**63 or value != int(value):
        return _packed_fraction(value)
    whole = int(value)
    if -32 <= whole <= 127:
        return struct.pack("b", whole)
    for code, form in _INTEGERS if whole >= 0 else _NEGATIVES:
        width = struct.calcsize(form) * 8
        if -(1 << (width - 1)) <= whole < (1 << width if whole >= 0 else 0):
            return bytes((code,)) + struct.pack(form, whole)
    raise LuaFailure(_BAD_DATA)


def _packed_fraction(value: float) -> bytes:
    try:
        short = struct.pack(">f", value)
    except OverflowError:
        return b"\xcb" + struct.pack(">d", value)
    return b"\xca" + short if struct.unpack(">f", short)[0] == value else b"\xcb" + struct.pack(">d", value)


def _is_array(items: list[tuple[Any, Any]]) -> bool:
    keys = [key for key, _ in items]
    whole = all(
        isinstance(key, int | float) and not isinstance(key, bool) and key >= 1 and key == int(key) for key in keys
    )
    return whole and max(keys, default=0) == len(keys)


class StructLibrary:
    """Numbers and texts in fields of bytes. Formats: ``< > = !`` and ``b B h H l L T i I f d s x c``."""

    def pack(self, *words: Any) -> bytes:
        """Return the values behind a format as its fields."""
        packed = b""
        at = 1
        for field in _fields(words, "pack"):
            packed += b"\0" * _padding(len(packed), field)
            if field.kind == "x":
                packed += b"\0"
                continue
            if field.kind in "sc":
                word = words[at] if at < len(words) else None
                text = word if isinstance(word, bytes) else b"%.14g" % number_argument(words, at, "pack")
                size = field.size if field.kind == "c" and field.size else len(text)
                if len(text) < size:
                    raise LuaFailure(f"bad argument #{at + 2} to 'pack' (string too short)")
                packed += text[:size] + (b"\0" if field.kind == "s" else b"")
            elif field.kind in "fd":
                packed += struct.pack(f"{field.order}{field.kind}", number_argument(words, at, "pack"))
            else:
                whole = truncated(number_argument(words, at, "pack")) & ((1 << 8 * field.size) - 1)
                packed += whole.to_bytes(field.size, "little" if field.order == "<" else "big")
            at += 1
        return packed

    def unpack(self, *words: Any) -> Any:
        """Return the values and the position behind them."""
        fields = _fields(words, "unpack")
        data = _text(words[1:], "unpack", number=2)
        at = integer_argument(words, 2, "unpack") - 1 if len(words) > 2 else 0
        if at < 0:
            raise LuaFailure("bad argument #3 to 'unpack' (offset must be 1 or greater)")
        values: list[Any] = []
        for field in fields:
            at += _padding(at, field)
            size = field.size
            if field.kind == "c" and not size:
                if not values or not isinstance(values[-1], int | float):
                    raise LuaFailure("format 'c0' needs a previous size")
                size = int(values.pop())
            if field.kind == "s":
                end = data.find(b"\0", at)
                if end < 0:
                    raise LuaFailure("unfinished string in data")
                size = end - at + 1
            if at + size > len(data):
                raise LuaFailure("bad argument #2 to 'unpack' (data string too short)")
            values += _value(field, data[at : at + size])
            at += size
        return (*values, at + 1)

    def size(self, *words: Any) -> int:
        """Return the number of bytes that a format takes."""
        total = 0
        for field in _fields(words, "size"):
            if field.kind == "s" or (field.kind == "c" and not field.size):
                option = "s" if field.kind == "s" else "c0"
                raise LuaFailure(f"bad argument #1 to 'size' (option '{option}' has no fixed size)")
            total += _padding(total, field) + field.size
        return total


class _Field:
    __slots__ = ("alignment", "kind", "order", "size")

    def __init__(self, kind: str, size: int, order: str, alignment: int) -> None:
        self.kind, self.size, self.order, self.alignment = kind, size, order, alignment


_SIZES = {"b": 1, "B": 1, "h": 2, "H": 2, "l": 8, "L": 8, "T": 8, "f": 4, "d": 8, "x": 1, "s": 0}
_UNALIGNED = "xsc"


def _fields(words: tuple[Any, ...], function: str) -> Iterator[_Field]:
    text = _text(words, function).decode("latin-1")
    order, largest, at = "<", 1, 0
    while at < len(text):
        kind = text[at]
        at += 1
        begin = at
        while kind in "ciI!" and at < len(text) and text[at].isdigit():
            at += 1
        given = int(text[begin:at]) if at > begin else None
        if kind in "<>=":
            order = ">" if kind == ">" else "<"
        elif kind == "!":
            largest = 8 if given is None else given
            if largest & (largest - 1) or not largest:
                raise LuaFailure(f"alignment {largest} is not a power of 2")
        elif kind in "iI":
            size = 4 if given is None else given
            if not 1 <= size <= 32:
                raise LuaFailure(f"integral size {size} is larger than limit of 32")
            yield _Field(kind, size, order, min(size, largest))
        elif kind == "c":
            yield _Field(kind, 1 if given is None else given, order, 1)
        elif kind in _SIZES:
            size = _SIZES[kind]
            yield _Field(kind, size, order, 1 if kind in _UNALIGNED else min(size, largest))
        elif kind != " " and function != "size":
            raise LuaFailure(f"bad argument #1 to '{function}' (invalid format option '{kind}')")


def _padding(at: int, field: _Field) -> int:
    return -at % field.alignment if field.alignment > 1 else 0


def _value(field: _Field, data: bytes) -> list[Any]:
    if field.kind == "x":
        return []
    if field.kind in "sc":
        return [data[:-1] if field.kind == "s" else data]
    if field.kind in "fd":
        return [struct.unpack(f"{field.order}{field.kind}", data)[0]]
    signed = field.kind in "bhli"
    return [float(int.from_bytes(data, "little" if field.order == "<" else "big", signed=signed))]


class BitLibrary:
    """Operations on 32 bits; results are signed."""

    def tobit(self, *words: Any) -> int:
        return _bits(words, 0, "tobit")

    def bnot(self, *words: Any) -> int:
        return int32(~_bits(words, 0, "bnot"))

    def band(self, *words: Any) -> int:
        return _folded(words, "band", lambda one, other: one & other)

    def bor(self, *words: Any) -> int:
        return _folded(words, "bor", lambda one, other: one | other)

    def bxor(self, *words: Any) -> int:
        return _folded(words, "bxor", lambda one, other: one ^ other)

    def lshift(self, *words: Any) -> int:
        return int32(_bits(words, 0, "lshift") << (_bits(words, 1, "lshift") & 31))

    def rshift(self, *words: Any) -> int:
        return int32((_bits(words, 0, "rshift") & 0xFFFFFFFF) >> (_bits(words, 1, "rshift") & 31))

    def arshift(self, *words: Any) -> int:
        return int32(_bits(words, 0, "arshift") >> (_bits(words, 1, "arshift") & 31))

    def rol(self, *words: Any) -> int:
        return _rotated(_bits(words, 0, "rol"), _bits(words, 1, "rol"))

    def ror(self, *words: Any) -> int:
        return _rotated(_bits(words, 0, "ror"), -_bits(words, 1, "ror"))

    def bswap(self, *words: Any) -> int:
        return int32(int.from_bytes((_bits(words, 0, "bswap") & 0xFFFFFFFF).to_bytes(4, "little"), "big"))

    def tohex(self, *words: Any) -> bytes:
        """Return so many hexadecimal digits, in capitals if the number of them is negative."""
        number = _bits(words, 0, "tohex") & 0xFFFFFFFF
        count = _bits(words, 1, "tohex") if len(words) > 1 else 8
        digits = b"%08x" % number
        return (digits.upper() if count < 0 else digits)[8 - min(8, abs(count)) :]


def _bits(words: tuple[Any, ...], place: int, function: str) -> int:
    """Return a number as its lowest 32 bits, rounded to the nearest whole one, to an even one if there are two."""
    number = number_argument(words, place, function)
    if number != number or abs(number) == float("inf"):
        return 0
    return int32(round(number))


def _folded(words: tuple[Any, ...], function: str, operation: Callable[[int, int], int]) -> int:
    result = _bits(words, 0, function)
    for place in range(1, len(words)):
        result = operation(result, _bits(words, place, function))
    return int32(result)


def _rotated(bits: int, count: int) -> int:
    raw, count = bits & 0xFFFFFFFF, count & 31
    return int32(raw << count | raw >> (32 - count) if count else raw)
