"""Replies of the model: the values of ``zonelab.engine.ports.Reply``, and the error texts that many commands share."""

from typing import Any, NoReturn

from zonelab.engine.ports import ServerError


class StatusReply(bytes):
    """A simple string such as ``+OK``. To a client it is bytes like any other; a Lua script sees a table."""


class MapReply(list[Any]):
    """A map of RESP 3: keys and values in turn, which is what RESP 2 has in its place."""


class SetReply(list[Any]):
    """A set of RESP 3, an array in RESP 2."""


class PairsReply(list[Any]):
    """An array of pairs in RESP 3, their parts in turn in RESP 2."""


class ItemsReply(list[Any]):
    """Pairs of a key and a value, of which RESP 3 makes a map."""


class DoubleReply(bytes):
    """A double of RESP 3, as its text."""


class BigNumberReply(bytes):
    """A big number of RESP 3, as its text."""


class VerbatimReply(bytes):
    """Text of RESP 3 that is to be shown as it is; its ``form`` is three letters."""

    form = b"txt"


class BooleanReply(int):
    """True or false of RESP 3; 1 or 0 in RESP 2."""


class CommandError(Exception):
    """Error that ends a command with an error reply of this text."""


class NamingError(CommandError):
    """Error whose text names the command, in place of ``{}``, as the client wrote it."""

    def text(self, words: list[bytes]) -> str:
        """Return the error text, given the command."""
        return str(self).format(text(words[0]))


class SubcommandSyntaxError(NamingError):
    """Error for the words behind a sub-command."""

    def text(self, words: list[bytes]) -> str:
        return (
            f"ERR unknown subcommand or wrong number of arguments for '{text(words[1])[:128]}'. "
            f"Try {text(words[0]).upper()} HELP."
        )


OK = StatusReply(b"OK")

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
NOT_A_FLOAT = "ERR value is not a valid float"
OUT_OF_RANGE = "ERR value is out of range, must be positive"
SYNTAX = "ERR syntax error"
NO_SUCH_KEY = "ERR no such key"
OUT_OF_MEMORY = "OOM command not allowed when used memory > 'maxmemory'."
LOG_UNWRITTEN = "MISCONF Errors writing to the AOF file: No space left on device"
SNAPSHOT_UNWRITTEN = (
    "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that "
    "may modify the data set are disabled, because this instance is configured to report errors during writes if RDB "
    "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Valkey logs for details about the RDB "
    "error."
)


def fail(text: str) -> NoReturn:
    raise CommandError(text)


def wrong_arity(name: str) -> NoReturn:
    raise CommandError(f"ERR wrong number of arguments for '{name}' command")


def error(message: str) -> ServerError:
    """An error reply. It is one line: the server cuts line ends off both ends and makes others blanks."""
    return ServerError(message.strip("\r\n").replace("\r", " ").replace("\n", " "))


def text(raw: bytes) -> str:
    """Part of a request within an error text: it ends at a zero byte, and the client library shows it as UTF-8."""
    return raw.partition(b"\0")[0].decode("utf-8", "replace")


def one_line(message: bytes) -> bytes:
    """Return a text without line ends, which would end a reply early."""
    return message.replace(b"\r", b" ").replace(b"\n", b" ")
