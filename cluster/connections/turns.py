"""Work that may be long, done in several turns of the loop so that nobody else waits for it."""

from collections.abc import Iterator
from functools import partial

from zonelab.cluster.connections.batch import Batch
from zonelab.engine.ports import Runtime

COMMANDS_PER_TURN = 256
"""Commands whose callers learn of a failure in one turn; it takes some milliseconds."""

BYTES_PER_COMMAND = 64 * 1024
"""Bytes whose freeing counts as one command; to free 16 MB takes some milliseconds, too."""


def telling(batch: Batch) -> int:
    """Return the work of reporting the end of ``batch`` and freeing it, in commands."""
    return len(batch.commands) + len(batch.packed or b"") // BYTES_PER_COMMAND


def in_turns(runtime: Runtime, work: Iterator[int]) -> None:
    """Do ``work``, whose steps yield how much they were, in commands: a little at once, the rest in later turns."""
    done = 0
    for commands in work:
        done += commands
        if done >= COMMANDS_PER_TURN:
            runtime.call_later(0, partial(in_turns, runtime, work))
            return
