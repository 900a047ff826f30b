"""Takes whole commands apart in the common case, where a client has sent what any client library would send.

hiredis parses; it counts only if packing its result again gives the very bytes that came. A client that sends one
command at a time sends the same few shapes again and again, its name and the lengths of its arguments, so a command
whose shape is known is not parsed: all of it that is no argument has to be the same.
"""

import re
import struct
from collections.abc import Callable

import hiredis

UNUSUAL = re.compile(rb"\*\d{4}")
"""Announces more than 999 arguments. A value may hold it too; that costs time and does no harm."""

NOT_UNPACKED = (hiredis.ProtocolError, hiredis.ReplyError, LookupError, TypeError, ValueError)

_NO_MORE = False
"""The reply of hiredis when nothing complete is left."""

_pack: Callable[[tuple[bytes, ...]], bytes] = hiredis.pack_command  # type: ignore[assignment]  # stubs: one element

SHAPES_MAX = 1_024
"""Shapes that are remembered at a time."""

SHAPES_MISSED_MAX = 32 * SHAPES_MAX
"""Commands without a known shape, once no shape can be added: then all shapes are forgotten."""

SHAPES_OF_LENGTH_MAX = 4
SHAPE_ARGUMENTS_MAX = 16

_Shape = tuple[Callable[[bytes], tuple[bytes, ...]], tuple[bytes, ...], bytes]
"""A function that takes out of a command all that is no argument, the result it must have, and the command's name."""


def _shape(arguments: list[bytes]) -> _Shape:
    """The shape of all commands of this name with as many arguments, each as long as here."""
    name, *others = arguments
    around, layout = [b"*%d\r\n$%d\r\n%b\r\n" % (len(arguments), len(name), name)], ""
    for argument in others:
        around[-1] += b"$%d\r\n" % len(argument)
        layout += f"{len(around[-1])}s{len(argument)}x"
        around.append(b"\r\n")
    return struct.Struct(f"{layout}{len(around[-1])}s").unpack, tuple(around), name


class Unpacker:
    """Splits a client's input into commands. Raises ``NOT_UNPACKED``: hiredis's errors, and those of odd input.

    All clients of a port may share one: to make a reader takes about as long as to read a command.
    """

    __slots__ = ("_missed", "_reader", "_shapes", "_shapes_left")

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._shapes: dict[int, list[_Shape]] = {}  # by the length of the command
        self._shapes_left = SHAPES_MAX
        self._missed = 0

    def __call__(self, data: bytes) -> tuple[list[bytes], list[bytes], bytes]:
        """Return the names of the commands that ``data`` begins with, each command packed again, and these joined."""
        reader, packed = self._reader, b""
        reader.feed(data)
        try:
            found = list(iter(reader.gets, _NO_MORE))  # loops without a line of Python for each command
            raws = list(map(_pack, map(tuple, found)))
            packed = b"".join(raws)
            return [arguments[0] for arguments in found], raws, packed
        finally:
            if packed != data:  # it may be in the middle of something, which must not matter to the next client
                self._reader = hiredis.Reader()

    def names(self, received: list[bytes]) -> list[bytes | None]:
        """The name of each of ``received``; None for what is not exactly one usual command."""
        shapes = self._shapes
        names: list[bytes | None] = []
        for data in received:
            for unpack, around, name in shapes.get(len(data), ()):
                if unpack(data) == around:
                    names.append(name)
                    break
            else:
                names.append(self._name(data))
        return names

    def _name(self, data: bytes) -> bytes | None:
        """The name of a command of a new shape, which is remembered; None if it is not exactly one usual command."""
        arguments = self._arguments(data)
        if arguments is None:
            return None
        alike = self._shapes.setdefault(len(data), [])
        if self._shapes_left and len(alike) < SHAPES_OF_LENGTH_MAX and len(arguments) <= SHAPE_ARGUMENTS_MAX:
            self._shapes_left -= 1
            alike.append(_shape(arguments))
        else:
            self._missed += 1
            if self._missed >= SHAPES_MISSED_MAX:
                self._shapes, self._shapes_left, self._missed = {}, SHAPES_MAX, 0
        return arguments[0]

    def _arguments(self, data: bytes) -> list[bytes] | None:
        if UNUSUAL.search(data):
            return None
        try:
            self._reader.feed(data)
            arguments: list[bytes] = self._reader.gets()
            if _pack(tuple(arguments)) == data and arguments:
                return arguments
        except NOT_UNPACKED:
            pass
        self._reader = hiredis.Reader()
        return None
