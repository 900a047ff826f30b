"""Times given to a command: relative or absolute, in seconds or milliseconds."""

from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, integer
from zonelab.cluster.sim.redis.reply import fail
from zonelab.cluster.sim.redis.store import Database

EXPIRY_OPTIONS = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""Milliseconds of the unit, and whether the time counts from now."""


def deadline_ms(store: Database, text: bytes, *, unit_ms: int, relative: bool, name: str, positive: bool) -> int:
    """Unix time in ms. ``positive``: a time of 0 or less is an error of command ``name``, not a time in the past."""
    given = integer(text)
    base_ms = store.now_ms if relative else 0
    too_small = given <= 0 if positive else given * unit_ms < INTEGER_MIN
    if too_small or given * unit_ms > INTEGER_MAX - base_ms:
        fail(f"ERR invalid expire time in '{name}' command")
    return given * unit_ms + base_ms
