"""The hash of a text by which dyno-queues and RocketMQ choose a shard or a partition."""

_WORD = 2**32
_SIGN = 2**31


def java_string_hash(text: str) -> int:
    """Return what Java's ``String.hashCode`` does, -2^31 to 2^31 - 1, over the UTF-16 code units of ``text``."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % _WORD
    return value - _WORD if value >= _SIGN else value
