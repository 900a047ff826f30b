"""The Lua that keeps versions beside the data: writes that lose against a newer one, and the comparing of zones.

Every server has records of what was written to it: for a key as a whole (letter k: it was SET, or removed) and for each
member of a hash (h), set (s) or sorted set (z). A record is a field of one of 256 hashes ``._versions:00`` to ``ff``,
chosen by the SHA-1 of the key; its value is the version, negative if that removed it. ``._digests`` has a sum over the
records of each of the 256, kept up to date by every write, by which zones are compared: a hash tree of two levels
(Merkle's, as in section 4.7 of DeCandia et al., Dynamo, SOSP 2007).

A removal of a key, and a SET, is a removal of every member that is older. What is left is the same in whichever order
writes arrive: for every member the newest write to it, unless the key was removed later than that.
"""

from functools import partial
from pathlib import Path

from zonelab.cluster.options.joined_lua import joined_lua

_text = partial(joined_lua, Path(__file__).with_name("lua"))
_NAMES = ("_names",)
_RECORDS = (*_NAMES, "_records")
_EXCHANGE = (*_RECORDS, "_exchange")

PLACE = "._versions:"
"""Prefix of the names of the 256 hashes."""

DIGESTS = "._digests"

COUNT = _text("count")
"""Count of the keys besides those of the versions."""

RANDOM = _text("_shown", "random")
"""Some key that is none of the versions', nil if there is none."""

SET = _text(*_RECORDS, "set")
"""KEYS: one or more keys. ARGV: version, a value for each, options of SET for all of them."""

DEL = _text(*_RECORDS, "del")
"""KEYS: one or more keys. ARGV: version. Answers how many were there, and the newest version that it met."""

MEMBERS = _text(*_RECORDS, "members")
"""KEYS: the collection. ARGV: version, command, letter, size of an item, where in it the member is, 1 if it removes,
items."""

READ = _text(*_NAMES, "read")
"""KEYS: the key. ARGV: command, letter, and the member if there is one.

Answers the version and the value, and of a whole key also in how many ms it expires."""

SUMS = "return redis.call('HGETALL', '._digests')"
"""A script, since HGETALL itself is answered in another form where the connection speaks RESP3."""

LIST = _text(*_EXCHANGE, "list")
"""ARGV: place, horizon, cursor, count. Answers the next cursor and records with their versions, as HSCAN does.

Records that say nothing any more are dropped: of members of a key that was removed later, and of what is not there and
has not been written since the horizon."""

BEHIND = _text(*_EXCHANGE, "behind")
"""ARGV: horizon, then records and their versions in another zone. Answers those that are newer there than here."""

FETCH = _text(*_EXCHANGE, "fetch")
"""ARGV: bytes, records. Answers, until so many bytes of values are together: record, version, value, expiry in ms.

What was written and is there no more has expired, or was removed past the versions: it goes out as a removal."""

APPLY = _text(*_EXCHANGE, "apply")
"""ARGV: horizon, then what FETCH answered in another zone. Each is compared again with what is here by now.

Answers how many were taken, and how many refused because the key is of another type here."""


def record_name(letter: str, key: bytes, member: bytes = b"") -> bytes:
    """Return the record's name, which scripts call ``id``."""
    return b"%b%d:%b%b" % (letter.encode(), len(key), key, member)
