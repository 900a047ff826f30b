"""A Redis server without a network: commands in, replies out, nothing but the key space in between.

It answers as Valkey 9.1 does, byte for byte, error texts included. Source: https://valkey.io/commands/ and the server's
own behaviour; the conformance tests run the same commands on both and compare.
"""

from collections.abc import Callable
from random import Random

from cluster.sim.redis import commands
from cluster.sim.redis.registry import COMMANDS, Args, CommandSpec, lookup
from cluster.sim.redis.reply import CommandError, text
from cluster.sim.redis.reply import error as error_reply
from cluster.sim.redis.scripting import Scripts
from cluster.sim.redis.store import Store
from engine.ports import Argument, Command, Reply, ServerError

_ARGUMENTS_SHOWN = 128
"""Characters of the arguments in the error for an unknown command."""

OnWrite = Callable[[list[Args]], None]
"""Told the commands, each with its name, by which one command or script changed the key space."""

_NO_SCRIPTS = "ERR This Valkey command is not allowed from script"


class RedisModel:
    """One server. ``clock_us`` is its wall clock in microseconds since 1970; ``random`` serves SPOP and its kin."""

    def __init__(self, *, clock_us: Callable[[], int], random: Random, on_write: OnWrite | None = None) -> None:
        self.store = Store(clock_us=clock_us, random=random)
        self._on_write = on_write
        self._written: list[Args] = []
        self._scripts = Scripts(call=self._call_from_script)
        self._script_commands = {
            b"eval": CommandSpec("eval", -3, lambda _, args: self._scripts.evaluate(args)),
            b"evalsha": CommandSpec("evalsha", -3, lambda _, args: self._scripts.evaluate_sha(args)),
            b"script": CommandSpec("script", -2, lambda _, args: self._scripts.administrate(args)),
        }

    def execute(self, command: Command) -> Reply:
        """Run one command. An error reply comes back as a ``ServerError`` value."""
        return self.execute_prepared(Prepared(command))

    def execute_prepared(self, command: "Prepared") -> Reply:
        """As ``execute``."""
        store, spec = self.store, command.spec
        store.tick()
        if spec is None:
            reply = self._run(command.words)
        elif self._on_write is None:
            try:
                return spec.handler(store, command.args)
            except CommandError as failure:
                return error_reply(*failure.args)
        else:
            reply = self._carry_out(spec, command.words)
        if self._written:
            written, self._written = self._written, []
            assert self._on_write is not None
            self._on_write(written)
        return reply

    def replay(self, effects: list[Args], *, now_us: int) -> None:
        """Repeat what ``on_write`` was told of, at the time at which it happened. It is not told again."""
        on_write, self._on_write = self._on_write, None
        self.store.stand_at(now_us)
        for effect in effects:
            self._run(effect)
        self._on_write = on_write

    def _run(self, args: Args) -> Reply:
        spec = COMMANDS.get(args[0]) or lookup(args[0]) or self._script_commands.get(args[0].lower())
        if spec is None:
            return error_reply(_unknown(args))
        if not spec.accepts(len(args)):
            return ServerError(f"ERR wrong number of arguments for '{spec.name}' command")
        return self._carry_out(spec, args)

    def _carry_out(self, spec: CommandSpec, args: Args) -> Reply:
        store = self.store
        before = store.changes
        scripted = len(self._written)
        try:
            reply = spec.handler(store, args[1:])
        except CommandError as failure:
            reply = error_reply(*failure.args)
        if store.changes != before and self._on_write is not None and len(self._written) == scripted:
            self._written.append(_effect(spec.name, args, reply))
        return reply

    def _call_from_script(self, args: Args) -> Reply:
        if args[0].lower() in self._script_commands:
            return ServerError(_NO_SCRIPTS)
        spec = lookup(args[0])
        if spec is None:
            return ServerError("ERR Unknown command called from script")
        if not spec.accepts(len(args)):
            return ServerError("ERR Wrong number of args calling command from script")
        return self._carry_out(spec, args)


class Prepared:
    """A command in the words that a server reads, and the function for it: the same for all servers.

    ``spec`` is None if the command is unknown here, is called with a wrong number of words, or runs scripts.
    """

    __slots__ = ("args", "label", "spec", "words")

    def __init__(self, command: Command) -> None:
        self.words: Args = [word.encode() if type(word) is str else encode(word) for word in command]
        self.args: Args = self.words[1:]
        spec = lookup(self.words[0])
        self.spec = spec if spec is not None and spec.accepts(len(self.words)) else None
        self.label = f"{command[0]!s} {command[1]!s}" if len(command) > 1 else str(command[0])
        """Name and key."""


def _effect(name: str, args: Args, reply: Reply) -> Args:
    """The command to repeat for the same change: what was drawn at random is written down."""
    if name == "spop":
        members = reply if isinstance(reply, list) else [reply]
        return [b"srem", args[1], *members]
    return args


def encode(word: Argument) -> bytes:
    """A word as the client library sends it."""
    if isinstance(word, bytes):
        return word
    if isinstance(word, str):
        return word.encode()
    return repr(word).encode()


def _unknown(args: Args) -> str:
    shown = ""
    for arg in args[1:]:
        if len(shown) >= _ARGUMENTS_SHOWN:
            break
        shown += f"'{text(arg)[: _ARGUMENTS_SHOWN - len(shown)]}' "
    return f"ERR unknown command '{text(args[0])[:_ARGUMENTS_SHOWN]}', with args beginning with: {shown}"


__all__ = ["Prepared", "RedisModel", "commands", "encode"]
