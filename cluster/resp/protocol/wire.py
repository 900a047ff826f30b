"""RESP on the wire: building replies and commands, and reading the few replies that the port itself has to understand.

The protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
"""

from collections.abc import Iterable
from typing import Any

import hiredis

from zonelab.cluster.votes.pipeline import Outcome
from zonelab.engine.ports import ServerError

OK = b"+OK\r\n"
QUEUED = b"+QUEUED\r\n"
NIL = {2: b"$-1\r\n", 3: b"_\r\n"}
NIL_ARRAY = {2: b"*-1\r\n", 3: b"_\r\n"}


def status(text: str) -> bytes:
    return b"+%b\r\n" % text.encode()


def error(text: str) -> bytes:
    """Return an error reply; line ends in ``text`` become spaces, as they would end it early."""
    return b"-%b\r\n" % text.replace("\r", " ").replace("\n", " ").encode("utf-8", "surrogateescape")


def shown(word: bytes, length: int | None = None) -> str:
    """A client's word inside an error, as a server in C shows it: up to the first zero byte."""
    return word.partition(b"\0")[0][:length].decode("ascii", "surrogateescape")


def integer(number: int) -> bytes:
    return b":%d\r\n" % number


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)


def verbatim(data: bytes, *, protocol: int) -> bytes:
    """Return text as a verbatim string of RESP3, or as a bulk string of RESP2."""
    return b"=%d\r\ntxt:%b\r\n" % (len(data) + 4, data) if protocol == 3 else bulk(data)


def array(items: Iterable[bytes]) -> bytes:
    """An array of ``items``, which are replies already."""
    parts = list(items)
    return b"*%d\r\n%b" % (len(parts), b"".join(parts))


def mapping(pairs: Iterable[tuple[bytes, bytes]], *, protocol: int) -> bytes:
    """A map in RESP3, a flat array of keys and values in RESP2."""
    parts = list(pairs)
    head = b"%%%d\r\n" % len(parts) if protocol == 3 else b"*%d\r\n" % (2 * len(parts))
    return head + b"".join(part for pair in parts for part in pair)


def command(*arguments: bytes) -> bytes:
    """A command as a client sends it."""
    return array(map(bulk, arguments))


def answer(reply: Any) -> bytes:
    """Return what a client is sent for ``reply``: the bytes of a zone's server, or an error in their place."""
    return error(str(reply)) if isinstance(reply, ServerError) else bytes(reply)


def arguments(raw: bytes) -> list[bytes]:
    """The arguments of one complete and well-formed command."""
    reader = hiredis.Reader()
    reader.feed(raw)
    parsed: list[bytes] = reader.gets()
    return parsed


def beginning(raw: bytes, most: int) -> tuple[list[bytes], int]:
    """Return the first arguments of a packed command, ``most`` at most, and the number of all of them."""
    end = raw.index(b"\r\n")
    count, at, found = int(raw[1:end]), end + 2, []
    for _ in range(min(count, most)):
        end = raw.index(b"\r\n", at)
        at = end + 4 + int(raw[at + 1 : end])
        found.append(raw[end + 2 : at - 2])
    return found, count


def value(raw: bytes) -> Any:
    """Return what a reply says; an error reply is a ``ServerError``."""
    reader = hiredis.Reader(replyError=ServerError)
    reader.feed(raw)
    return reader.gets()


def text(word: bytes | str) -> str:
    """A word of a parsed reply, whether it was a status or a bulk string."""
    return word.decode() if isinstance(word, bytes) else word


def joined(outcome: Outcome) -> bytes:
    """The answers to a pipeline as a client is sent them."""
    return b"".join(map(answer, outcome if isinstance(outcome, list) else outcome.answers))
