"""The Lua of read repair: writes that carry a version and lose against a newer one, reads that return the version.

The layout of the metadata is Dynomite's (``proto/dyn_redis_repair.c`` of Netflix Dynomite at 2046b05): sorted sets
``._add-set`` and ``._rem-set`` hold the versions of keys, ``._add-set_KEY`` and ``._rem-set_KEY`` those of the fields
or members of a collection. The scripts are ours. A version is a wall clock in milliseconds; of equal ones the last to
arrive wins.
"""

from functools import partial
from pathlib import Path

from zonelab.cluster.options.joined_lua import joined_lua

_text = partial(joined_lua, Path(__file__).with_name("lua"))

ADDED, REMOVED, UNKNOWN = b"E", b"R", b"X"
"""A read's answer about the key: it exists, it was removed, nothing is known of it."""

SET = _text("_version", "set")
"""KEYS: the key. ARGV: version, value."""

DEL = _text("_version", "del")
"""KEYS: the key. ARGV: version."""

MEMBERS = _text("_version", "members")
"""KEYS: the collection. ARGV: version, command, size of an item, where in it the member is, 1 if it removes, items."""

READ = _text("read")
"""KEYS: the key. ARGV: command, and the field or member if it has one."""

FORGET = _text("forget")
"""KEYS: a set of removals. ARGV: version, name. Clears up after a removal that every zone has carried out."""
