"""The wire format of protocol buffers, as far as a writer of a few messages needs it.

Four kinds of fields are enough for a trace (https://protobuf.dev/programming-guides/encoding/), so the program does
without the library and the generated code of all of Perfetto; tests read what is written with both.
"""

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_UINT64 = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Return ``value`` in groups of seven bits, the lowest first; a negative one in two's complement of 64 bits."""
    value &= _UINT64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(field: int, value: int) -> bytes:
    """Return a field of an integer or an enum."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed_field(field: int, value: int) -> bytes:
    """Return a field of type ``fixed64``."""
    return varint(field << 3 | _FIXED64) + (value & _UINT64).to_bytes(8, "little")


def bytes_field(field: int, value: bytes) -> bytes:
    """Return a field of bytes, or of a message that is already encoded."""
    return varint(field << 3 | _LENGTH) + varint(len(value)) + value


def text_field(field: int, value: str) -> bytes:
    """Return a field of text; what UTF-8 cannot say is replaced."""
    return bytes_field(field, value.encode("utf-8", "replace"))
