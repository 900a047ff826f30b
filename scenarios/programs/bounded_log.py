"""The log of a process: what it writes that is no event, up to a bound."""

from pathlib import Path

LOG_BYTES_MAX = 10_000_000
"""Bytes of the log of one process."""

_TAIL_BYTES = 600


class BoundedLog:
    """Log in a file that never grows beyond ``most`` bytes; what comes after them is counted."""

    def __init__(self, path: Path, *, most: int = LOG_BYTES_MAX) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._free = most
        self._tail = b""
        self.left_out = 0
        """Bytes that are not in the file."""

    def write(self, data: bytes) -> None:
        """Add ``data``, as far as it fits."""
        kept = data[: self._free]
        if kept:
            self._file.write(kept)
        self._free -= len(kept)
        self.left_out += len(data) - len(kept)
        self._tail = (self._tail + data)[-_TAIL_BYTES:]

    @property
    def last_line(self) -> str:
        """Return the last line that has anything in it, shortened; empty if there is none."""
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""

    def close(self) -> None:
        self._file.close()
