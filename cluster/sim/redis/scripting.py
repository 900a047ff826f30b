"""Lua scripts: EVAL, EVALSHA and SCRIPT, on Lua 5.1 with the server's sandbox, libraries and conversions."""

from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import sha1
from pathlib import Path
from traceback import clear_frames
from typing import Any

from lupa import lua51

from zonelab.cluster.sim.redis.binary_libraries import BitLibrary, MessagePackLibrary, StructLibrary
from zonelab.cluster.sim.redis.json_library import JsonLibrary
from zonelab.cluster.sim.redis.numbers import integer
from zonelab.cluster.sim.redis.random48 import Random48
from zonelab.cluster.sim.redis.registry import Args, CommandSpec, CommandTable, Handler, add
from zonelab.cluster.sim.redis.reply import OK, OUT_OF_MEMORY, StatusReply, fail, text
from zonelab.cluster.sim.redis.reply import error as error_reply
from zonelab.cluster.sim.redis.script_functions import (
    Execution,
    ScriptFailure,
    ScriptFunctions,
    ServerCall,
    command_words,
    truncated,
)
from zonelab.cluster.sim.redis.shebang import Flags, read_shebang
from zonelab.engine.ports import Reply, ServerError

_SANDBOX = Path(__file__).with_name("sandbox.lua").read_bytes()

_SCRIPTS_MAX = 256
"""Scripts that are kept compiled, for the next server that gets them."""

_DIGEST_LENGTH = 40
_NOT_BUSY = "NOTBUSY No scripts in execution right now."
_NO_SCRIPT = "NOSCRIPT No matching script."

_Script = tuple[Any, Flags]
"""A function of Lua, and what its first line says."""


class ScriptCache:
    """The script cache of one server, and what its scripts draw at random.

    ``call`` runs a command of a script; ``full`` returns whether the server's memory is full.
    """

    def __init__(self, *, call: ServerCall, full: Callable[[], bool]) -> None:
        self._call, self._full = call, full
        self._random = Random48()
        self._chunks: dict[bytes, _Script] = {}
        self._texts: dict[bytes, bytes] = {}

    def commands(self) -> CommandTable:
        """Return EVAL, EVALSHA and SCRIPT on this cache."""
        table: CommandTable = {}
        for name, arity, handler in (
            ("eval", -3, self._evaluate),
            ("eval_ro", -3, self._evaluate_reading),
            ("evalsha", -3, self._evaluate_sha),
            ("evalsha_ro", -3, self._evaluate_sha_reading),
            ("script|exists", -3, self._exist),
            ("script|flush", -2, self._flush),
            ("script|kill", 2, lambda _: fail(_NOT_BUSY)),
            ("script|load", 3, lambda args: self._load(args[0])),
            ("script|show", 3, self._show),
        ):
            add(table, CommandSpec(name, arity, _without_store(handler)))
        return table

    def _evaluate(self, args: Args) -> Reply:
        """EVAL: script, number of keys, keys, arguments."""
        keys, argv = _split(args)
        return self._run(self._load(args[0]), keys, argv)

    def _evaluate_reading(self, args: Args) -> Reply:
        """EVAL_RO: a script that may only read."""
        keys, argv = _split(args)
        return self._run(self._load(args[0]), keys, argv, only_reads=True)

    def _evaluate_sha_reading(self, args: Args) -> Reply:
        return self._evaluate_sha(args, only_reads=True)

    def _evaluate_sha(self, args: Args, *, only_reads: bool = False) -> Reply:
        """EVALSHA: run the script of this digest, or fail with NOSCRIPT."""
        if len(args[0]) != _DIGEST_LENGTH:
            fail(_NO_SCRIPT)
        keys, argv = _split(args)
        digest = args[0].lower()
        if digest not in self._chunks:
            fail(_NO_SCRIPT)
        return self._run(digest, keys, argv, only_reads=only_reads)

    def _show(self, args: Args) -> Reply:
        return self._texts.get(args[0].lower()) or fail(_NO_SCRIPT)

    def _exist(self, digests: Args) -> Reply:
        return [int(digest.lower() in self._chunks) for digest in digests]

    def _flush(self, args: Args) -> Reply:
        if len(args) > 1 or (args and args[0].upper() not in (b"SYNC", b"ASYNC")):
            fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
        self._chunks.clear()
        self._texts.clear()
        return OK

    def _load(self, script: bytes) -> bytes:
        digest = _digest(script)
        if digest not in self._chunks:
            self._chunks[digest] = _interpreter().compile(script)
            self._texts[digest] = script
        return digest

    def _run(self, digest: bytes, keys: Args, argv: Args, *, only_reads: bool = False) -> Reply:
        chunk, flags = self._chunks[digest]
        if only_reads and flags.declared and not flags.read_only:
            fail("ERR Can not execute a script with write flag using *_ro command.")
        if flags.grows and self._full():
            fail(OUT_OF_MEMORY)
        execution = Execution(self._call, self._random, flags.read_only or only_reads, flags.exempt)
        return _interpreter().run(chunk, keys, argv, execution)


def _without_store(handler: Callable[[Args], Reply]) -> Handler:
    return lambda _, args: handler(args)


@lru_cache(maxsize=_SCRIPTS_MAX)
def _digest(script: bytes) -> bytes:
    return sha1(script, usedforsecurity=False).hexdigest().encode()


def _split(args: Args) -> tuple[Args, Args]:
    count = integer(args[1])
    if count > len(args) - 2:
        fail("ERR Number of keys can't be greater than number of args")
    if count < 0:
        fail("ERR Number of keys can't be negative")
    return args[2 : 2 + count], args[2 + count :]


