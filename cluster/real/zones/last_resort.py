"""Last resort: removal, when the interpreter exits, of all that must not outlive the lab."""

import atexit
import contextlib
import os
from collections.abc import Callable

_removals: dict[object, Callable[[], None]] = {}
_owner_pid = os.getpid()


def register(key: object, remove: Callable[[], None]) -> None:
    """Call ``remove``, which must not need an event loop, at exit unless ``forget(key)`` comes first."""
    _adopt_after_fork()
    _removals[key] = remove


def forget(key: object) -> None:
    _removals.pop(key, None)


def _adopt_after_fork() -> None:
    """A forked child inherits the table but owns nothing in it."""
    global _owner_pid
    if _owner_pid != os.getpid():
        _removals.clear()
        _owner_pid = os.getpid()


def _remove_all() -> None:
    _adopt_after_fork()
    for remove in list(_removals.values()):
        with contextlib.suppress(Exception):
            remove()
    _removals.clear()


atexit.register(_remove_all)
