"""OBJECT: how the server keeps a value. It is the encoding that the value has when it is written anew."""

from collections.abc import Iterable

from zonelab.cluster.sim.redis.numbers import is_integer
from zonelab.cluster.sim.redis.registry import Args, command
from zonelab.cluster.sim.redis.reply import StatusReply, fail
from zonelab.cluster.sim.redis.store import Database
from zonelab.cluster.sim.redis.values import COMPACT_BYTES_MAX, HashValue, List, Set, SortedSet, Value
from zonelab.engine.ports import Reply

_EMBEDDED_MAX = 44
_COMPACT_HASH_MAX = 512
_COMPACT_SET_MAX = 128
_INTEGERS_MAX = 512
_LIST_BYTES_MAX = 8192
_ENTRY_BYTES = 11
"""Bytes of an element of a compact list besides its own, at most."""

_NO_FREQUENCY = (
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
    "between policies at runtime LRU and LFU data will take some time to adjust."
)
_HELP = """OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
ENCODING <key>
    Return the kind of internal representation used in order to store the value
    associated with a <key>.
FREQ <key>
    Return the access frequency index of the <key>. The returned integer is
    proportional to the logarithm of the recent access frequency of the key.
IDLETIME <key>
    Return the idle time of the <key>, that is the approximated number of
    seconds elapsed since the last access to the key.
REFCOUNT <key>
    Return the number of references of the value associated with the specified
    <key>.
HELP
    Print this help."""


@command("object|encoding", 3)
def encoding(store: Database, args: Args) -> Reply:
    value = store.find(args[0])
    return None if value is None else _encoding(value)


def _encoding(value: Value) -> bytes:
    if isinstance(value, bytes):
        return b"int" if is_integer(value) else b"embstr" if len(value) <= _EMBEDDED_MAX else b"raw"
    if isinstance(value, SortedSet):
        return b"skiplist" if value.indexed else b"listpack"
    if isinstance(value, List):
        return b"listpack" if sum(len(item) + _ENTRY_BYTES for item in value) <= _LIST_BYTES_MAX else b"quicklist"
    if isinstance(value, Set):
        if len(value) <= _INTEGERS_MAX and all(map(is_integer, value)):
            return b"intset"
        return b"listpack" if len(value) <= _COMPACT_SET_MAX and _short(value) else b"hashtable"
    if type(value) is HashValue:
        short = len(value) <= _COMPACT_HASH_MAX and _short(value) and _short(value.values())
        return b"listpack" if short else b"hashtable"
    return b"hashtable" if isinstance(value, HashValue) else b"stream"


def _short(words: Iterable[bytes]) -> bool:
    return all(len(word) <= COMPACT_BYTES_MAX for word in words)


@command("object|refcount", 3)
def refcount(store: Database, args: Args) -> Reply:
    return None if store.find(args[0]) is None else 1


@command("object|freq", 3)
def freq(store: Database, args: Args) -> Reply:
    return None if store.find(args[0]) is None else fail(_NO_FREQUENCY)


@command("object|help", 2)
def help_(store: Database, args: Args) -> Reply:
    return [StatusReply(line.encode()) for line in _HELP.splitlines()]
