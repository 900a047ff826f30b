"""Locks on files and directories (flock(2)), by which programs keep out of each other's way.

The kernel takes a lock back however its holder ends, so there is none that a killed program has left behind.
"""

import contextlib
import fcntl
import os
from pathlib import Path


def locked(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock, unless somebody holds it. Whether it is ours now; closing ``descriptor`` gives it back.

    ``shared``: others may take it as shared, too.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def locked_at(descriptor: int, path: Path) -> bool:
    """The same, and whether ``path`` still leads to what was locked: its last holder may have removed it."""
    with contextlib.suppress(FileNotFoundError):
        return locked(descriptor) and os.path.samestat(os.fstat(descriptor), path.stat())
    return False
