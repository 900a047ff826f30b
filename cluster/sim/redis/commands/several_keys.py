"""Rules that commands of several types share: on a number of keys, and of what is chosen at random."""

from random import Random

from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import SYNTAX, fail


def keys_to_pop(args: Args, ends: tuple[bytes, bytes]) -> tuple[Args, bool, int]:
    """Return the keys of LMPOP or ZMPOP, whether to pop at the first of ``ends``, and how many elements."""
    count = above_zero(args[0], "ERR numkeys should be greater than 0")
    if 1 + count >= len(args):
        fail(SYNTAX)
    end, options = args[1 + count].upper(), args[2 + count :]
    if end not in ends:
        fail(SYNTAX)
    most = 1
    if options:
        if options[0].upper() != b"COUNT" or len(options) < 2:
            fail(SYNTAX)
        most = above_zero(options[1], "ERR count should be greater than 0")
        if len(options) > 2:
            fail(SYNTAX)
    return args[1 : 1 + count], end == ends[0], most


def above_zero(text: bytes, error: str) -> int:
    """An integer of 1 or more; ``error`` also when it is no integer."""
    value = integer(text, error)
    return value if value > 0 else fail(error)


def random_count(text: bytes) -> int:
    """The count of a command that chooses at random: any integer that can be negated."""
    value = integer(text)
    if value == -(1 << 63):
        fail("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
    return value


def chosen_at_random(random: Random, members: list[bytes], count: int | None) -> list[bytes]:
    """Return one of ``members`` without a count, so many different ones, or with a negative one any."""
    if count is None:
        return [random.choice(members)]
    if count < 0:
        return [random.choice(members) for _ in range(-count)]
    return random.sample(members, min(count, len(members)))
