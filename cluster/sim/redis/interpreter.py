"""Lua 5.1 with the server's sandbox, libraries and conversions: one interpreter for all simulated servers."""

from functools import cache
from pathlib import Path
from traceback import clear_frames
from typing import Any

from lupa import lua51

from zonelab.cluster.sim.redis.binary_libraries import BitLibrary, MessagePackLibrary, StructLibrary
from zonelab.cluster.sim.redis.json_library import JsonLibrary
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import BooleanReply, StatusReply, fail, one_line, text
from zonelab.cluster.sim.redis.reply import error as error_reply
from zonelab.cluster.sim.redis.resp import typed
from zonelab.cluster.sim.redis.script_functions import (
    Execution,
    Registration,
    ScriptFailure,
    ScriptFunctions,
    command_words,
    truncated,
)
from zonelab.cluster.sim.redis.shebang import Flags, read_shebang
from zonelab.cluster.sim.redis.typed_values import TypedValues
from zonelab.engine.ports import Reply, ServerError

_SANDBOX = Path(__file__).with_name("sandbox.lua").read_bytes()

SCRIPTS_MAX = 256
"""Scripts that are kept compiled, for the next server that gets them."""

Script = tuple[Any, Flags]
"""A function of Lua, and what its first line says."""


class Interpreter:
    """An interpreter, and the conversions between its values and replies.

    One does for all servers: a script is carried out at once, and nothing that it does outlives it but what it draws.
    """

    def __init__(self) -> None:
        self._execution: Execution
        self._compiled: dict[bytes, Script] = {}
        self._runtime = lua51.LuaRuntime(
            encoding=None, register_eval=False, register_builtins=False, unpack_returned_tuples=True
        )
        functions = self._functions = ScriptFunctions()
        self._types = TypedValues(self._runtime.table_from)
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
            "register_function": functions.register_function,
        }
        host = self._named(lent)
        for name, library in self._libraries().items():
            host[name.encode()] = self._named(library)
        (
            self._compile,
            self._run,
            self._parts,
            self._rawget,
            self._compile_library,
            self._load,
            self._run_function,
        ) = self._runtime.execute(_SANDBOX, host)

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

    def compile(self, script: bytes) -> Script:
        """Return a script as Lua has it. Raises ``CommandError`` for one that is wrong."""
        if script in self._compiled:
            return self._compiled[script]
        body, flags = read_shebang(script)
        compiled = self._compile(body)
        if isinstance(compiled, tuple):
            problem = text(compiled[1])
            fail(f"ERR Error compiling script (new function): {problem}")
        if len(self._compiled) == SCRIPTS_MAX:
            self._compiled.clear()
        self._compiled[script] = compiled, flags
        return compiled, flags

    def load(self, code: bytes, execution: Execution) -> list[Registration]:
        """Run the code of a library of functions; returns what it registers. Raises ``CommandError`` if it fails."""
        chunk = self._compile_library(code)
        if isinstance(chunk, tuple):
            fail(f"ERR Error compiling function: {text(chunk[1])}")
        self._execution = self._functions.execution = execution
        registered: list[Registration] = []
        self._functions.registered = registered
        outcome = self._load(chunk)
        self._functions.registered = None
        if isinstance(outcome, tuple) and not outcome[0]:
            fail(f"ERR Error registering functions: {text(outcome[1])}")
        return registered

    def call(self, function: Any, keys: Args, argv: Args, execution: Execution) -> Reply:
        """Call a function of a library."""
        return self._outcome(self._run_function, function, keys, argv, execution)

    def run(self, chunk: Any, keys: Args, argv: Args, execution: Execution) -> Reply:
        return self._outcome(self._run, chunk, keys, argv, execution)

    def _outcome(self, runs: Any, chunk: Any, keys: Args, argv: Args, execution: Execution) -> Reply:
        self._execution = self._functions.execution = execution
        outcome = runs(chunk, self._table(keys), self._table(argv))
        if not isinstance(outcome, tuple):
            return None  # done, and nothing was returned
        if outcome[0]:
            return self._reply(outcome[1])
        failure, source, line = outcome[1:]
        return error_reply(f"{text(failure)} script: on {text(source)}:{line}.")

    def _called(self, *words: Any) -> Any:
        """``redis.call``"""
        args = command_words(words)
        reply = self._execution.call(args, self._execution)
        if isinstance(reply, ServerError):
            raise _failed(reply)
        if self._execution.protocol == 3:
            return self._types.value(typed(args, reply))
        if type(reply) is bytes or type(reply) is int:
            return reply
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
            if self._execution.protocol == 3:
                return BooleanReply(value)
            return 1 if value else None
        if isinstance(value, int | float):
            return truncated(value)
        if lua51.lua_type(value) != "table":
            return None
        error, status, kind, typed_value, size, *items = self._parts(value)
        if isinstance(error, bytes):
            return error_reply(text(error))
        if isinstance(status, bytes):
            return StatusReply(one_line(status))
        if kind is not None:
            return self._types.reply(kind, typed_value, self._reply)
        if not items:
            items = [self._rawget(value, place) for place in range(1, size + 1)]
        return [self._reply(item) for item in items]


@cache
def interpreter() -> Interpreter:
    """Made when the first script arrives."""
    return Interpreter()


def _failed(reply: ServerError) -> ScriptFailure:
    return ScriptFailure(str(reply), ignore_error_stats_update=True)
