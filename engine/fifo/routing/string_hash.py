"""The hash of a text that RocketMQ's producers go by."""

WORD = 2**32
SIGN = 2**31


def java_hash(text: str) -> int:
    """As Java's ``String.hashCode`` gives it, -2^31 to 2^31 - 1, over the UTF-16 code units of ``text``."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % WORD
    return value - WORD if value >= SIGN else value
