"""Scanner that cuts commands out of the bytes that a client sends, without trusting one of them.

hiredis does the common case. Alone it will not do: it accepts commands that a server answers by closing the
connection (which other clients share), and it allocates what a header announces before anything of it has arrived. So
what it has parsed counts only if packing it again gives the very bytes that the client sent, and whatever may be large,
is incomplete or looks odd is looked at by hand, against limits.
"""

import re
from dataclasses import dataclass

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.long_argument import LONG_BYTES, LongArgument
from zonelab.cluster.resp.protocol.unpacker import NOT_UNPACKED, UNUSUAL, Unpacker

INLINE_BYTES_MAX = 64 * 1024
"""Longest command that is not an array, as in Redis."""

_CRLF = b"\r\n"
_NO_LINE_END = "argument is not followed by a line end"
_HEADER_BYTES_MAX = 24
_STAR, _DOLLAR = b"*$"
_NO_COUNT = b"0-"
_QUOTE, _DOUBLE_QUOTE = b"'\""
_HTTP = (b"POST", b"HOST:")

_EMPTY = re.compile(rb"(?:\*(?:0|-[1-9][0-9]{0,17})\r\n|[ \t\r\v\f]*+\n)++")
"""Commands without a single word, which are not answered."""

_PIECE_BYTES_MAX = 16 * 1024
"""Bytes that are unpacked at a time; it takes less than a millisecond."""

_EMPTY_BYTES_MAX = 4 * 1024
"""Bytes of empty commands that are passed over at a time; it takes some tenths of a millisecond."""

_ARGUMENTS_AT_ONCE = 64
_ARGUMENT_BYTES = 8
"""Bytes of empty commands for which one argument that is looked at by hand counts: 0.8 µs."""

_PIECE = re.compile(rb"""[^ \t\r\n"']++|"(?:[^"\\]|\\.)*+"|'(?:\\'|[^'])*+'""", re.DOTALL)
_WORD = re.compile(rb"(?!\s)(?:%b)++" % _PIECE.pattern, re.DOTALL)
_BALANCED = re.compile(rb"(?:\s++|(?:%b)++)*+" % _PIECE.pattern, re.DOTALL)
_UNUSUAL_LINE = re.compile(rb"""["'\v\f]""")
_ESCAPED = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}

_USUAL_ARGUMENTS_MAX = 999
Found = tuple[bytes, bytes]
"""A command: its name as the client wrote it, and all of it in wire form."""


Whole = tuple[bytes, bytes, int]
"""Commands of one name: the name, all of them in wire form, and how many they are."""


class ProtocolError(Exception):
    """The client does not speak RESP. The text is sent to it before the connection is closed."""


@dataclass(frozen=True, kw_only=True)
class CommandLimits:
    """Largest argument, number of arguments and total size of a command; ``guest_*`` before a client has logged in."""

    argument_bytes: int = 64 * 1024 * 1024
    arguments: int = 1024 * 1024
    command_bytes: int = 64 * 1024 * 1024
    guest_argument_bytes: int = 16 * 1024
    guest_arguments: int = 10


