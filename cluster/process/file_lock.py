"""Locks on files and directories (flock(2)), by which programs keep out of each other's way.

The kernel takes a lock back however its holder ends, so there is none that a killed program has left behind.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_POLL_S = 0.1


def locked(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock, unless somebody holds it. Whether it is ours now; closing ``descriptor`` gives it back.

    ``shared``: others may take it as shared, too.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def locked_at(descriptor: int, path: Path, *, shared: bool = False) -> bool:
    """The same, and whether ``path`` still leads to what was locked: its last holder may have removed it."""
    with contextlib.suppress(FileNotFoundError):
        return locked(descriptor, shared=shared) and os.path.samestat(os.fstat(descriptor), path.stat())
    return False


@contextlib.contextmanager
def lock_held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock at ``path``, a directory or a file that is made if need be, once others have given it back."""
    while True:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDONLY | os.O_CREAT, 0o666)
        try:
            if locked_at(descriptor, path, shared=shared):
                yield
                return
        finally:
            os.close(descriptor)
        time.sleep(_POLL_S)
