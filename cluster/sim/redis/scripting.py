"""Lua scripts: EVAL, EVALSHA and SCRIPT, on Lua 5.1 with the server's sandbox and conversions.

Not there: ``cjson``, ``cmsgpack``, ``struct``, ``bit``, RESP 3, script flags. A script that uses one of the libraries
fails with the error for an unknown global.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import sha1
from pathlib import Path
from typing import Any

from lupa import lua51

from cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, format_double, integer
from cluster.sim.redis.random48 import Random48
from cluster.sim.redis.registry import Args
from cluster.sim.redis.reply import OK, Status, fail, text, wrong_arity
from cluster.sim.redis.reply import error as error_reply
from engine.ports import Reply, ServerError

_SANDBOX = Path(__file__).with_name("sandbox.lua").read_bytes()

_SCRIPTS_MAX = 256
"""So many scripts are kept compiled, for the next server that gets them."""

_DIGEST_LENGTH = 40
_NO_SCRIPT = "NOSCRIPT No matching script."

Call = Callable[[Args], Reply]
"""Runs one command of a script; an error reply comes back as a ``ServerError`` value."""


class Scripts:
    """The script cache of one server, and what its scripts draw at random. ``call`` runs a command of a script."""

    def __init__(self, *, call: Call) -> None:
        self._call = call
        self._random = Random48()
        self._chunks: dict[bytes, Any] = {}

    def evaluate(self, args: Args) -> Reply:
        """EVAL: script, number of keys, keys, arguments."""
        keys, argv = _split(args)
        return self._run(self._load(args[0]), keys, argv)

    def evaluate_sha(self, args: Args) -> Reply:
        if len(args[0]) != _DIGEST_LENGTH:
            fail(_NO_SCRIPT)
        keys, argv = _split(args)
        digest = args[0].lower()
        if digest not in self._chunks:
            fail(_NO_SCRIPT)
        return self._run(digest, keys, argv)

    def administrate(self, args: Args) -> Reply:
        """SCRIPT LOAD, EXISTS and FLUSH."""
        verb, rest = args[0].upper(), args[1:]
        if verb == b"LOAD":
            return self._load(rest[0]) if len(rest) == 1 else wrong_arity("script|load")
        if verb == b"EXISTS":
            return [int(digest.lower() in self._chunks) for digest in rest] or wrong_arity("script|exists")
        if verb != b"FLUSH":
            fail(f"ERR unknown subcommand '{text(args[0])}'. Try SCRIPT HELP.")
        if len(rest) > 1 or (rest and rest[0].upper() not in (b"SYNC", b"ASYNC")):
            fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
        self._chunks.clear()
        return OK

    def _load(self, script: bytes) -> bytes:
        digest = _digest(script)
        if digest not in self._chunks:
            self._chunks[digest] = _interpreter().compile(script)
        return digest

    def _run(self, digest: bytes, keys: Args, argv: Args) -> Reply:
        return _interpreter().run(self._chunks[digest], keys, argv, call=self._call, random=self._random)


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
        self._call: Call
        self._random: Random48
        self._compiled: dict[bytes, Any] = {}
        self._runtime = lua51.LuaRuntime(
            encoding=None, register_eval=False, register_builtins=False, unpack_returned_tuples=True
        )
        self._compile, self._run, self._parts, self._rawget = self._runtime.execute(
            _SANDBOX,
            self._called,
            self._called_protected,
            _sha1hex,
            _failure_text,
            lambda: self._random.fraction(),
            lambda seed: self._random.seed(_truncated(seed)),
        )

    def compile(self, script: bytes) -> Any:
        if script in self._compiled:
            return self._compiled[script]
        compiled = self._compile(script)
        if isinstance(compiled, tuple):
            problem = text(compiled[1])
            fail(f"ERR Error compiling script (new function): {problem}")
        if len(self._compiled) == _SCRIPTS_MAX:
            self._compiled.clear()
        self._compiled[script] = compiled
        return compiled

    def run(self, chunk: Any, keys: Args, argv: Args, *, call: Call, random: Random48) -> Reply:
        self._call, self._random = call, random
        outcome = self._run(chunk, self._table(keys), self._table(argv))
        if not isinstance(outcome, tuple):
            return None  # done, and nothing was returned
        if outcome[0]:
            return self._reply(outcome[1])
        return error_reply(f"{text(outcome[1])} script: on @user_script:{outcome[2]}.")

    def _called(self, *words: Any) -> Any:
        """``redis.call``"""
        reply = self._dispatch(words)
        if type(reply) is bytes or type(reply) is int:
            return reply
        if isinstance(reply, ServerError):
            raise _ScriptFailure(*reply.args)
        return self._value(reply)

    def _called_protected(self, *words: Any) -> Any:
        """``redis.pcall``"""
        reply = self._dispatch(words)
        if isinstance(reply, ServerError):
            return self._runtime.table_from({b"err": _bytes(str(reply))})
        return self._value(reply)

    def _dispatch(self, words: tuple[Any, ...]) -> Reply:
        if not words:
            return ServerError("ERR Please specify at least one argument for this call")
        args = []
        for word in words:
            if type(word) is bytes:
                args.append(word)
            elif isinstance(word, int | float) and not isinstance(word, bool):
                args.append(format_double(word + 0.0))
            else:
                return ServerError("ERR Command arguments must be strings or integers")
        return self._call(args)

    def _table(self, values: list[Any]) -> Any:
        return self._runtime.table_from(values)

    def _value(self, reply: Reply) -> Any:
        """A reply as a script sees it: nil is false, a status is a table with ``ok``."""
        if type(reply) is bytes or type(reply) is int:
            return reply
        if isinstance(reply, Status):
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
            return _truncated(value)
        if lua51.lua_type(value) != "table":
            return None
        error, status, size, *items = self._parts(value)
        if isinstance(error, bytes):
            return error_reply(text(error))
        if isinstance(status, bytes):
            return Status(_one_line(status))
        if not items:
            items = [self._rawget(value, place) for place in range(1, size + 1)]
        return [self._reply(item) for item in items]


@cache
def _interpreter() -> _Lua:
    """Made when the first script arrives."""
    return _Lua()


class _ScriptFailure(Exception):
    """Passes through Lua as the error that a function of the host raised."""


def _failure_text(failure: BaseException) -> bytes:
    return _bytes(str(failure))


def _sha1hex(*words: Any) -> bytes:
    if len(words) != 1:
        raise _ScriptFailure("ERR wrong number of arguments")
    hashed = words[0] if isinstance(words[0], bytes) else b"%.14g" % words[0]
    return sha1(hashed, usedforsecurity=False).hexdigest().encode()


def _bytes(message: str) -> bytes:
    return message.encode()


def _one_line(message: bytes) -> bytes:
    return message.replace(b"\r", b" ").replace(b"\n", b" ")


def _truncated(number: float) -> int:
    """As the processor converts a double to 64 bits: what does not fit becomes the smallest integer."""
    if number != number or not -9.3e18 < number < 9.3e18:
        return INTEGER_MIN
    whole = int(number)
    return whole if INTEGER_MIN <= whole <= INTEGER_MAX else INTEGER_MIN
