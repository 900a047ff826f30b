"""Selectors: which of ``count`` partitions a key goes to.

``hash`` and ``random`` are RocketMQ's; ``consistent-hash`` is what its proxy does for producers of version 5.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from zonelab.engine.common.java_hash import java_string_hash

Selector = Callable[[str, int], int]
"""Takes a key and the number of partitions, at least 1, and gives 0 to that number - 1."""

_LONG = 2**64
_DRAWN = 2**31
_STEP = 2_862_933_555_777_941_757


def by_hash(key: str, count: int) -> int:
    """The remainder of the key's hash, without its sign. -2^31, which has no positive counterpart, is no exception."""
    return abs(java_string_hash(key)) % count


def by_consistent_hash(key: str, count: int) -> int:
    """When ``count`` grows by one, a key stays where it is or goes to the new partition."""
    return jump(java_string_hash(key), count)


def at_random(_key: str, count: int, *, random: Random) -> int:
    """Whatever the key: no order is kept."""
    return random.randrange(count)


def jump(value: int, count: int) -> int:
    """The bucket of ``value`` among ``count``, as Guava's ``Hashing.consistentHash`` gives it.

    Source: Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014).
    """
    state, bucket = value % _LONG, 0
    while True:
        state = (_STEP * state + 1) % _LONG
        drawn = (state >> 33) + 1
        if drawn == _DRAWN:  # Guava's addition overflows here and gives a negative number, which ends the search
            return bucket
        following = int((bucket + 1) / (drawn / _DRAWN))
        if following >= count:
            return bucket
        bucket = following


def selector(name: str, *, random: Random) -> Selector:
    """The selector called ``name``. Raises ``ValueError`` if there is none."""
    known: Mapping[str, Selector] = {
        "hash": by_hash,
        "random": partial(at_random, random=random),
        "consistent-hash": by_consistent_hash,
    }
    if name not in known:
        raise ValueError(f"selector must be one of {', '.join(known)}, got {name!r}")
    return known[name]
