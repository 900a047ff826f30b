"""Work that may be long, done in several turns of the loop so that nobody else waits for it."""

from collections.abc import Iterator
from functools import partial

from engine.ports import Runtime

COMMANDS_PER_TURN = 256
"""So many commands' callers are told of a failure in one turn; it takes some milliseconds."""


def in_turns(runtime: Runtime, work: Iterator[int]) -> None:
    """Do ``work``, whose steps yield how many commands they were about: a little at once, the rest in later turns."""
    done = 0
    for commands in work:
        done += commands
        if done >= COMMANDS_PER_TURN:
            runtime.call_later(0, partial(in_turns, runtime, work))
            return
