"""The functions of a script's Lua that check what they are given, with the errors of the server's own.

They belong to the host and not to the sandbox: a function of the host leaves no frame in Lua, so that in
``return redis.log()`` the error still has the line of the script.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha1
from typing import Any

from lupa import lua51

from zonelab.cluster.sim.redis.numbers import INTEGER_MAX, INTEGER_MIN, format_double
from zonelab.cluster.sim.redis.random48 import Random48
from zonelab.cluster.sim.redis.registry import Args
from zonelab.cluster.sim.redis.reply import text
from zonelab.cluster.sim.redis.server_commands import SERVER_COMMANDS
from zonelab.cluster.sim.redis.shebang import FLAGS
from zonelab.engine.ports import Reply

_LOG_LEVELS = range(4)
_REPLICATE_LOG = 1
_REPLICATE_ALL = 3
_PROTOCOLS = (2, 3)
_NOTHING = ()
"""A function returns no value at all; None would be a nil."""


@dataclass(slots=True)
class Execution:
    """One execution of a script on one server, and what the script has chosen for the rest of it.

    ``exempt``: its commands are not refused for want of memory, as after one that writes, be it in vain.
    """

    call: "ServerCall"
    random: Random48
    read_only: bool
    exempt: bool = False
    logged: bool = True
    """True if its writes go into the server's file."""

    protocol: int = 2
    """The version of RESP whose types its calls return."""


ServerCall = Callable[[Args, Execution], Reply]
"""Runs one command of a script; an error reply comes back as a ``ServerError`` value."""


class ScriptFailure(Exception):
    """Passes through Lua as an error of a function of the server. A script sees a table with these ``fields``."""

    def __init__(self, message: str, **fields: bool) -> None:
        super().__init__(message)
        self.fields = {b"err": message.encode(), **{name.encode(): value for name, value in fields.items()}}


class LuaFailure(Exception):
    """Passes through Lua as an error of one of Lua's own functions. A script sees its text, the line in front."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A function that a library has registered: its name, Lua's function, its flags, and what it is said to do."""

    name: bytes
    callback: Any
    flags: tuple[bytes, ...] = ()
    description: bytes | None = None


class ScriptFunctions:
    """They see the ``execution`` that is set; ``registered`` is there while a library is loaded."""

    execution: Execution
    registered: list[Registration] | None = None

    def register_function(self, *words: Any) -> tuple[()]:
        """``server.register_function(name, function)``, or with a table of named arguments."""
        if self.registered is None:
            raise ScriptFailure("ERR server.register_function can only be called on FUNCTION LOAD command")
        if not 1 <= len(words) <= 2:
            raise ScriptFailure("ERR wrong number of arguments to server.register_function")
        self.registered.append(_named_arguments(words[0]) if len(words) == 1 else _two_arguments(*words))
        return _NOTHING

    def sha1hex(self, *words: Any) -> bytes:
        """``server.sha1hex(word)``: the digest in hexadecimal. Numbers are hashed as Lua prints them."""
        if len(words) != 1:
            raise ScriptFailure("ERR wrong number of arguments")
        word = words[0]
        if isinstance(word, int | float) and not isinstance(word, bool):
            word = b"-nan" if word != word and math.copysign(1, word) < 0 else b"%.14g" % word
        hashed = word if isinstance(word, bytes) else b""
        return sha1(hashed, usedforsecurity=False).hexdigest().encode()

    def log(self, *words: Any) -> tuple[()]:
        """Checks only: a server's log is not modelled."""
        if len(words) < 2:
            raise ScriptFailure("ERR server.log() requires two arguments or more.")
        if _number(words[0]) is None:
            raise ScriptFailure("ERR First argument must be a number (log level).")
        if _whole(words[0]) not in _LOG_LEVELS:
            raise ScriptFailure("ERR Invalid log level.")
        return _NOTHING

    def setresp(self, *words: Any) -> tuple[()]:
        """``server.setresp(version)``: with 3, replies to calls have the types of RESP 3."""
        if len(words) != 1:
            raise ScriptFailure("ERR server.setresp() requires one argument.")
        version = _whole(words[0])
        if version not in _PROTOCOLS:
            raise ScriptFailure("ERR RESP version must be 2 or 3.")
        self.execution.protocol = version
        return _NOTHING

    def set_repl(self, *words: Any) -> tuple[()]:
        """``server.set_repl(flags)``: whether what the script changes from now on is written to the disk."""
        if len(words) != 1:
            raise ScriptFailure("ERR server.set_repl() requires one argument.")
        flags = _whole(words[0])
        if flags & ~_REPLICATE_ALL:
            raise ScriptFailure("ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
        self.execution.logged = bool(flags & _REPLICATE_LOG)
        return _NOTHING

    def acl_check_cmd(self, *words: Any) -> bool:
        if text(command_words(words)[0]).lower() not in SERVER_COMMANDS:
            raise ScriptFailure("ERR Invalid command passed to server.acl_check_cmd()")
        return True

    def random(self, *words: Any) -> float:
        drawn = self.execution.random.fraction()
        if not words:
            return drawn
        if len(words) > 2:
            raise LuaFailure("wrong number of arguments")
        low, high = 1, integer_argument(words, 0, "random")
        if len(words) > 1:
            low, high = high, integer_argument(words, 1, "random")
        if low > high:
            raise _bad_argument(len(words), "random", "interval is empty")
        return math.floor(drawn * int32(high - low + 1)) + low

    def randomseed(self, *words: Any) -> tuple[()]:
        self.execution.random.seed(integer_argument(words, 0, "randomseed"))
        return _NOTHING

    def whole(self, word: Any) -> int | None:
        """Return ``word`` as Lua converts it to C's ``int``; None if it is no number."""
        return None if _number(word) is None else int32(_whole(word))


def _two_arguments(name: Any, callback: Any) -> Registration:
    written = _string(name)
    if written is None:
        raise ScriptFailure("ERR first argument to server.register_function must be a string")
    if not _is_function(callback):
        raise ScriptFailure("ERR second argument to server.register_function must be a function")
    return Registration(written, callback)


def _named_arguments(table: Any) -> Registration:
    if type_name(table) != "table":
        raise ScriptFailure(
            "ERR calling server.register_function with a single argument is only applicable to Lua table "
            "(representing named arguments)."
        )
    given: dict[str, Any] = {}
    for key, value in table.items():
        argument = _string(key)
        if argument is None:
            raise ScriptFailure("ERR named argument key given to server.register_function is not a string")
        reader = _READERS.get(argument.lower())
        if reader is None:
            raise ScriptFailure("ERR unknown argument given to server.register_function")
        name, read = reader
        given[name] = read(value)
    for name, shown in (("name", "function name"), ("callback", "callback")):
        if name not in given:
            raise ScriptFailure(f"ERR server.register_function must get a {shown} argument")
    return Registration(**given)


def _text_argument(name: str) -> Callable[[Any], bytes]:
    def read(value: Any) -> bytes:
        written = _string(value)
        if written is None:
            raise ScriptFailure(f"ERR {name} argument given to server.register_function must be a string")
        return written

    return read


def _callback_argument(value: Any) -> Any:
    if not _is_function(value):
        raise ScriptFailure("ERR callback argument given to server.register_function must be a function")
    return value


def _flags_argument(value: Any) -> tuple[bytes, ...]:
    if type_name(value) != "table":
        raise ScriptFailure(
            "ERR flags argument to server.register_function must be a table representing function flags"
        )
    flags: list[bytes] = []
    while (flag := value[len(flags) + 1]) is not None:
        if flag not in FLAGS:
            raise ScriptFailure("ERR unknown flag given")
        flags.append(flag)
    return tuple(flags)


_READERS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"function_name": ("name", _text_argument("function_name")),
    b"description": ("description", _text_argument("description")),
    b"callback": ("callback", _callback_argument),
    b"flags": ("flags", _flags_argument),
}
"""Named arguments of ``register_function``: what each is called here, and how it is read."""


