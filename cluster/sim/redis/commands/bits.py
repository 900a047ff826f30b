"""Commands on the bits of strings. Bit 0 is the highest one of the first byte."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_, xor

from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

_BITS_MAX = 512 * 1024 * 1024 * 8
_BAD_OFFSET = "ERR bit offset is not an integer or out of range"
_BAD_BIT = "ERR bit is not an integer or out of range"
_BAD_TYPE = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
_UNSIGNED_MAX = (1 << 64) - 1
_OVERFLOWS = (b"WRAP", b"SAT", b"FAIL")


def _offset(text: bytes, *, unit: int = 0) -> int:
    """A position; with a ``unit`` it may be a multiple of that, written as ``#7``."""
    multiple = unit > 0 and text.startswith(b"#")
    value = integer(text[1:] if multiple else text, _BAD_OFFSET) * (unit if multiple else 1)
    return value if 0 <= value < _BITS_MAX else fail(_BAD_OFFSET)


def _bit(text: bytes, error: str) -> int:
    value = integer(text, error)
    return value if value in (0, 1) else fail(error)


@command("setbit", 4)
def setbit(store: Database, args: Args) -> Reply:
    offset, bit = _offset(args[1]), _bit(args[2], _BAD_BIT)
    value = store.get(args[0], bytes)
    place, mask = offset >> 3, 0x80 >> (offset & 7)
    changed = bytearray((value or b"").ljust(place + 1, b"\0"))
    old = int(bool(changed[place] & mask))
    changed[place] = changed[place] & ~mask | (mask if bit else 0)
    if value is None or len(changed) > len(value) or old != bit:
        store.put(args[0], bytes(changed), keep_expiry=True)
        store.changed(args[0], "setbit")
    return old


@command("getbit", 3)
def getbit(store: Database, args: Args) -> Reply:
    offset = _offset(args[1])
    value = store.get(args[0], bytes) or b""
    place = offset >> 3
    return int(place < len(value) and bool(value[place] & 0x80 >> (offset & 7)))


@dataclass(frozen=True)
class _BitRange:
    """Bits from ``start`` up to but not ``stop``. ``given``: its end was named."""

    start: int
    stop: int
    given: bool

    def bits(self, value: bytes) -> int:
        """Return the bits of the range as a number."""
        width = len(value) * 8
        return (int.from_bytes(value, "big") >> (width - self.stop)) & ((1 << (self.stop - self.start)) - 1)


def _span(words: Args) -> Callable[[int], _BitRange]:
    """Return what makes a range of a string's length out of ``[start [end [BYTE|BIT]]]``."""
    if len(words) > 3:
        fail(SYNTAX)
    start = integer(words[0]) if words else 0
    if len(words) == 3 and words[2].upper() not in (b"BYTE", b"BIT"):
        fail(SYNTAX)
    unit = 1 if len(words) == 3 and words[2].upper() == b"BIT" else 8
    end = integer(words[1]) if len(words) > 1 else -1

    def of(length: int) -> _BitRange:
        size = length * 8 // unit
        first = max(0, start + size if start < 0 else start)
        last = min(size - 1, max(0, end + size if end < 0 else end))
        if first > last:
            return _BitRange(0, 0, given=len(words) > 1)
        return _BitRange(first * unit, (last + 1) * unit, given=len(words) > 1)

    return of


@command("bitcount", -2)
def bitcount(store: Database, args: Args) -> Reply:
    span = _span(args[1:])
    backwards = len(args) > 2 and integer(args[2]) < integer(args[1]) < 0
    value = store.get(args[0], bytes)
    if value is None or backwards:
        return 0
    return span(len(value)).bits(value).bit_count()


@command("bitpos", -3)
def bitpos(store: Database, args: Args) -> Reply:
    bit = integer(args[1])
    if bit not in (0, 1):
        fail("ERR The bit argument must be 1 or 0.")
    span = _span(args[2:])
    value = store.get(args[0], bytes)
    if value is None:
        return -1 if bit else 0
    found = span(len(value))
    size = found.stop - found.start
    if not size:
        return -1
    bits = found.bits(value)
    if not bit:
        bits ^= (1 << size) - 1
    if bits:
        return found.start + size - bits.bit_length()
    return -1 if bit or found.given else found.stop


_OPERATIONS: dict[bytes, Callable[[int, int], int]] = {b"AND": and_, b"OR": or_, b"XOR": xor}


