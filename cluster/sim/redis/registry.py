"""The table of commands: name, arity, and the function that carries a command out."""

from collections.abc import Callable
from dataclasses import dataclass

from cluster.sim.redis.store import Store
from engine.ports import Reply

Args = list[bytes]
"""The words of a command after its name."""

Handler = Callable[[Store, Args], Reply]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """``arity``: number of words with the name, or if negative the smallest number."""

    name: str
    arity: int
    handler: Handler

    def accepts(self, words: int) -> bool:
        return words == self.arity if self.arity >= 0 else words >= -self.arity


COMMANDS: dict[bytes, CommandSpec] = {}
"""By name, in lower and in upper case."""


def command(name: str, arity: int) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name``; several names may share one."""

    def register(handler: Handler) -> Handler:
        spec = CommandSpec(name, arity, handler)
        COMMANDS[name.encode()] = spec
        COMMANDS[name.upper().encode()] = spec
        return handler

    return register


def lookup(name: bytes) -> CommandSpec | None:
    return COMMANDS.get(name) or COMMANDS.get(name.lower())
