"""Times given to a command: relative or absolute, in seconds or milliseconds."""

from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, integer
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import fail, text
from zonelab.cluster.sim.redis.store import Database

EXPIRY_OPTIONS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""Milliseconds of the unit, and whether the time counts from now."""

_EXPIRE_OPTIONS = (b"NX", b"XX", b"GT", b"LT")


def deadline_ms(store: Database, written: bytes, *, unit_ms: int, relative: bool, name: str, positive: bool) -> int:
    """Unix time in ms. ``positive``: a time of 0 or less is an error of command ``name``, not a time in the past."""
    given = integer(written)
    base_ms = store.now_ms if relative else 0
    too_small = given <= 0 if positive else given * unit_ms < INTEGER_MIN
    if too_small or given * unit_ms > INTEGER_MAX - base_ms:
        fail(f"ERR invalid expire time in '{name}' command")
    return given * unit_ms + base_ms


def expire_options(words: Args) -> dict[bytes, None]:
    """Return the conditions of EXPIRE and its kin."""
    options: dict[bytes, None] = {}
    for word in words:
        if word.upper() not in _EXPIRE_OPTIONS:
            fail(f"ERR Unsupported option {text(word)}")
        options[word.upper()] = None
    if b"NX" in options and len(options) > 1:
        fail("ERR NX and XX, GT or LT options at the same time are not compatible")
    if b"GT" in options and b"LT" in options:
        fail("ERR GT and LT options at the same time are not compatible")
    return options


def is_allowed(options: dict[bytes, None], old_ms: int | None, new_ms: int) -> bool:
    """Return whether conditions allow a new time. What has none lives for ever: no time is greater, each is less."""
    if b"NX" in options and old_ms is not None:
        return False
    if b"XX" in options and old_ms is None:
        return False
    if b"GT" in options and (old_ms is None or new_ms <= old_ms):
        return False
    return not (b"LT" in options and old_ms is not None and new_ms >= old_ms)


def whole_seconds(left_ms: int) -> int:
    """Return a time in seconds, as TTL shows it; what is negative stays."""
    return left_ms if left_ms < 0 else (left_ms + 500) // 1000
