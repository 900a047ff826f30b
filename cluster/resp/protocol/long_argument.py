"""A long argument of a command while it arrives."""

LONG_BYTES = 64 * 1024
"""An argument of which more than this is missing is long."""


class LongArgument:
    """A long argument, which arrives in pieces of about ``LONG_BYTES`` until it is complete.

    One buffer that grows is moved as a whole now and then, in the same turns of the loop for clients who send alike:
    those of 20 clients with 10 MB each took 50 to 69 ms of processor time.
    """

    __slots__ = ("_missing", "following", "held", "pieces")

    def __init__(self, missing: int) -> None:
        self._missing = missing
        self.held = 0
        self.pieces: list[bytearray] = []
        self.following = bytearray()
        """Bytes that have arrived after the argument."""

    @property
    def complete(self) -> bool:
        return self._missing == 0

    def feed(self, data: bytes) -> None:
        """Take what came next; what is beyond the argument is kept apart."""
        self.held += len(data)
        if len(data) > self._missing:
            self.following += data[self._missing :]
            data = data[: self._missing]
        self._missing -= len(data)
        if self.pieces and len(self.pieces[-1]) < LONG_BYTES:
            self.pieces[-1] += data
        else:
            self.pieces.append(bytearray(data))
