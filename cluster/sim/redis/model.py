"""A Redis server without a network: commands in, replies out, nothing but the key space in between.

It answers as Valkey 9.1 does, byte for byte, error texts included. Source: https://valkey.io/commands/ and the server's
own behaviour; the conformance tests run the same commands on both and compare.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, TypeVar

from zonelab.cluster.commands.waiting_forms import WAITING_NAMES
from zonelab.cluster.sim.redis import commands
from zonelab.cluster.sim.redis.commands import streams
from zonelab.cluster.sim.redis.commands.queued import QUEUED_COMMANDS
from zonelab.cluster.sim.redis.function_libraries import FunctionLibraries
from zonelab.cluster.sim.redis.looks import looks_of
from zonelab.cluster.sim.redis.registry import Args, CommandSpec, CommandTable, Handler, find
from zonelab.cluster.sim.redis.reply import OUT_OF_MEMORY, CommandError, NamingError, text
from zonelab.cluster.sim.redis.reply import error as error_reply
from zonelab.cluster.sim.redis.script_functions import Execution
from zonelab.cluster.sim.redis.script_host import ScriptHost
from zonelab.cluster.sim.redis.scripting import ScriptCache
from zonelab.cluster.sim.redis.server_commands import NO_SCRIPT, full_name, not_modelled
from zonelab.cluster.sim.redis.store import NO_RUN, Database
from zonelab.cluster.sim.redis.touched import written_keys
from zonelab.cluster.sim.redis.watched import KeyObservers, Watch
from zonelab.engine.ports import Argument, Command, Reply, ServerError

_ARGUMENTS_SHOWN = 128
"""Characters of the arguments in the error for an unknown command."""

OnWrite = Callable[[list[Args]], None]
"""Listener for the commands, each with its name, by which one command or script changed the key space."""

_WRONG_NUMBER_IN_SCRIPT = "ERR Wrong number of args calling command from script"
_ABORTED = "EXECABORT Transaction discarded because of previous errors."

_NONE: CommandTable = {}
R = TypeVar("R", bound=Reply)

_NO_SCRIPTS = "ERR This Valkey command is not allowed from script"
_PING = "ping"


class RedisModel:
    """One server. ``clock_us`` is its wall clock in microseconds since 1970; ``random`` serves SPOP and its kin.

    ``lacking`` gets the names of commands that it was given, and that the packaged server has and the model has not.
    """

    def __init__(
        self,
        *,
        clock_us: Callable[[], int],
        random: Random,
        run_id: str = NO_RUN,
        on_write: OnWrite | None = None,
        lacking: dict[str, None] | None = None,
    ) -> None:
        self.store = Database(clock_us=clock_us, random=random, run_id=run_id)
        self._on_write = on_write
        self._written: list[Args] = []
        self.full = False
        """Its memory: it refuses what would need more of it."""
        self.unwritable: str | None = None
        """The error with which it refuses writes, and PING, as its files could not be written; None: they could."""
        self._lacking = {} if lacking is None else lacking
        self._script_commands = script_commands(
            ScriptHost(call=self._call_from_script, full=lambda: self.full, unwritable=lambda: self.unwritable)
        )
        self.observers = KeyObservers()

    def execute(self, command: Command) -> Reply:
        """Run one command. An error reply comes back as a ``ServerError`` value."""
        return self.execute_each((prepare(command),))[0]

    def execute_pipeline(self, pipeline: "Pipeline") -> list[Reply]:
        """Execute the commands of ``pipeline`` at one time; see ``execute``."""
        looks, has_none = pipeline.looks, self.store.has_none_up_to
        if looks and all(has_none(key, up_to) for key, up_to in looks):
            self.store.tick()
            return [[] for _ in looks]
        return self.execute_each(pipeline.commands)

    def execute_each(self, commands: Iterable["Prepared"]) -> list[Reply]:
        """Execute several commands at one time; see ``execute``."""
        store = self.store
        tells = self._on_write is not None or self.full or self.unwritable is not None or bool(self.observers)
        store.tick()
        replies: list[Reply] = []
        for handler, parsed, words in commands:
            if handler is None or tells:
                replies.append(self._tell(self._run(words)))
                continue
            try:
                replies.append(handler(store, parsed))
            except CommandError as failure:
                replies.append(_failed(failure, words))
        return replies

    def replay(self, effects: list[Args], *, now_us: int) -> None:
        """Repeat writes that ``on_write`` reported, at their time. They are not reported again."""
        on_write, self._on_write = self._on_write, None
        full, self.full = self.full, False
        self.store.stand_at(now_us)
        for effect in effects:
            self._run(effect, QUEUED_COMMANDS)
        self._on_write, self.full = on_write, full

    def execute_transaction(self, commands: Iterable["Prepared"]) -> Reply:
        """Execute what stands between MULTI and EXEC as one; on disk, too, it is one record."""
        self.store.tick()
        queued = [words for _, _, words in commands]
        specs = [self._find(words, QUEUED_COMMANDS) for words in queued]
        if any(self._refused(words, spec) is not None for words, spec in zip(queued, specs, strict=True)):
            return ServerError(_ABORTED)
        if self.full and any(spec is not None and spec.grows for spec in specs):
            return ServerError(f"EXECABORT Transaction discarded because of: {OUT_OF_MEMORY}")
        if self.unwritable is not None and any(spec is not None and spec.writes for spec in specs):
            return ServerError(f"EXECABORT Transaction discarded because of: {self.unwritable}")
        return self._tell([self._run(words, QUEUED_COMMANDS) for words in queued])

    def refusal(self, command: Command) -> str | None:
        """Return the error for ``command`` that keeps it out of a transaction; None if it may be queued."""
        words = prepare(command)[2]
        return self._refused(words, self._find(words, QUEUED_COMMANDS))

    def watch(self) -> Watch:
        """Return what watches keys for one connection."""
        return Watch(self.store, self.observers)

    def _tell(self, reply: R) -> R:
        if self._written:
            written, self._written = self._written, []
            assert self._on_write is not None
            self._on_write(written)
        return reply

    def _run(self, args: Args, further: CommandTable = _NONE) -> Reply:
        """Run a command of the model, or of ``further``."""
        spec = self._find(args, further)
        if (refused := self._refused(args, spec)) is not None:
            return error_reply(refused)
        assert spec is not None
        if self.full and spec.grows:
            return ServerError(OUT_OF_MEMORY)
        if self.unwritable is not None and (spec.writes or spec.name == _PING):
            return ServerError(self.unwritable)
        return self._carry_out(spec, args)

    def _find(self, args: Args, further: CommandTable) -> CommandSpec | None:
        return find(args) or find(args, self._script_commands) or find(args, further)

    def _refused(self, args: Args, spec: CommandSpec | None) -> str | None:
        if spec is None or spec.verbs is not None:
            return self._refusal(args, spec)
        if not spec.accepts(len(args)):
            return f"ERR wrong number of arguments for '{spec.name}' command"
        return None

    def _refusal(self, args: Args, container: CommandSpec | None) -> str:
        """Return the error for a command, or a sub-command of ``container``, that the model does not have."""
        if container is not None and len(args) == 1:
            return f"ERR wrong number of arguments for '{container.name}' command"
        if (name := _name_at_server(args)) is not None:
            return self._lacks(name)
        if container is not None:
            verb = text(args[1])[:_ARGUMENTS_SHOWN]
            return f"ERR unknown subcommand '{verb}'. Try {container.name.upper()} HELP."
        return _unknown(args)

    def _lacks(self, name: str) -> str:
        self._lacking[name] = None
        if name.upper() in WAITING_NAMES:
            return f"ERR {name.upper()} waits, which no connection that programs share can: use zonelab.testing.client"
        return f"ERR {not_modelled(name)}"

    def _carry_out(self, spec: CommandSpec, args: Args, *, logged: bool = True) -> Reply:
        store = self.store
        before = store.changes
        scripted = len(self._written)
        watched = self._watched(spec, args) if self.observers else {}
        try:
            reply = spec.run(store, args[spec.size :])
        except CommandError as failure:
            reply = _failed(failure, args)
        if store.changes == before:
            return reply
        if logged and self._on_write is not None and len(self._written) == scripted:
            self._written.append(_effect(spec.name, args, reply))
        for key, was_there in watched.items():
            if was_there or store.find(key) is not None:
                self.observers.touch(key)
        return reply

    def _watched(self, spec: CommandSpec, args: Args) -> dict[bytes, bool]:
        """Return which keys that somebody watches a command may change, and whether they exist."""
        observers = self.observers
        flushes = spec.name.startswith("flush")
        keys = observers.all() if flushes else observers.observed(written_keys(spec.name, args)) if spec.writes else []
        return {key: self.store.find(key) is not None for key in keys}

    def _call_from_script(self, args: Args, execution: Execution) -> Reply:
        spec = self._find(args, QUEUED_COMMANDS)
        if spec is None or spec.verbs is not None:
            return ServerError(self._refusal_in_script(args, spec))
        if not spec.accepts(len(args)):
            return ServerError(_WRONG_NUMBER_IN_SCRIPT)
        if spec.barred:
            return ServerError(_NO_SCRIPTS)
        if execution.read_only and spec.writes:
            return ServerError("ERR Write commands are not allowed from read-only scripts.")
        if self.unwritable is not None and spec.writes:
            return ServerError(self.unwritable)
        if self.full and not execution.exempt:
            if spec.grows:
                return ServerError(OUT_OF_MEMORY)
            execution.exempt = spec.writes
        logged = self._on_write is not None and execution.logged
        if logged or self.observers:
            return self._carry_out(spec, args, logged=logged)
        try:
            return spec.run(self.store, args[spec.size :])
        except CommandError as failure:
            return _failed(failure, args)

    def _refusal_in_script(self, args: Args, container: CommandSpec | None) -> str:
        if container is not None:
            return _WRONG_NUMBER_IN_SCRIPT if len(args) == 1 else self._refusal(args, container)
        name = _name_at_server(args)
        if name in NO_SCRIPT:
            return _NO_SCRIPTS
        return "ERR Unknown command called from script" if name is None else self._lacks(name)


def script_commands(host: ScriptHost) -> CommandTable:
    """Return the commands of a server that run scripts and functions, or are about them."""
    return {**ScriptCache(host).commands(), **FunctionLibraries(host).commands()}


Prepared = tuple[Handler | None, Any, Args]
"""The function for a command, what that takes, and the command in the words that a server reads.

