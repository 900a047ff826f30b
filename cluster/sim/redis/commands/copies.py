"""COPY, and DUMP with RESTORE: a value under another name, or as bytes that a simulated server reads again."""

from ast import literal_eval
from struct import pack, unpack_from
from zlib import crc32

from zonelab.cluster.sim.redis.numbers import format_17_digits, integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import OK, SYNTAX, fail
from zonelab.cluster.sim.redis.store import Database, copied
from zonelab.cluster.sim.redis.stream_value import Stream
from zonelab.cluster.sim.redis.values import HashValue, List, Set, SortedSet, Value
from zonelab.engine.ports import Reply

_MARK = b"zonelab"
_DATABASES = 16
_BAD_PAYLOAD = "ERR DUMP payload version or checksum are wrong"


@command("copy", -3)
def copy(store: Database, args: Args) -> Reply:
    source, target = args[:2]
    replace = False
    words = iter(args[2:])
    for word in words:
        if word.upper() == b"REPLACE":
            replace = True
        elif word.upper() == b"DB" and (number := next(words, None)) is not None:
            check_database(number)
        else:
            fail(SYNTAX)
    if source == target:
        fail("ERR source and destination objects are the same")
    value = store.find(source)
    if value is None:
        return 0
    if store.find(target) is not None:
        if not replace:
            return 0
        store.announce("new", target)
    store.put(target, copied(value))
    if (until_ms := store.expiry_ms(source)) is not None:
        store.end_at(target, until_ms)
    store.changed(target, "copy_to")
    return 1


def check_database(number: bytes) -> None:
    """Raise the error for a database that the server or the model does not have: that has number 0 only."""
    chosen = integer(number)
    if not -(1 << 31) <= chosen < 1 << 31:
        fail("ERR value is out of range, value must between -2147483648 and 2147483647")
    if not 0 <= chosen < _DATABASES:
        fail("ERR DB index is out of range")
    if chosen:
        fail("ERR the simulated server models database 0 only; run with --on process")


@command("select", 2)
def select(store: Database, args: Args) -> Reply:
    check_database(args[0])
    return OK


@command("dump", 2)
def dump(store: Database, args: Args) -> Reply:
    value = store.find(args[0])
    if value is None:
        return None
    return packed(*_written(value))


def packed(kind: bytes, words: list[bytes]) -> bytes:
    """Return a payload of these ``words``; ``kind`` is one letter."""
    body = _MARK + kind + b"".join(pack(">I", len(word)) + word for word in words)
    return body + pack(">I", crc32(body))


def unpacked(payload: bytes, kind: bytes) -> list[bytes]:
    """Return the words of a payload of this ``kind``; raise the error for any other."""
    found, words = _parts(payload)
    return words if found == kind else fail(_BAD_PAYLOAD)


def _written(value: Value) -> tuple[bytes, list[bytes]]:
    if isinstance(value, bytes):
        return b"s", [value]
    if type(value) is HashValue:
        return b"h", [part for pair in value.items() for part in pair]
    if isinstance(value, SortedSet):
        entries = value.between(0, len(value))
        return b"Z" if value.indexed else b"z", [
            part for score, member in entries for part in (member, format_17_digits(score))
        ]
    if isinstance(value, List | Set):
        return b"l" if isinstance(value, List) else b"e", list(value)
    if isinstance(value, Stream):
        return b"x", [repr(value.plain()).encode()]
    return fail("ERR the simulated server does not model DUMP of this type; run with --on process")


def _parts(payload: bytes) -> tuple[bytes, list[bytes]]:
    body = payload[:-4]
    if not body.startswith(_MARK) or pack(">I", crc32(body)) != payload[-4:]:
        fail(_BAD_PAYLOAD)
    at, words = len(_MARK) + 1, []
    while at < len(body):
        (size,) = unpack_from(">I", body, at)
        words.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return body[len(_MARK) : len(_MARK) + 1], words


def _read(payload: bytes) -> Value:
    kind, words = _parts(payload)
    if kind == b"s":
        return words[0]
    if kind == b"h":
        return HashValue(zip(words[::2], words[1::2], strict=True))
    if kind == b"l":
        return List(words)
    if kind == b"e":
        return Set(dict.fromkeys(words))
    if kind == b"x":
        return Stream.of_plain(literal_eval(words[0].decode()))
    if kind not in (b"Z", b"z"):
        fail(_BAD_PAYLOAD)
    entries = SortedSet()
    entries.indexed = kind == b"Z"
    for member, score in zip(words[::2], words[1::2], strict=True):
        entries.set(member, float(score))
    return entries


@command("restore", -4)
def restore(store: Database, args: Args) -> Reply:
    key, ttl, payload = args[:3]
    flags = _restore_flags(args[3:])
    if b"REPLACE" not in flags and store.find(key) is not None:
        fail("BUSYKEY Target key name already exists.")
    left_ms = integer(ttl)
    if left_ms < 0:
        fail("ERR Invalid TTL value, must be >= 0")
    value = _read(payload)
    until_ms = left_ms if b"ABSTTL" in flags else store.now_ms + left_ms
    there = store.find(key) is not None
    if left_ms and until_ms < store.now_ms:
        store.changes += not store.delete(key)
        return OK
    store.discard(key)
    store.changes += there
    store.put(key, value)
    if left_ms:
        store.end_at(key, until_ms)
    store.changed(key, "restore")
    return OK


def _restore_flags(words: Args) -> dict[bytes, None]:
    flags: dict[bytes, None] = {}
    rest = iter(words)
    for word in rest:
        option = word.upper()
        if option in (b"REPLACE", b"ABSTTL"):
            flags[option] = None
            continue
        other = {b"IDLETIME": b"FREQ", b"FREQ": b"IDLETIME"}.get(option)
        if other is None or other in flags or (text := next(rest, None)) is None:
            fail(SYNTAX)
        number = integer(text)
        if option == b"IDLETIME" and number < 0:
            fail("ERR Invalid IDLETIME value, must be >= 0")
        if option == b"FREQ" and not 0 <= number <= 255:
            fail("ERR Invalid FREQ value, must be >= 0 and <= 255")
        flags[option] = None
    return flags