def _is_function(value: Any) -> bool:
    return lua51.lua_type(value) == "function" or (callable(value) and lua51.lua_type(value) is None)


def _string(word: Any) -> bytes | None:
    """Return ``word`` as ``lua_tostring`` does: a number is written as Lua prints it; None for anything else."""
    if isinstance(word, int | float) and not isinstance(word, bool):
        return b"%.14g" % word
    return word if isinstance(word, bytes) else None


def _number(word: Any) -> float | None:
    """Return ``word`` as ``lua_tonumber`` does, which takes a text for the number that C reads in it; None if there is
    none.
    """
    if isinstance(word, bytes):
        return _number_in(word)
    return word if isinstance(word, int | float) and not isinstance(word, bool) else None


def _number_in(word: bytes) -> float | None:
    try:
        written = word.decode("ascii")
        if "_" in written:
            return None
        return float.fromhex(written) if "x" in written.lower() else float(written)
    except (ValueError, OverflowError):
        return None


def _whole(word: Any) -> int:
    number = _number(word)
    return 0 if number is None else truncated(number)


def integer_argument(words: tuple[Any, ...], place: int, function: str) -> int:
    """Return the argument at ``place`` as ``luaL_checkint`` does."""
    return int32(truncated(number_argument(words, place, function)))


def number_argument(words: tuple[Any, ...], place: int, function: str) -> float:
    """Return the argument at ``place`` as ``luaL_checknumber`` does."""
    number = _number(words[place]) if place < len(words) else None
    if number is None:
        given = type_name(words[place]) if place < len(words) else "no value"
        raise _bad_argument(place + 1, function, f"number expected, got {given}")
    return number


def _bad_argument(number: int, function: str, problem: str) -> LuaFailure:
    return LuaFailure(f"bad argument #{number} to '{function}' ({problem})")


def command_words(words: tuple[Any, ...]) -> Args:
    """The words of a command that a script gave."""
    if not words:
        raise ScriptFailure("ERR Please specify at least one argument for this call")
    args = []
    for word in words:
        if type(word) is bytes:
            args.append(word)
        elif isinstance(word, int | float) and not isinstance(word, bool):
            args.append(format_double(word + 0.0))
        else:
            raise ScriptFailure("ERR Command arguments must be strings or integers")
    return args


def truncated(number: float) -> int:
    """Return ``number`` as the processor converts a double to 64 bits: what does not fit becomes the smallest
    integer.
    """
    if number != number or not -9.3e18 < number < 9.3e18:
        return INTEGER_MIN
    whole = int(number)
    return whole if INTEGER_MIN <= whole <= INTEGER_MAX else INTEGER_MIN


def int32(number: int) -> int:
    """Return the lowest 32 bits of ``number`` as a signed integer."""
    return ((number + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def type_name(value: Any) -> str:
    """Return the name that Lua has for the type of a value."""
    for kind, name in ((type(None), "nil"), (bool, "boolean"), (bytes, "string"), (int | float, "number")):
        if isinstance(value, kind):
            return name
    return lua51.lua_type(value) or "userdata"
