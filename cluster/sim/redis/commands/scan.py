"""SCAN, HSCAN, SSCAN and ZSCAN.

What the server promises, and nothing more: an element that is there from the first call to the last is returned at
least once (https://valkey.io/commands/scan/). The order is that of a checksum of the element, and the cursor is the
last checksum returned, so the promise holds whatever is added and removed in between.
"""

from collections.abc import Iterable
from heapq import nsmallest
from zlib import crc32

from zonelab.cluster.glob import matches
from zonelab.cluster.sim.redis.numbers import format_17_digits, format_double, integer, unsigned
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import SYNTAX, fail, text
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import TYPE_NAMES, HashValue, Set, SortedSet
from zonelab.engine.ports import Reply

_DEFAULT_COUNT = 10
_NAMES_ONLY = {b"NOVALUES": "HSCAN", b"NOSCORES": "ZSCAN"}


class _ScanOptions:
    def __init__(self, words: Args, accepted: tuple[bytes, ...]) -> None:
        self.count = _DEFAULT_COUNT
        self.pattern: bytes | None = None
        self.type_name: bytes | None = None
        self.names_only = False
        at = 0
        while at < len(words):
            at += self._read(words[at].upper(), words[at + 1 :], accepted)

    def _read(self, option: bytes, rest: Args, accepted: tuple[bytes, ...]) -> int:
        """Take one option; the number of its words."""
        if option in _NAMES_ONLY:
            if option not in accepted:
                fail(f"ERR {text(option)} option can only be used in {_NAMES_ONLY[option]}")
            self.names_only = True
            return 1
        if not rest or option not in (b"COUNT", b"MATCH", *accepted):
            fail(SYNTAX)
        if option == b"COUNT":
            self.count = integer(rest[0])
            if self.count < 1:
                fail(SYNTAX)
        elif option == b"MATCH":
            self.pattern = rest[0]
        else:
            self.type_name = rest[0].lower()
            if self.type_name not in TYPE_NAMES.values():
                fail(f"ERR unknown type name '{text(rest[0])}'")
        return 2

    def wants(self, element: bytes) -> bool:
        return self.pattern is None or matches(self.pattern, element)


def _cursor(raw: bytes) -> int:
    return unsigned(raw, "ERR invalid cursor")


def _page(elements: Iterable[bytes], cursor: int, count: int) -> tuple[bytes, list[bytes]]:
    """The next ``count`` elements, more if checksums are equal; with the cursor for the ones after them."""
    ahead = [(place, element) for element in elements if (place := crc32(element) + 1) > cursor]
    page = nsmallest(count, ahead)
    if len(page) == len(ahead):
        return b"0", [element for _, element in page]
    last = page[-1][0]
    return b"%d" % last, [element for place, element in sorted(ahead) if place <= last]


@command("scan", -2)
def scan(store: Database, args: Args) -> Reply:
    cursor = _cursor(args[0])
    options = _ScanOptions(args[1:], (b"TYPE",))
    following, page = _page(store.names(), cursor, options.count)
    for key in store.over():
        if _wanted(store, key, options):
            store.end(key)
    return [following, [key for key in page if _wanted(store, key, options)]]


def _wanted(store: Database, key: bytes, options: _ScanOptions) -> bool:
    type_name = options.type_name
    return options.wants(key) and (type_name is None or TYPE_NAMES[store.kind(key)] == type_name)


@command("hscan", -3)
def hscan(store: Database, args: Args) -> Reply:
    cursor = _cursor(args[1])
    fields = store.get(args[0], HashValue)
    if fields is None:
        return [b"0", []]
    options = _ScanOptions(args[2:], (b"NOVALUES",))
    following, page = _page(fields, cursor, options.count)
    wanted = [name for name in page if options.wants(name)]
    if options.names_only:
        return [following, wanted]
    return [following, [part for name in wanted for part in (name, fields[name])]]


@command("sscan", -3)
def sscan(store: Database, args: Args) -> Reply:
    cursor = _cursor(args[1])
    members = store.get(args[0], Set)
    if members is None:
        return [b"0", []]
    options = _ScanOptions(args[2:], ())
    following, page = _page(members, cursor, options.count)
    return [following, [member for member in page if options.wants(member)]]


@command("zscan", -3)
def zscan(store: Database, args: Args) -> Reply:
    cursor = _cursor(args[1])
    entries = store.get(args[0], SortedSet)
    if entries is None:
        return [b"0", []]
    options = _ScanOptions(args[2:], (b"NOSCORES",))
    following, page = _page(entries.scores, cursor, options.count)
    wanted = [member for member in page if options.wants(member)]
    if options.names_only:
        return [following, wanted]
    written = format_17_digits if entries.indexed else format_double
    return [following, [part for member in wanted for part in (member, written(entries.scores[member]))]]
