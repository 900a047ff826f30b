"""Files of users, read whole: regular ones only, and none that is larger than it can reasonably be."""

from pathlib import Path


def read_regular(path: Path, *, bytes_max: int) -> bytes:
    """Return the content of ``path``. Raises ``OSError``, and ``ValueError`` for what is no such file."""
    path.stat()
    if not path.is_file():
        raise ValueError("not a regular file")
    with path.open("rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ValueError(f"got more than {bytes_max} bytes; accepted: at most {bytes_max}")
    return content
