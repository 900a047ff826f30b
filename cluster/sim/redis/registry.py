"""The table of commands: name, arity, and the function that carries a command out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cluster.sim.redis.store import Store
from engine.ports import Reply

Args = list[bytes]
"""The words of a command after its name."""

Handler = Callable[[Store, Any], Reply]
"""Carries a command out, given its arguments, or what its ``parse`` makes of them."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """``arity``: number of words with the name, or if negative the smallest number.

    ``parse`` is all of a command's work that can be done before a server is known: it is done once for all servers.
    """

    name: str
    arity: int
    handler: Handler
    parse: Callable[[Args], Any] | None = None

    def run(self, store: Store, args: Args) -> Reply:
        return self.handler(store, args if self.parse is None else self.parse(args))

    def accepts(self, words: int) -> bool:
        return words == self.arity if self.arity >= 0 else words >= -self.arity


COMMANDS: dict[bytes, CommandSpec] = {}
"""By name, in lower and in upper case."""


def command(name: str, arity: int, *, parse: Callable[[Args], Any] | None = None) -> Callable[[Handler], Handler]:
    """Register the decorated function under ``name``; several names may share one."""

    def register(handler: Handler) -> Handler:
        spec = CommandSpec(name, arity, handler, parse)
        COMMANDS[name.encode()] = spec
        COMMANDS[name.upper().encode()] = spec
        return handler

    return register


def lookup(name: bytes) -> CommandSpec | None:
    return COMMANDS.get(name) or COMMANDS.get(name.lower())
