"""Replies that are lists of independent elements: taken apart and put together, parsed or in wire form."""

from collections.abc import Sequence

from zonelab.engine.ports import Reply

_CRLF = b"\r\n"
_DOLLAR = ord("$")


def parts_of(reply: Reply) -> Sequence[Reply]:
    """The elements of a list, or of an array as a RESP port passes it on: bulk strings and nils."""
    if isinstance(reply, list):
        return reply
    assert isinstance(reply, bytes)
    at = reply.index(_CRLF) + 2
    found = []
    while at < len(reply):
        end = reply.index(_CRLF, at) + 2
        if reply[at] == _DOLLAR and (length := int(reply[at + 1 : end - 2])) >= 0:
            end += length + 2
        found.append(reply[at:end])
        at = end
    return found


def reply_of(parts: list[Reply], *, like: Reply) -> Reply:
    """A reply of these elements, in the form of ``like``."""
    if isinstance(like, list):
        return parts
    return b"*%d\r\n%b" % (len(parts), b"".join(part for part in parts if isinstance(part, bytes)))