The function is None if the command is refused whatever a server holds, or runs scripts.
"""

_READINGS_MAX = 1 << 12
_readings: dict[Command, Prepared] = {}
"""Commands of a name and a key, such as ZCARD: whoever watches a queue asks the same ones all the time."""


def prepare(command: Command) -> Prepared:
    """Return what a command is, whatever server executes it: work that is done once for all of them."""
    if len(command) != 2 or type(command[1]) is not str:
        return _prepare(command)
    prepared = _readings.get(command)
    if prepared is None:
        if len(_readings) == _READINGS_MAX:
            _readings.clear()
        prepared = _readings[command] = _prepare(command)
    return prepared


def _prepare(command: Command) -> Prepared:
    words: Args = [
        word.encode() if type(word) is str else b"%d" % word if type(word) is int else encode(word) for word in command
    ]
    spec = find(words)
    if spec is None or spec.verbs is not None or not spec.accepts(len(words)):
        return None, None, words
    parsed = words[spec.size :]
    if spec.parse is not None:
        try:
            parsed = spec.parse(parsed)
        except CommandError:
            return None, None, words
    return spec.handler, parsed, words


class Pipeline:
    """Commands, prepared once a server needs that, and the label of each: its name and its key."""

    __slots__ = ("_commands", "_prepared", "labels", "looks")

    def __init__(self, commands: Sequence[Command]) -> None:
        self._commands = commands
        self._prepared: list[Prepared] | None = None
        self.labels = list(map(_label, commands))
        self.looks = looks_of(commands)

    @property
    def commands(self) -> list[Prepared]:
        if self._prepared is None:
            self._prepared = list(map(prepare, self._commands))
        return self._prepared


def _label(command: Command) -> str:
    return f"{command[0]!s} {command[1]!s}" if len(command) > 1 else str(command[0])


def _failed(failure: CommandError, words: Args) -> ServerError:
    if isinstance(failure, NamingError):
        return error_reply(failure.text(words))
    return error_reply(*failure.args)


def _effect(name: str, args: Args, reply: Reply) -> Args:
    """The command to repeat for the same change: what was drawn at random is written down."""
    if name == "spop":
        members = reply if isinstance(reply, list) else [reply]
        return [b"srem", args[1], *members]
    if name == "xadd" and isinstance(reply, bytes):
        return streams.with_id(args, reply)
    return args


def encode(word: Argument) -> bytes:
    """A word as the client library sends it."""
    if isinstance(word, bytes):
        return word
    return word.encode() if isinstance(word, str) else repr(word).encode()


def _name_at_server(args: Args) -> str | None:
    return full_name([text(word) for word in args[:2]])


def _unknown(args: Args) -> str:
    shown = ""
    for arg in args[1:]:
        if len(shown) >= _ARGUMENTS_SHOWN:
            break
        shown += f"'{text(arg)[: _ARGUMENTS_SHOWN - len(shown)]}' "
    return f"ERR unknown command '{text(args[0])[:_ARGUMENTS_SHOWN]}', with args beginning with: {shown}"


__all__ = ["Pipeline", "RedisModel", "commands", "encode"]