class CommandScanner:
    """``feed`` it what arrives, then call ``next`` until it gives None.

    Of an incomplete command it remembers how far it has looked, so a client that sends byte by byte costs no more
    than one that does not.
    """

    __slots__ = (
        "_argument_bytes", "_arguments", "_at", "_command_bytes", "_index", "_left", "_limits", "_long", "_names",
        "_raws", "_rest", "_retry", "_stalled", "_unpacked", "passed_over", "whole",
    )  # fmt: skip

    def __init__(self, limits: CommandLimits, *, guest: bool, unpacker: Unpacker | None = None) -> None:
        self._limits = limits
        self._unpacked = unpacker or Unpacker()
        self._command_bytes = limits.command_bytes
        self._argument_bytes = limits.guest_argument_bytes if guest else limits.argument_bytes
        self._arguments = limits.guest_arguments if guest else limits.arguments
        self._names: list[bytes] = []
        self._raws: list[bytes] = []
        self._index = 0
        self.whole: Whole | None = None
        """All that ``next`` would give without further ado, if it is commands of one name, written in one way."""
        self._rest: bytearray | None = None  # what has not been parsed
        self._retry = False  # it is worth a try to parse the rest as a whole
        self._stalled = False  # the first command of the rest is known to be incomplete
        self._at = 0  # how far the first command of the rest has been looked at
        self._long: LongArgument | None = None  # what follows the rest
        self.passed_over = 0
        """Bytes of empty commands since this was last set to 0; after many of them ``next`` gives None.

        So it does after many arguments of a command that it looks at by hand, which count here as well.
        """
        self._left = -1  # how many of its arguments are still to be looked at; -1: its header, too

    def admit(self) -> None:
        """The client has logged in."""
        self._argument_bytes = self._limits.argument_bytes
        self._arguments = self._limits.arguments

    @property
    def held(self) -> int:
        """Bytes that have arrived and not been parsed: of one incomplete command, or of what follows a halt."""
        if self._rest is None:
            return 0
        return len(self._rest) if self._long is None else len(self._rest) + self._long.held

    @property
    def idle(self) -> bool:
        """All that has arrived has been taken."""
        return self._rest is None and not self._raws

    @property
    def ready(self) -> bool:
        """``next`` may have something without further input."""
        return self._index < len(self._raws) or (self._rest is not None and not self._stalled)

    def feed(self, data: bytes) -> None:
        """Take what came from the client; whole commands can then be taken out of it."""
        if self._long is not None:
            self._long.feed(data)
            self._stalled = not self._long.complete
        elif self._rest is not None:
            self._rest += data
            self._retry, self._stalled = True, False
        elif self._index < len(self._raws):
            self._keep(bytearray(data))
            self._retry = True
        elif not self._parsed(data):
            self._keep(bytearray(data))

    def take_whole(self) -> None:
        """Drop what ``whole`` returned."""
        self._forget()

    def clear(self) -> list[bytearray]:
        """Drop all that has arrived. Returns the buffers that were held, whose freeing may take long."""
        self._forget()
        held = [] if self._long is None else self._long.pieces
        if self._rest is not None:
            held.append(self._rest)
        self._rest = self._long = None
        return held

    def _forget(self) -> None:
        """Drop the parsed commands, so that an idle client holds no memory for them."""
        self._names, self._raws, self._index, self.whole = [], [], 0, None

    def next(self) -> Found | None:
        """The next command, or None: if ``ready`` even so, call again. Raises ``ProtocolError``."""
        index = self._index
        if index < len(self._raws):
            found = self._names[index], self._raws[index]
            self._index = index = index + 1
            self.whole = None
            if index == len(self._raws):
                self._forget()
            return found
        if self._rest is None:
            return None
        return self._next_by_hand()

    def _keep(self, rest: bytearray) -> None:
        self._rest, self._retry, self._stalled = rest, False, False
        self._at, self._left = 0, -1

    def _parsed(self, data: bytes | bytearray) -> bool:
        """``data`` begins with usual commands, which are ready now, and what follows them is kept."""
        if len(data) > self._argument_bytes or self._arguments < _USUAL_ARGUMENTS_MAX:
            return False
        piece = bytes(data[:_PIECE_BYTES_MAX])
        if UNUSUAL.search(piece):
            return False
        try:
            names, raws, packed = self._unpacked(piece)
        except NOT_UNPACKED:
            return False
        if len(packed) != len(data):
            if not piece.startswith(packed):
                return False
            rest = bytearray(data) if isinstance(data, bytes) else data
            del rest[: len(packed)]
            self._keep(rest)
            self._retry = len(data) > len(piece)
        elif packed != data:
            return False
        self._names, self._raws, self._index = names, raws, 0
        count = len(names)
        self.whole = (names[0], packed, count) if count and names.count(names[0]) == count else None
        return True

    def _next_by_hand(self) -> Found | None:
        rest = self._rest
        assert rest is not None
        if self._long is not None:
            if self._stalled:
                return None
            long, self._long = self._long, None
            if self._left == 1:
                return self._ended(rest, long)
            for piece in (*long.pieces, long.following):
                rest += piece
            self._retry = True
        while rest:
            if self._at == 0 and (empty := _EMPTY.match(rest, 0, _EMPTY_BYTES_MAX)):
                del rest[: empty.end()]
                self.passed_over += empty.end()
                if rest and empty.end() > _EMPTY_BYTES_MAX - _HEADER_BYTES_MAX:
                    return None
                continue
            self._stalled = True
            if not self._completed(rest):
                return None
            self._stalled = False
            with memoryview(rest) as all_of_it, all_of_it[: self._at] as command:
                raw = bytes(command)
            del rest[: self._at]
            self._at, self._left = 0, -1
            found = self._found(raw)
            if self._retry or not rest:
                self._rest = None
                if rest and not self._parsed(rest):
                    self._keep(rest)
            if found is not None:
                return found
            if self._rest is None:
                return self.next()
        self._rest = None
        return None

    def _ended(self, rest: bytearray, long: LongArgument) -> Found | None:
        """The command whose last argument was long."""
        raw = b"".join((rest, *long.pieces))
        if not raw.endswith(_CRLF):
            raise ProtocolError(_NO_LINE_END)
        self._rest = None
        if long.following and not self._parsed(long.following):
            self._keep(long.following)
        return self._found(raw)

    def _found(self, raw: bytes) -> Found | None:
        if raw[0] != _STAR:
            words = _words(raw)
            return (words[0], wire.command(*words)) if words else None
        return None if raw[1] in _NO_COUNT else (wire.beginning(raw, 1)[0][0], raw)

    def _completed(self, data: bytearray) -> bool:
        """Look on from where the last look at the first command ended; True once it is complete, up to ``_at``.

        After many arguments it is False and the command is not taken for incomplete.
        """
        if data[0] != _STAR:
            return self._inline_completed(data)
        if self._left < 0:
            count = self._header(data, _STAR, "invalid multibulk length", self._arguments)
            if count is None:
                return False
            self._left = max(0, count)
        enough = self._left - _ARGUMENTS_AT_ONCE
        while self._left:
            if self._left == enough:
                self._stalled = False
                self.passed_over += _ARGUMENTS_AT_ONCE * _ARGUMENT_BYTES
                return False
            begin = self._at
            size = self._header(data, _DOLLAR, "invalid bulk length", self._argument_bytes)
            if size is None:
                return False
            if size < 0:
                raise ProtocolError("invalid bulk length")
            end = self._at + size + 2
            if end > self._command_bytes:
                raise ProtocolError(f"command of more than {self._command_bytes} bytes")
            if end > len(data):
                self._at = begin
                self._long = LongArgument(end - len(data)) if end - len(data) > LONG_BYTES else None
                return False
            if data[end - 2 : end] != _CRLF:
                raise ProtocolError(_NO_LINE_END)
            self._at = end
            self._left -= 1
        return True

    def _header(self, data: bytearray, kind: int, wrong: str, limit: int) -> int | None:
        """The number on the line at ``_at``, which is then behind it; None if the line is not complete."""
        at = self._at
        if at < len(data) and data[at] != kind:
            raise ProtocolError(f"expected '{chr(kind)}', got '{chr(data[at])}'")
        end = data.find(_CRLF, at, at + _HEADER_BYTES_MAX)
        if end < 0:
            if len(data) - at >= _HEADER_BYTES_MAX:
                raise ProtocolError(wrong)
            return None
        digits = bytes(data[at + 1 : end])
        number = int(digits) if digits.removeprefix(b"-").isdigit() else None
        # Servers accept one spelling only; any other would make them close the connection that all clients share.
        if number is None or b"%d" % number != digits or number > limit:
            raise ProtocolError(wrong)
        self._at = end + 2
        return number

    def _inline_completed(self, data: bytearray) -> bool:
        found = data.find(b"\n", self._at, INLINE_BYTES_MAX)
        self._at = found + 1 if found >= 0 else len(data)
        if found < 0 and len(data) >= INLINE_BYTES_MAX:
            raise ProtocolError("too big inline request")
        return found >= 0


def _words(line: bytes) -> list[bytes]:
    """The arguments of a command that was typed by hand, quoted as ``sdssplitargs`` of Valkey takes it (``src/sds.c``).

    A backslash is one escape inside double quotes, makes a quote of ``'`` inside single ones, and is itself elsewhere.
    """
    if _UNUSUAL_LINE.search(line) is None:
        words = line.split()
    elif _BALANCED.fullmatch(line) is None:
        raise ProtocolError("unbalanced quotes in request")
    else:
        words = [b"".join(map(_unquoted, _PIECE.findall(word))) for word in _WORD.findall(line)]
    if words and words[0].upper() in _HTTP:
        raise ProtocolError("this is a Redis port, not a web server")
    return words


def _unquoted(piece: bytes) -> bytes:
    if piece[0] == _DOUBLE_QUOTE:
        return _ESCAPED.sub(_meant, piece[1:-1])
    return piece[1:-1].replace(b"\\'", b"'") if piece[0] == _QUOTE else piece


def _meant(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes.fromhex(what[1:].decode()) if len(what) == 3 else _ESCAPES.get(what, what)