@command("bitop", -4)
def bitop(store: Database, args: Args) -> Reply:
    name, target, keys = args[0].upper(), args[1], args[2:]
    if name not in _OPERATIONS and name != b"NOT":
        fail(SYNTAX)
    if name == b"NOT" and len(keys) != 1:
        fail("ERR BITOP NOT must be called with a single source key.")
    values = [store.get(key, bytes) or b"" for key in keys]
    size = max(map(len, values))
    if not size:
        store.delete(target)
        return 0
    numbers = [int.from_bytes(value.ljust(size, b"\0"), "big") for value in values]
    result = numbers[0] ^ ((1 << size * 8) - 1) if name == b"NOT" else reduce(_OPERATIONS[name], numbers)
    store.put(target, result.to_bytes(size, "big"))
    store.changed(target, "set")
    return size


@dataclass(frozen=True)
class _FieldStep:
    """One step of BITFIELD: GET, SET or INCRBY a number of ``width`` bits at ``offset``."""

    verb: bytes
    signed: bool
    width: int
    offset: int
    operand: int
    overflow: bytes

    def carry_out(self, value: bytearray) -> int | None:
        """Return what the step answers, None if it overflows and that fails it."""
        old = self._read(value)
        if self.verb == b"GET":
            return old
        wanted = old + self.operand
        if self.verb == b"SET":
            wanted = self.operand if self.signed else self.operand & _UNSIGNED_MAX
        new = self._fitted(wanted)
        if new is None:
            return None
        self._write(value, new)
        return old if self.verb == b"SET" else new

    def _read(self, value: bytearray) -> int:
        raw = 0
        for place in range(self.offset, self.offset + self.width):
            byte = value[place >> 3] if place >> 3 < len(value) else 0
            raw = raw << 1 | (byte >> (7 - (place & 7)) & 1)
        return raw - (1 << self.width) if self.signed and raw >> (self.width - 1) else raw

    def _fitted(self, number: int) -> int | None:
        low = -(1 << (self.width - 1)) if self.signed else 0
        high = (1 << (self.width - self.signed)) - 1
        if low <= number <= high:
            return number
        if self.overflow == b"FAIL":
            return None
        if self.overflow == b"SAT":
            wraps = self.verb == b"SET" and self.signed and self.width < 64 and high - number > INTEGER_MAX
            return high if number > high or wraps else low
        raw = number & ((1 << self.width) - 1)
        return raw - (1 << self.width) if self.signed and raw >> (self.width - 1) else raw

    def _write(self, value: bytearray, number: int) -> None:
        for count, place in enumerate(range(self.offset + self.width - 1, self.offset - 1, -1)):
            mask = 0x80 >> (place & 7)
            value[place >> 3] = value[place >> 3] & ~mask | (mask if number >> count & 1 else 0)


def _type(text: bytes) -> tuple[bool, int]:
    kind, width = text[:1], text[1:]
    if kind not in (b"i", b"u") or not width:
        fail(_BAD_TYPE)
    bits = integer(width, _BAD_TYPE)
    if not 1 <= bits <= (64 if kind == b"i" else 63):
        fail(_BAD_TYPE)
    return kind == b"i", bits


def _steps(words: Args) -> Iterator[_FieldStep]:
    overflow, at = b"WRAP", 0
    while at < len(words):
        verb, left = words[at].upper(), len(words) - at - 1
        if verb == b"OVERFLOW" and left >= 1:
            overflow = words[at + 1].upper()
            if overflow not in _OVERFLOWS:
                fail("ERR Invalid OVERFLOW type specified")
            at += 2
            continue
        size = {b"GET": 3, b"SET": 4, b"INCRBY": 4}.get(verb)
        if size is None or left < size - 1:
            fail(SYNTAX)
        signed, width = _type(words[at + 1])
        offset = _offset(words[at + 2], unit=width)
        operand = integer(words[at + 3]) if size == 4 else 0
        yield _FieldStep(verb, signed, width, offset, operand, overflow)
        at += size


@command("bitfield", -2)
def bitfield(store: Database, args: Args) -> Reply:
    steps = list(_steps(args[1:]))
    writing = [step for step in steps if step.verb != b"GET"]
    found = store.get(args[0], bytes)
    value = bytearray(found or b"")
    if writing:
        value = value.ljust(max((step.offset + step.width + 7) // 8 for step in writing), b"\0")
    grown = len(value) > len(found or b"")
    replies: list[Reply] = []
    written = False
    for step in steps:
        before = bytes(value)
        replies.append(step.carry_out(value))
        written = written or before != value or (grown and step.verb != b"GET" and replies[-1] is not None)
    if writing:
        store.put(args[0], bytes(value), keep_expiry=True)
        store.changes += 1
        if written:
            store.announce("setbit", args[0])
    return replies


@command("bitfield_ro", -2)
def bitfield_ro(store: Database, args: Args) -> Reply:
    steps = list(_steps(args[1:]))
    if any(step.verb != b"GET" for step in steps):
        fail("ERR BITFIELD_RO only supports the GET subcommand")
    value = bytearray(store.get(args[0], bytes) or b"")
    return [step.carry_out(value) for step in steps]
