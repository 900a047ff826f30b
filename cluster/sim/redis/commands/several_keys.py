"""Rules that commands of several types share: on a number of keys, and of what is chosen at random."""

from random import Random

from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, integer
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import SYNTAX, fail

_PAIRS_MAX = INTEGER_MAX // 2


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


def random_choice(args: Args, paired: bytes) -> tuple[int | None, bool]:
    """The count of HRANDFIELD or ZRANDMEMBER, if there is one, and whether ``paired`` asks for what belongs to each."""
    count = random_count(args[1]) if len(args) > 1 else None
    with_pairs = len(args) == 3 and args[2].upper() == paired
    if len(args) > 3 or (len(args) == 3 and not with_pairs):
        fail(SYNTAX)
    if with_pairs and count is not None and not -_PAIRS_MAX <= count <= _PAIRS_MAX:
        fail("ERR value is out of range")
    return count, with_pairs


def chosen_at_random(random: Random, members: list[bytes], count: int | None) -> list[bytes]:
    """Return one of ``members`` without a count, so many different ones, or with a negative one any."""
    if count is None:
        return [random.choice(members)]
    if count < 0:
        return [random.choice(members) for _ in range(-count)]
    return random.sample(members, min(count, len(members)))
