"""Cuts what a server sends into replies and leaves each as the bytes that it is.

A client is answered with the bytes of a zone's server, so a status stays a status and nothing is packed again; and
zones are compared by these bytes, as Dynomite does (``dyn_response_mgr.c``).
"""

_CRLF = b"\r\n"
_STRINGS = frozenset(b"$=!")
_ARRAYS = frozenset(b"*~>")
_MAPS = frozenset(b"%|")
_SINGLE = frozenset(b"+-:_#,(")
_SHORT = frozenset(b"+:")
_DOLLAR, _MINUS = b"$-"
_LENGTHS = {b"%d" % length: length for length in range(2048)} | {b"-1": -2}
"""Lengths of short strings; nil is as long as an empty string without the line that would follow."""


class BrokenReplyError(ConnectionError):
    """A server sent something other than RESP: whatever is there, it is no Redis."""


def is_one_reply(data: bytes) -> bool:
    """``data`` is one whole reply of the commonest kinds and nothing else; if not, it may be all the same."""
    kind, end = data[0], data.find(_CRLF)
    if kind == _DOLLAR and end > 0:
        length = _LENGTHS.get(data[1:end])
        return length is not None and end + length + 4 == len(data)
    return kind in _SHORT and 0 < end == len(data) - 2


class ReplyCutter:
    """``feed`` it what arrives, then call ``next`` until it gives None. Reads RESP2 and RESP3."""

    __slots__ = ("_at", "_data", "_left", "_pos", "_rest", "errors")

    def __init__(self) -> None:
        self._data = b""
        self._pos = 0
        self._rest: bytearray | None = None  # an incomplete reply and what follows it
        self._at = 0  # how far it has been looked at
        self._left = 1  # replies in it that are still to be looked at
        self.errors = False
        """An error reply has been handed out since this was last set to false."""

    @property
    def held(self) -> int:
        """Bytes that have not been handed out."""
        return len(self._data) - self._pos + (len(self._rest) if self._rest is not None else 0)

    def feed(self, data: bytes) -> None:
        """Take what came from the server; ``next`` then cuts whole replies out of it."""
        rest = self._rest
        if rest is None:
            self._data = data if self._pos == len(self._data) else self._data[self._pos :] + data
            self._pos = 0
            return
        rest += data
        if self._completed(rest):
            self._data, self._pos, self._rest = bytes(rest), 0, None

    def next(self) -> bytes | None:
        """The next reply, or None if there is no complete one. Raises ``BrokenReplyError``."""
        found: list[bytes] = []
        return found[0] if self.take(1, found) else None

    @property
    def position(self) -> int:
        """Up to where what arrived last has been taken."""
        return self._pos

    def taken_since(self, position: int) -> bytes:
        return self._data[position : self._pos]

    def pass_over(self, replies: bytes) -> bool:
        """True if ``replies``, which are whole ones, come next; then they have been taken."""
        if self._rest is not None or not self._data.startswith(replies, self._pos):
            return False
        self._pos += len(replies)
        return True

    def take(self, count: int, replies: list[bytes]) -> bool:
        """Append the next ``count`` replies to ``replies``, as far as they are there; True if they were.

        Raises ``BrokenReplyError``.
        """
        while count:
            data, pos = self._data, self._pos
            size, find, append, lengths = len(data), data.find, replies.append, _LENGTHS
            while count and pos < size:
                end = find(_CRLF, pos)
                if end < 0:
                    break
                kind = data[pos]
                if kind == _DOLLAR:
                    length = lengths.get(data[pos + 1 : end])
                    if length is None:
                        break
                    end += length + 4
                    if end > size:
                        break
                elif kind in _SINGLE:
                    end += 2
                    if kind == _MINUS:
                        self.errors = True
                else:
                    break
                append(data[pos:end])
                pos = end
                count -= 1
            self._pos = pos
            if count:
                reply = self._next_unusual() if pos < size else None
                if reply is None:
                    return False
                if reply[0] == _MINUS:
                    self.errors = True
                append(reply)
                count -= 1
        return True

    def _next_unusual(self) -> bytes | None:
        """Return what is incomplete, nested or large."""
        data, pos = self._data, self._pos
        self._at, self._left = pos, 1
        if not self._completed(data):
            self._data, self._pos, self._rest = b"", 0, bytearray(data[pos:])
            self._at -= pos
            return None
        self._pos = self._at
        return data[pos : self._at]

    def _completed(self, data: bytes | bytearray) -> bool:
        """Look on from where the last look ended; True once the first reply is complete, up to ``_at``."""
        at, left, size = self._at, self._left, len(data)
        find = data.find
        while left:
            end = find(_CRLF, at)
            if end < 0:
                break
            kind = data[at]
            following = end + 2
            if kind in _STRINGS:
                length = _number(data[at + 1 : end])
                following += 0 if length < 0 else length + 2
                if following > size:
                    break
            elif kind in _ARRAYS:
                left += max(0, _number(data[at + 1 : end]))
            elif kind in _MAPS:
                left += 2 * _number(data[at + 1 : end]) + (kind == 0x7C)  # attributes precede a reply
            elif kind not in _SINGLE:
                raise BrokenReplyError(f"reply begins with {chr(kind)!r}")
            at = following
            left -= 1
        self._at, self._left = at, left
        return left == 0


def _number(digits: bytes | bytearray) -> int:
    try:
        return int(digits)
    except ValueError:
        raise BrokenReplyError(f"length {bytes(digits)!r}") from None