class _Lua:
    """An interpreter, and the conversions between its values and replies.

    One does for all servers: a script is carried out at once, and nothing that it does outlives it but what it draws.
    """

    def __init__(self) -> None:
        self._execution: Execution
        self._compiled: dict[bytes, _Script] = {}
        self._runtime = lua51.LuaRuntime(
            encoding=None, register_eval=False, register_builtins=False, unpack_returned_tuples=True
        )
        functions = self._functions = ScriptFunctions()
        lent = {
            "call": self._called,
            "pcall": self._called_protected,
            "thrown": self._thrown,
            "sha1hex": functions.sha1hex,
            "log": functions.log,
            "setresp": functions.setresp,
            "set_repl": functions.set_repl,
            "acl_check_cmd": functions.acl_check_cmd,
            "random": functions.random,
            "randomseed": functions.randomseed,
            "whole": functions.whole,
        }
        host = self._named(lent)
        for name, library in self._libraries().items():
            host[name.encode()] = self._named(library)
        self._compile, self._run, self._parts, self._rawget = self._runtime.execute(_SANDBOX, host)

    def _libraries(self) -> dict[str, dict[str, Any]]:
        table = self._runtime.table_from
        null = self._runtime.eval(b"newproxy()")
        json, message_pack = JsonLibrary(table=table, null=null), MessagePackLibrary(table=table)
        fields, bits = StructLibrary(), BitLibrary()
        bit_names = (
            "tobit",
            "bnot",
            "band",
            "bor",
            "bxor",
            "lshift",
            "rshift",
            "arshift",
            "rol",
            "ror",
            "bswap",
            "tohex",
        )
        pack_names = ("pack", "unpack", "unpack_one", "unpack_limit")
        return {
            "cjson": {
                "encode": json.encode,
                "decode": json.decode,
                "null": null,
                "_NAME": b"cjson",
                "_VERSION": b"2.1.0",
            },
            "cmsgpack": {
                **{name: getattr(message_pack, name) for name in pack_names},
                "_NAME": b"cmsgpack",
                "_VERSION": b"lua-cmsgpack 0.4.0",
            },
            "struct": {"pack": fields.pack, "unpack": fields.unpack, "size": fields.size},
            "bit": {name: getattr(bits, name) for name in bit_names},
        }

    def _named(self, values: dict[str, Any]) -> Any:
        return self._runtime.table_from({name.encode(): value for name, value in values.items()})

    def compile(self, script: bytes) -> _Script:
        if script in self._compiled:
            return self._compiled[script]
        body, flags = read_shebang(script)
        compiled = self._compile(body)
        if isinstance(compiled, tuple):
            problem = text(compiled[1])
            fail(f"ERR Error compiling script (new function): {problem}")
        if len(self._compiled) == _SCRIPTS_MAX:
            self._compiled.clear()
        self._compiled[script] = compiled, flags
        return compiled, flags

    def run(self, chunk: Any, keys: Args, argv: Args, execution: Execution) -> Reply:
        self._execution = self._functions.execution = execution
        outcome = self._run(chunk, self._table(keys), self._table(argv))
        if not isinstance(outcome, tuple):
            return None  # done, and nothing was returned
        if outcome[0]:
            return self._reply(outcome[1])
        failure, source, line = outcome[1:]
        return error_reply(f"{text(failure)} script: on {text(source)}:{line}.")

    def _called(self, *words: Any) -> Any:
        """``redis.call``"""
        reply = self._execution.call(command_words(words), self._execution)
        if type(reply) is bytes or type(reply) is int:
            return reply
        if isinstance(reply, ServerError):
            raise _failed(reply)
        return self._value(reply)

    def _called_protected(self, *words: Any) -> Any:
        """``redis.pcall``"""
        try:
            return self._called(*words)
        except ScriptFailure as failure:
            return self._thrown(failure)

    def _thrown(self, failure: BaseException) -> Any:
        """Return what a script sees of an error that a function of the host raised.

        The frames that raised it forget what they were given: lupa fails when a value outlives its coroutine.
        """
        clear_frames(failure.__traceback__)
        if isinstance(failure, ScriptFailure):
            return self._runtime.table_from(failure.fields)
        return str(failure).encode()

    def _table(self, values: list[Any]) -> Any:
        return self._runtime.table_from(values)

    def _value(self, reply: Reply) -> Any:
        """A reply as a script sees it: nil is false, a status is a table with ``ok``."""
        if type(reply) is bytes or type(reply) is int:
            return reply
        if isinstance(reply, StatusReply):
            return self._runtime.table_from({b"ok": bytes(reply)})
        if isinstance(reply, list):
            return self._table([self._value(item) for item in reply])
        return False if reply is None else reply

    def _reply(self, value: Any) -> Reply:
        """A value that a script returned as a reply: numbers lose their fraction, a table ends at its first nil."""
        if type(value) is bytes:
            return value
        if isinstance(value, bool):
            return 1 if value else None
        if isinstance(value, int | float):
            return truncated(value)
        if lua51.lua_type(value) != "table":
            return None
        error, status, size, *items = self._parts(value)
        if isinstance(error, bytes):
            return error_reply(text(error))
        if isinstance(status, bytes):
            return StatusReply(_one_line(status))
        if not items:
            items = [self._rawget(value, place) for place in range(1, size + 1)]
        return [self._reply(item) for item in items]


@cache
def _interpreter() -> _Lua:
    """Made when the first script arrives."""
    return _Lua()


def _failed(reply: ServerError) -> ScriptFailure:
    return ScriptFailure(str(reply), ignore_error_stats_update=True)


def _one_line(message: bytes) -> bytes:
    return message.replace(b"\r", b" ").replace(b"\n", b" ")
