"""The table of commands: name, arity, and the function that carries a command out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from zonelab.cluster.sim.redis.server_commands import GROWS, NO_SCRIPT, WRITES
from zonelab.cluster.sim.redis.store import Database
from zonelab.engine.ports import Reply

Args = list[bytes]
"""The words of a command after its name."""

Handler = Callable[[Database, Any], Reply]
"""Carries a command out, given its arguments, or what its ``parse`` makes of them."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command, or a sub-command called ``name|sub``.

    ``arity``: number of words with the name, or if negative the smallest number. ``parse`` is all of a command's work
    that can be done before a server is known: it is done once for all servers. ``verbs``: the sub-commands by their
    second word, of a command that has some. ``size``: words of the name.
    """

    name: str
    arity: int
    handler: Handler
    parse: Callable[[Args], Any] | None = None
    verbs: dict[bytes, "CommandSpec"] | None = None
    size: int = field(init=False)
    writes: bool = field(init=False)
    grows: bool = field(init=False)
    barred: bool = field(init=False)
    """True if no script may call it."""

    def __post_init__(self) -> None:
        facts = {"size": self.name.count("|") + 1, "writes": self.name in WRITES, "grows": self.name in GROWS}
        for name, value in {**facts, "barred": self.name in NO_SCRIPT}.items():
            object.__setattr__(self, name, value)

    def run(self, store: Database, args: Args) -> Reply:
        """Carry it out, given the words behind its name."""
        return self.handler(store, args if self.parse is None else self.parse(args))

    def accepts(self, words: int) -> bool:
        return words == self.arity if self.arity >= 0 else words >= -self.arity


CommandTable = dict[bytes, CommandSpec]

COMMANDS: CommandTable = {}
"""By name, in lower and in upper case."""


def command(name: str, arity: int, *, parse: Callable[[Args], Any] | None = None) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name``; several names may share one."""

    def register(handler: Handler) -> Handler:
        add(COMMANDS, CommandSpec(name, arity, handler, parse))
        return handler

    return register


def add(table: CommandTable, spec: CommandSpec) -> None:
    """Add a command, or a sub-command and the command that it belongs to."""
    name, _, verb = spec.name.partition("|")
    if not verb:
        table[name.encode()] = table[name.upper().encode()] = spec
        return
    if name.encode() not in table:
        add(table, CommandSpec(name, -2, _needs_verb, verbs={}))
    verbs = table[name.encode()].verbs
    assert verbs is not None, f"{name} has no sub-commands"
    verbs[verb.encode()] = spec


def _needs_verb(store: Database, args: Args) -> Reply:
    raise AssertionError("the sub-command is carried out in its place")


def find(words: Args, table: CommandTable = COMMANDS) -> CommandSpec | None:
    """Return the command or sub-command that ``words`` begin with; a command itself if it lacks the sub-command."""
    spec = table.get(words[0]) or table.get(words[0].lower())
    if spec is None or spec.verbs is None or len(words) == 1:
        return spec
    return spec.verbs.get(words[1].lower(), spec)


def names(table: CommandTable) -> Iterator[str]:
    """Yield the names of commands and sub-commands."""
    for spec in table.values():
        yield from [spec.name] if spec.verbs is None else [verb.name for verb in spec.verbs.values()]
