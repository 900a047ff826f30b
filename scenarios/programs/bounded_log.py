"""The log of a process: what it writes that is no event, up to a bound."""

from pathlib import Path

LOG_BYTES_MAX = 10_000_000
"""Bytes of the log of one process; of a longer one the middle is left out."""

_END_PART = 10
"""The last part of a longer log, one of so many, is kept in memory until the log is closed."""

_LAST_LINE_BYTES = 600


class BoundedLog:
    """Log in a file of about ``most`` bytes: the begin and the end of what is written, with a line between them."""

    def __init__(self, path: Path, *, most: int = LOG_BYTES_MAX) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._end_most = most // _END_PART
        self._free = most - self._end_most
        self._end = bytearray()
        self._last = b""
        self.left_out = 0
        """Bytes of the middle that are not in the file."""

    def write(self, data: bytes) -> None:
        """Add ``data``."""
        begin, rest = data[: self._free], data[self._free :]
        if begin:
            self._file.write(begin)
            self._free -= len(begin)
        self._end += rest
        if (surplus := len(self._end) - self._end_most) > 0:
            self.left_out += surplus
            del self._end[:surplus]
        self._last = (self._last + data)[-_LAST_LINE_BYTES:]

    @property
    def last_line(self) -> str:
        """Return the last line that has anything in it, shortened; empty if there is none."""
        lines = [line.strip() for line in self._last.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""

    def close(self) -> None:
        """Write the end, and how much is left out before it; once closed it stays so."""
        if self._file.closed:
            return
        if self.left_out:
            self._file.write(f"\n… {self.left_out:,} bytes left out …\n".encode())
        self._file.write(self._end)
        self._end.clear()
        self._file.close()
