"""The ground that scripts and functions of one server share: calls of commands, random numbers, when not to start."""

from collections.abc import Callable
from dataclasses import dataclass, field

from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.random48 import Random48
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import NOT_AN_INTEGER, OUT_OF_MEMORY, fail
from zonelab.cluster.sim.redis.script_functions import Execution, ServerCall
from zonelab.cluster.sim.redis.shebang import Flags

NOT_BUSY = "NOTBUSY No scripts in execution right now."


@dataclass(frozen=True, kw_only=True)
class ScriptHost:
    """``call`` runs a command of a script; ``full`` returns whether the server's memory is full.

    ``unwritable`` returns the error with which it refuses writes for its files' sake; None if it does not.
    """

    call: ServerCall
    full: Callable[[], bool]
    unwritable: Callable[[], str | None]
    random: Random48 = field(default_factory=Random48)

    def execution(self, flags: Flags, *, only_reads: bool) -> Execution:
        """Begin a script with these flags. Raises ``CommandError`` if it may not run now, or not by a reading command.

        ``only_reads``: the command lets a script read only.
        """
        refused = self.unwritable()
        if refused is not None and flags.declared and not flags.read_only:
            fail(refused)
        if only_reads and flags.declared and not flags.read_only:
            fail("ERR Can not execute a script with write flag using *_ro command.")
        if flags.grows and self.full():
            fail(OUT_OF_MEMORY)
        return Execution(self.call, self.random, flags.read_only or only_reads, flags.exempt)


def keys_and_arguments(args: Args, *, error: str = NOT_AN_INTEGER) -> tuple[Args, Args]:
    """Return the keys and the arguments behind a script's text or name; ``error`` if their number is none."""
    count = integer(args[1], error)
    if count > len(args) - 2:
        fail("ERR Number of keys can't be greater than number of args")
    if count < 0:
        fail("ERR Number of keys can't be negative")
    return args[2 : 2 + count], args[2 + count :]
