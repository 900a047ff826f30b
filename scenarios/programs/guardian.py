"""Processes that bear a mark in their environment, wherever they went; and a script that ends them with the lab.

    python guardian.py MARK

waits until its standard input ends, which it does at the latest when the lab dies, and kills all that bear ``MARK``.
It imports nothing of zonelab, so that it is there at once.
"""

import contextlib
import os
import signal
import sys

VARIABLE = "ZONELAB_PROCESS"
"""The variable of the environment that has the mark, and after a colon the name of the process."""

_ROUNDS = 20


def marked(mark: str) -> dict[int, str]:
    """Return the living processes that bear ``mark``, by pid, each with the name that it was started under."""
    found = {}
    start = f"{VARIABLE}={mark}:".encode()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as environ:
                for setting in environ.read().split(b"\0"):
                    if setting.startswith(start):
                        found[int(entry)] = setting[len(start) :].decode("utf-8", "replace")
    return found


def kill_marked(mark: str) -> dict[int, str]:
    """Kill all that bear ``mark``, and what they start meanwhile; return them by pid."""
    killed: dict[int, str] = {}
    for _ in range(_ROUNDS):
        living = marked(mark)
        if not living:
            break
        killed |= living
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return killed


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_marked(sys.argv[1])


if __name__ == "__main__":
    main()
